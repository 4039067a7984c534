"""Near-duplicates: against comparing every sentence with every other."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tfdistil.data import near_duplicates
from tfdistil.data.example import Example
from tfdistil.data.near_duplicates import drop_near_duplicates


def sentences(*texts: str) -> list[Example]:
    return [Example(tuple(text.split())) for text in texts]


def pairs_of(example: Example) -> set[tuple[str, str]]:
    words = ["<", *example.words, ">"]
    return {*pairwise(words)}


def by_force(examples: list[Example], share: float) -> list[Example]:
    kept: list[Example] = []
    for example in examples:
        mine = pairs_of(example)
        if not any(len(mine & (p := pairs_of(o))) >= share * len(mine | p) for o in kept):
            kept.append(example)
    return kept


def test_case_signs_and_which_digit_do_not_count():
    texts = ("It is 5 o'clock .", "it is 7 o'clock", "It was 7 o'clock .", "! !", "!", "! !", "")
    kept, dropped = drop_near_duplicates(sentences(*texts), 1.0)
    assert [" ".join(example.words) for example in kept] == [
        "It is 5 o'clock .",
        "It was 7 o'clock .",
        "! !",
        "!",
        "",
    ]
    assert dropped == 2


def test_the_second_text_of_a_pair_counts():
    same = Example(("a", "b"), second=("c", "d"))
    other = Example(("a", "b"), second=("e", "f"))
    assert drop_near_duplicates([same, other, same], 0.8) == ([same, other], 1)


def test_as_by_force():
    """Random sentences and copies with up to two words changed."""
    generator = random.Random(3)
    words = [f"w{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(60)]
    examples = []
    for _ in range(150):
        text = [generator.choice(words) for _ in range(generator.randint(1, 25))]
        for _ in range(4):
            copy = list(text)
            for _ in range(generator.randint(0, 2)):
                copy[generator.randrange(len(copy))] = generator.choice(words)
            examples.append(Example(tuple(copy)))
    for share in (0.1, 0.4, 0.5, 0.75, 0.9, 1.0):
        kept, dropped = drop_near_duplicates(examples, share)
        assert 0 < dropped < len(examples) - 5
        assert kept == by_force(examples, share)


def test_requests_of_one_form_take_no_time(monkeypatch):
    """They share most pairs, and too few: looked up by their rarest ones, hardly any is counted."""
    words = [f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(3000)]
    form = "please set a reminder to call {} {} at nine in the morning"
    texts = sentences(*(form.format(one, other) for one, other in pairwise(words)))
    looked_up = 0

    class Index(near_duplicates._Index):
        def _overlap(self, sizes: int) -> int:
            nonlocal looked_up
            looked_up += 1
            return super()._overlap(sizes)

    monkeypatch.setattr(near_duplicates, "_Index", Index)
    seen: list[int] = []
    kept, dropped = drop_near_duplicates(texts, 0.8, seen.append)
    assert (len(kept), dropped) == (len(texts), 0)
    assert seen == list(range(1, len(texts) + 1))
    assert looked_up < 20 * len(texts)  # by size and place; a sentence has 13 pairs


@given(st.lists(st.text("ab ", max_size=12), max_size=12), st.floats(0.05, 1))
def test_what_is_kept_is_no_near_duplicate_of_its_own_and_order_stays(texts, share):
    examples = sentences(*texts)
    kept, dropped = drop_near_duplicates(examples, share)
    assert len(kept) + dropped == len(examples)
    places = [next(i for i, e in enumerate(examples) if e is one) for one in kept]
    assert places == sorted(places)
    assert len({example.words for example in kept}) == len(kept)  # equal ones never stay
