"""Parts of a corpus: disjoint, of their shares, and not moved by more text or other sections."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.errors import DataError
from tfdistil.shards.parts import Parts, line_digest

TEXTS = [f"text number {n}" for n in range(20_000)]
PARTS = Parts(0.1, 0.05, {"six": 0.5, "five": 0.25}, seed=3)


def part_of(text: str, parts: Parts) -> str:
    return parts.names[parts.number(line_digest(text, parts.seed))]


def test_each_part_has_its_share():
    counts = Counter(part_of(text, PARTS) for text in TEXTS)
    expected = {
        "corpus_held_out": 0.1,
        "corpus_test": 0.05,
        "corpus.six": 0.85 * 0.5,
        "corpus.five": 0.85 * 0.25,
        "corpus": 0.85 * 0.25,
    }
    assert counts.keys() == expected.keys()
    for name, share in expected.items():
        # The error of a share is at most 0.5 / √20,000 = 0.0035; four of them.
        assert counts[name] / len(TEXTS) == pytest.approx(share, abs=0.014), name


@given(st.text(), st.integers(0, 99))
def test_a_line_is_where_its_characters_say(text, seed):
    parts = Parts(0.3, 0.3, {"a": 0.3, "b": 0.7}, seed)
    spaced = " ".join(text)
    if "".join(text.split()) == "".join(spaced.split()):
        assert part_of(text, parts) == part_of(spaced, parts)
    assert part_of(text, parts) != "corpus"  # the sections are all there is


def test_sections_and_seeds():
    """Other sections leave what is held out and tested on; another seed does not."""
    other = Parts(0.1, 0.05, {"all": 1.0}, seed=3)
    again = Parts(0.1, 0.05, {"all": 1.0}, seed=4)
    for name in ("corpus_held_out", "corpus_test"):
        first, second, third = (
            {text for text in TEXTS if part_of(text, parts) == name}
            for parts in (PARTS, other, again)
        )
        assert first == second
        assert first != third


def test_the_whole_has_all_sections():
    assert PARTS.numbers("corpus") == (0, 1, 2)
    assert PARTS.numbers("corpus.five") == (2,)
    assert PARTS.numbers("corpus_test") == (4,)
    with pytest.raises(DataError, match=r"no part 'corpus.four'; there are corpus, corpus.six"):
        PARTS.numbers("corpus.four")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"held_out": 1.5}, "share of held_out is 1.5"),
        ({"sections": {"a": -0.1}}, "share of a is -0.1"),
        ({"held_out": 0.5, "test": 0.5}, "leave no text to train on"),
        ({"sections": {"a": 0.7, "b": 0.4}}, "more than 1 in sum: a 0.7, b 0.4"),
    ],
)
def test_shares_that_do_not_fit(arguments, text):
    with pytest.raises(DataError) as caught:
        Parts(**arguments)
    assert text in str(caught.value)


def test_ten_tenths_are_the_whole():
    parts = Parts(sections={str(n): 0.1 for n in range(10)})
    assert "corpus" not in {part_of(text, parts) for text in TEXTS}
