"""Sources: label maps, repair, samples, and the check against a model's labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfdistil.data.example import Example
from tfdistil.data.readers import read
from tfdistil.data.source import Source, check_labels, load, map_labels
from tfdistil.errors import DataError


@pytest.fixture
def conll(tmp_path: Path) -> Path:
    path = tmp_path / "a.conll"
    path.write_text("a\tB-OTH\nb\tI-OTH\nc\tB-LOC\n\nd\tB-O\ne\tI-PER\n\nf\tO\n")
    return path


def test_a_source_from_a_recipe_line(conll: Path):
    line = {"path": conll, "language": "en", "repair": "iob2", "label_map": {"OTH": "O"}}
    result = load([Source.from_mapping(line)])
    assert [e.tags for e in result.examples] == [("O", "O", "B-LOC"), ("O", "B-PER"), ("O",)]
    assert {e.language for e in result.examples} == {"en"}
    assert result.counts == {"labels_mapped": 1, "repaired_tags": 2}


def test_without_repair_the_stray_tag_is_an_error(conll: Path):
    with pytest.raises(DataError, match=r"a\.conll:5: tag 'B-O'"):
        load([Source(conll)])
    result = load([Source(conll), Source(conll.with_name("b"))], errors="collect")
    assert [(p.path, p.line) for p in result.problems] == [
        (conll, 5),
        (conll, 6),
        (conll.with_name("b"), None),
    ]
    assert len(result.examples) == 2


def test_types_can_be_renamed_and_merged():
    tags = ("B-PER.NAM", "I-PER.NAM", "B-PER.NOM", "O")
    examples, mapped = map_labels(
        [Example(("a", "b", "c", "d"), tags, "PER.NOM")], {"PER.NAM": "PER", "PER.NOM": "PER"}
    )
    assert examples[0].tags == ("B-PER", "I-PER", "B-PER", "O")
    assert examples[0].label == "PER"
    assert mapped == {"PER.NAM": 1, "PER.NOM": 2}


def test_a_key_that_occurs_nowhere_is_counted(conll: Path):
    result = load([Source(conll, repair="iob2", label_map={"OHT": "O"})])
    assert result.counts["label_map_unused"] == 1


def test_counts_of_sources_add_up(conll: Path):
    assert load([Source(conll, repair="iob2")] * 2).counts == {"repaired_tags": 4}


def test_samples_are_reproducible_and_in_file_order(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"line {n}\n" for n in range(100)))
    source = Source(path, limit=10, seed=3)
    texts = [example.text for example in load([source]).examples]
    assert len(texts) == 10
    assert texts == [example.text for example in load([source]).examples]
    assert texts != [example.text for example in load([Source(path, limit=10, seed=4)]).examples]
    everything = [example.text for example in load([Source(path)]).examples]
    assert texts == [text for text in everything if text in set(texts)]
    assert len(load([Source(path, limit=1000)]).examples) == 100


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"path": "a", "langage": "en"}, "unknown key 'langage'"),
        ({"format": "text"}, "without a path"),
        ({"path": "a", "repair": "iob1"}, "repair is 'iob1'"),
        ({"path": "a", "limit": 0}, "limit is 0"),
        (
            {"path": "a", "options": {"repair": "iob2"}},
            "no format has an option 'repair'; 'repair' stands beside `options`, not in it",
        ),
        ({"path": "a", "options": {"errors": "collect"}}, "no format has an option 'errors'$"),
        ({"path": "a", "label_map": {"X": 1}}, "not text to text"),
        ({"path": "a", "label_map": {"B-X": "O"}}, "without its prefix"),
        ({"path": "a", "label_map": ["X"]}, "expected a mapping"),
        ({"path": "a", "options": 3}, "expected a mapping"),
    ],
)
def test_bad_lines(line: dict, says: str):
    with pytest.raises(DataError, match=says):
        Source.from_mapping(line)


def test_unknown_labels_are_named_with_their_line(conll: Path):
    examples = load([Source(conll, repair="iob2")]).examples
    check_labels(examples, tags=["O", "B-OTH", "I-OTH", "B-LOC", "B-PER"], labels=[])
    with pytest.raises(DataError, match="unknown tag 'B-PER' of word 'e'") as raised:
        check_labels(examples, tags=["O", "B-OTH", "I-OTH", "B-LOC"])
    assert (Path(str(raised.value.path)), raised.value.line) == (conll, 5)
    with pytest.raises(DataError, match=r"x\.tsv:7: unknown label 'c'; known: a, b;"):
        check_labels([Example(("w",), label="c", source="x.tsv:7")], labels=["b", "a"])


def test_texts_are_split_by_the_recipe_s_splitter(tmp_path: Path):
    words = pytest.importorskip("tfdistil.text.words")
    path = tmp_path / "a.jsonl"
    row = '{"text": "Fly to Bonn, now!", "entities": [[7, 11, "to"], [13, 16, "when"]]}\n'
    path.write_text(row)
    result = read(path, split=words.WordSplitter(kind="unicode").split)
    assert result.examples[0].words == ("Fly", "to", "Bonn", ",", "now", "!")
    assert result.examples[0].tags == ("O", "O", "B-to", "O", "B-when", "O")
    assert result.counts == {}
    assert read(path).counts == {"spans_off_word_borders": 2}
    thai = tmp_path / "a.txt"
    thai.write_text("ไปเที่ยว กรุงเทพ", encoding="utf-8")
    for example in read(thai, split=words.WordSplitter(kind="unicode").split).examples:
        assert "".join(example.words) == "ไปเที่ยวกรุงเทพ"
