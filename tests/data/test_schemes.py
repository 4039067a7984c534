"""IOBES and IOB2: one is the other in other words, in tags of examples and in files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.data.readers import read
from tfdistil.data.readers.tags import find_faults
from tfdistil.data.schemes import FOLLOWS, from_iob2, labels_of, scheme_of, to_iob2
from tfdistil.errors import DataError

LABELS = labels_of(["a", "S-b"], "iobes")


def by_definition(tags) -> list[str]:
    """IOBES from the spans of legal IOB2, word by word."""
    found, word = [], 0
    while word < len(tags):
        end = word + 1
        while end < len(tags) and tags[end].startswith("I-"):
            end += 1
        if tags[word] == "O":
            found += ["O"]
        elif end == word + 1:
            found += [f"S-{tags[word][2:]}"]
        else:
            inner = [f"I-{tags[word][2:]}"] * (end - word - 2)
            found += [tags[word], *inner, f"E-{tags[word][2:]}"]
        word = end
    return found


@st.composite
def legal_iob2(draw) -> list[str]:
    tags: list[str] = []
    for label in draw(st.lists(st.sampled_from(["O", "a", "S-b"]), max_size=5)):
        length = draw(st.integers(1, 3))
        tags += ["O"] if label == "O" else [f"B-{label}", *[f"I-{label}"] * (length - 1)]
    return tags


@given(legal_iob2())
def test_it_is_the_definition_and_back_again(tags):
    written = from_iob2(tags, "iobes")
    assert written == by_definition(tags)
    assert to_iob2(written) == tags == from_iob2(tags, "iob2") == to_iob2(tags)
    assert list(find_faults(written, "iobes")) == []


@given(st.lists(st.sampled_from(LABELS), min_size=1, max_size=4))
def test_what_has_no_fault_is_what_iob2_can_say(tags):
    """Legal is exactly what comes back from the spans that it means."""
    legal = not list(find_faults(tags, "iobes"))
    spans = to_iob2(tags)
    in_iob2 = not list(find_faults(spans))
    assert legal == (in_iob2 and from_iob2(spans, "iobes") == tags)


def test_labels_tell_their_scheme():
    assert labels_of(["x"], "iobes") == ["O", "B-x", "I-x", "E-x", "S-x"]
    assert labels_of(["x"], "iob2") == ["O", "B-x", "I-x"]
    for scheme in FOLLOWS:
        assert scheme_of(labels_of(["x", "E-y"], scheme)) == scheme
    assert scheme_of(["O"]) == "iob2"


GOOD = "Ann B-PER\nLee E-PER\nin O\n# S-LOC\nNew B-LOC\nYork I-LOC\nCity E-LOC\n"


def test_a_file_in_iobes_gives_iob2(tmp_path):
    (tmp_path / "a.conll").write_text(GOOD)
    (example,) = read(tmp_path / "a.conll", "conll", scheme="iobes").examples
    assert example.words == ("Ann", "Lee", "in", "#", "New", "York", "City")
    assert example.tags == ("B-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-LOC", "I-LOC")


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("Lee E-PER", "Lee I-PER", 3, "illegal tag sequence of IOBES: O after I-PER"),
        ("Lee E-PER", "Lee E-LOC", 2, "illegal tag sequence of IOBES: E-LOC after B-PER"),
        ("in O", "in E-PER", 3, "illegal tag sequence of IOBES: E-PER after E-PER"),
        ("City E-LOC", "City I-LOC", 7, "IOBES ends no sentence with I-LOC"),
        ("in O", "in L-x", 3, "no IOBES tag (O, B-type or I-type or E-type or S-type)"),
        ("in O", "in S-O", 3, "tag 'S-O' is not IOBES (O, B-type, I-type, E-type, S-type)"),
    ],
)
def test_what_is_illegal_names_its_line(tmp_path, old, new, line, says):
    (tmp_path / "a.conll").write_text(GOOD.replace(old, new))
    with pytest.raises(DataError) as told:
        read(tmp_path / "a.conll", "conll", scheme="iobes")
    assert f"a.conll:{line}" in str(told.value)
    assert says in str(told.value)


def test_repair_goes_by_beginnings(tmp_path):
    (tmp_path / "a.conll").write_text("a B-x\nb I-x\nc O\nd E-x\ne S-x\n")
    found = read(tmp_path / "a.conll", "conll", scheme="iobes", repair="iob2")
    assert found.examples[0].tags == ("B-x", "I-x", "O", "B-x", "B-x")
    assert found.counts == {"repaired_tags": 1}


def test_a_file_of_words_labels_gives_spans_of_one_word(tmp_path):
    (tmp_path / "a.conll").write_text("# ADJ\nAnn\tPROPN\nruns\tVERB\n.\tO\n\n#\tSYM\n")
    first, second = read(tmp_path / "a.conll", "conll", scheme="words").examples
    assert first.tags == ("B-PROPN", "B-VERB", "O")
    assert (second.words, second.tags) == (("#",), ("B-SYM",))
    (tmp_path / "a.jsonl").write_text('{"words": ["I", "run"], "tags": ["I", "B-x"]}\n')
    (example,) = read(tmp_path / "a.jsonl", "jsonl_words", scheme="words").examples
    assert example.tags == ("B-I", "B-B-x")


@pytest.mark.parametrize(
    ("rows", "line", "says"),
    [
        ("a\tDET\nb\t\nc\tX\n", 2, "'' is no label of a word: it is empty or has"),
        ("a\tDET\nb\tNOUN sg\n", 2, "'NOUN sg' is no label of a word: it is empty or has"),
        ("New\tB-LOC\nYork\tI-LOC\n", 2, "I-LOC after B-LOC is a span of IOB2; leave out"),
        ("in\tO\nthe\tI-LOC\nUSA\tI-LOC\n", 3, "I-LOC after I-LOC is a span of IOB2"),
    ],
)
def test_what_is_no_label_of_a_word_names_its_line(tmp_path, rows, line, says):
    (tmp_path / "a.conll").write_text(rows)
    with pytest.raises(DataError, match=says) as caught:
        read(tmp_path / "a.conll", "conll", scheme="words")
    assert caught.value.line == line


def test_labels_that_look_like_marks_may_stand_alone(tmp_path):
    (tmp_path / "a.conll").write_text("a\tI-x\nb\tB-x\nc\tI-y\nd\tE-x\ne\to\nf\tI\n")
    (example,) = read(tmp_path / "a.conll", "conll", scheme="words").examples
    assert example.tags == ("B-I-x", "B-B-x", "B-I-y", "B-E-x", "B-o", "B-I")


def test_labels_of_words_need_no_repair(tmp_path):
    (tmp_path / "a.conll").write_text("a\tDET\n")
    with pytest.raises(DataError, match="repair: iob2 is for spans of several words"):
        read(tmp_path / "a.conll", "conll", scheme="words", repair="iob2")


def test_labels_of_words_are_no_iob2_and_the_error_says_so(tmp_path):
    (tmp_path / "a.conll").write_text("Ann PROPN\n")
    with pytest.raises(DataError, match=r"holds 'PROPN', which is no IOB2 tag .* `scheme: words`"):
        read(tmp_path / "a.conll", "conll")


def test_a_file_in_iobes_is_no_iob2_and_the_error_says_so(tmp_path):
    (tmp_path / "a.conll").write_text(GOOD)
    with pytest.raises(DataError, match=r"holds 'E-PER', which is no IOB2 tag .* `scheme: iobes`"):
        read(tmp_path / "a.conll", "conll")
