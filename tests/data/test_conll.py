"""CoNLL: what is a comment and what a word, and the IOB2 rules and repair."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import IOB2, Entities

from tfdistil.data.readers import read
from tfdistil.data.readers.tags import find_faults, is_tag, repair_iob2
from tfdistil.errors import DataError


def _words(tmp_path: Path, text: str, **options) -> list[tuple[str, ...]]:
    path = tmp_path / "a.conll"
    path.write_text(text)
    return [example.words for example in read(path, "conll", **options).examples]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#\tO\na\tO\n", [("#", "a")]),
        ("#photography\tO\n", [("#photography",)]),
        ("a\tO\n#\tO\n", [("a", "#")]),
        ("# \tO\na\tO\n", [("# ", "a")]),
        ("# a note\na\tO\n", [("a",)]),
        ("# wiki-208.p.41.s.3.xml\na\tO\n", [("a",)]),
        ("#\na\tO\n", [("a",)]),
        ("a\tO\n# text = b\tO\nc\tO\n", [("a", "c")]),
        ("# text =\na\tO\n", [("a",)]),
        ("# newdoc id = x-1\n# meta::title = y\na\tO\n", [("a",)]),
        ("# O\na O\n", [("#", "a")]),
        ("a O\n# O\n", [("a", "#")]),
        ("# see section O\na O\n", [("a",)]),
        ("-DOCSTART- O\n\na O\n", [("a",)]),
        ("a\tO\n\t\nb\tO\n \n\nc\tO", [("a",), ("b",), ("c",)]),
        ("salah satu\tO\n\u3000x\u2028y\tO\n", [("salah satu", "\u3000x\u2028y")]),
        ("\u00a0\u3000a O\n", [("\u00a0\u3000a",)]),
    ],
)
def test_comments_and_words(tmp_path: Path, text: str, words: list[tuple[str, ...]]):
    assert _words(tmp_path, text) == words


def test_a_comment_within_a_sentence_needs_an_assignment(tmp_path: Path):
    with pytest.raises(DataError, match=r"a\.conll:2: .*no IOB2 tag|a\.conll:2: no column"):
        _words(tmp_path, "a\tO\n# a note\nb\tO\n", tag=1)


def test_documents_begin_in_files_with_tags_first_too(tmp_path: Path):
    text = "O\t-DOCSTART-\n\nO\tin\nB-LOC\tRome\n"
    assert _words(tmp_path, text, word=1, tag=0) == [("in", "Rome")]


def test_the_separator_can_be_set(tmp_path: Path):
    assert _words(tmp_path, "a b\tO\n", separator="tab") == [("a b",)]
    assert _words(tmp_path, "a\t O\n", separator="space") == [("a\t",)]
    with pytest.raises(DataError, match="no column 1 for `tag`"):
        _words(tmp_path, "a O\n", separator="tab", tag=1)


def test_columns_may_vary_behind_the_configured_ones(tmp_path: Path):
    assert _words(tmp_path, "1\ta\tO\n2\tb\tB-X\t-\tann\n", word=1, tag=2) == [("a", "b")]


def test_words_without_tags(tmp_path: Path):
    path = tmp_path / "a.conllu"
    path.write_text("1-2\tdu\t_\n1\tde\tADP\n2\tle\tDET\n2.1\tx\t_\n")
    result = read(path, "conll", word=1, tag=None)
    assert [(e.words, e.tags) for e in result.examples] == [(("de", "le"), None)]
    assert result.counts == {"multiword_rows_skipped": 1, "empty_nodes_skipped": 1}


def test_numbers_are_words_where_the_first_column_is_the_word(tmp_path: Path):
    assert _words(tmp_path, "1-2\tO\n1.5\tO\n") == [("1-2", "1.5")]


@pytest.mark.parametrize(
    ("whole", "row", "options"),
    [
        ("a\tO", "O", {}),
        ("a\tO", "B-LOC", {}),
        ("a O", " O", {}),
        ("1\ta\tO", "1\tO", {"word": 1}),
        ("O\ta", "O", {"word": -1, "tag": 0}),
        ("a\tplay", "play", {"tag": None, "label": -1}),
        ("a\tO\tplay", "O\tplay", {"tag": -2, "label": -1}),
        ("a\tO\tplay", "a\tO", {"tag": 1, "label": -1}),
    ],
)
def test_a_row_that_lacks_a_cell_is_a_broken_line(tmp_path: Path, whole, row, options):
    """A tag is not taken for the word where the word is missing, nor a label for either."""
    path = tmp_path / "a.conll"
    path.write_text(f"{whole}\n{row}\n")
    with pytest.raises(DataError, match=r"a\.conll:2: .* the same cell") as raised:
        read(path, "conll", **options)
    assert repr(row.split()) in str(raised.value)


def test_one_column_of_words_needs_to_be_told(tmp_path: Path):
    with pytest.raises(DataError, match=r"a\.conll:1: .*`tag: null` reads words without tags"):
        _words(tmp_path, "O\nB-LOC\n")
    assert _words(tmp_path, "O\nB-LOC\n", tag=None) == [("O", "B-LOC")]


def test_two_parts_of_a_row_cannot_be_one_column(tmp_path: Path):
    with pytest.raises(DataError, match=r"a\.conll: `word` and `tag` are both column 0"):
        _words(tmp_path, "a\tO\n", tag=0)


def test_empty_words_can_be_skipped(tmp_path: Path):
    path = tmp_path / "a.conll"
    path.write_text("1\ta\tO\n2\t\tO\n3\tb\tO\n")
    result = read(path, word=1, tag=2, empty_words="skip")
    assert result.examples[0].words == ("a", "b")
    assert result.counts == {"empty_words_skipped": 1}


def test_one_way_to_the_label_only(tmp_path: Path):
    with pytest.raises(DataError, match="not both"):
        _words(tmp_path, "a\tO\tx\n", label=2, label_comment="intent")


@pytest.mark.parametrize("line", ["# intent = a/b", "# intent: a/b", "# intent =a/b"])
def test_label_comments(tmp_path: Path, line: str):
    path = tmp_path / "a.conll"
    path.write_text(f"# text = intent = c\n{line}\nw\tO\n")
    assert read(path, "conll", label_comment="intent").examples[0].label == "a/b"


def test_a_label_does_not_carry_over_to_the_next_sentence(tmp_path: Path):
    with pytest.raises(DataError, match=r"a\.conll:4: no comment `# intent"):
        _words(tmp_path, "# intent = a\nw\tO\n\nv\tO\n", label_comment="intent")


def test_repairs_are_counted(tmp_path: Path):
    path = tmp_path / "a.conll"
    path.write_text("a\tI-X\nb\tI-X\nc\tI-Y\nd\tB-O\ne\tI-O\nf\tI-Y\n")
    result = read(path, repair="iob2")
    assert result.examples[0].tags == ("B-X", "I-X", "B-Y", "O", "O", "B-Y")
    assert result.counts == {"repaired_tags": 5}


def find_first(tags: list[str]) -> tuple[int, str] | None:
    return next(find_faults(tags), None)


TAGS = st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B", "B-O", "I-O"]), max_size=8)


@given(TAGS)
def test_repaired_tags_are_legal_and_legal_ones_stay(tags: list[str]):
    repaired, count = repair_iob2(tags)
    assert find_first(repaired) is None
    assert repair_iob2(repaired) == (repaired, 0)
    assert (count == 0) == (find_first(tags) is None) == (repaired == tags)


@given(TAGS)
def test_repair_reads_spans_as_conlleval_does(tags: list[str]):
    tags = [tag for tag in tags if tag not in ("B-O", "I-O")]
    repaired, _ = repair_iob2(tags)
    strict = [(e.tag, e.start, e.end - 1) for e in Entities([repaired], IOB2).entities[0]]
    assert strict == get_entities(tags)


@pytest.mark.parametrize("tag", ["O", "B-X", "I-x/y-z", "B-PER.NAM"])
def test_well_formed_tags(tag: str):
    assert is_tag(tag)


@pytest.mark.parametrize("tag", ["", "o", "B", "B-", "B-O", "I-O", "b-X", "B_X", "B-a b", "S-X"])
def test_malformed_tags(tag: str):
    assert not is_tag(tag)


def test_the_word_can_be_a_part_of_its_cell(tmp_path: Path):
    assert _words(tmp_path, "口0\tO\n71\tO\n", word_pattern="(.+)[0-9]") == [("口", "7")]
    with pytest.raises(DataError, match=r"a\.conll:1: word 'a' does not match"):
        _words(tmp_path, "a\tO\n", word_pattern="(.+)[0-9]")
    for pattern, says in (("(", "unterminated"), ("a", "0 groups")):
        with pytest.raises(DataError, match=says):
            _words(tmp_path, "a\tO\n", word_pattern=pattern)
