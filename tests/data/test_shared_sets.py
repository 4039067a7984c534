"""Every recipe line of docs/data.md loads; what it gives is counted here again by other means."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from tfdistil.data.readers import ReadResult, read
from tfdistil.data.source import Source, load

DOC = Path(__file__).parents[2] / "docs" / "data.md"
_ROW = re.compile(r"\| (?P<set>[^|]+) \| (?P<split>\w+) \| `- (?P<line>\{.*\})` \|(?P<counts>.*)\|")


class Row(NamedTuple):
    """A row of the table: the recipe line and what it is said to give."""

    name: str
    source: dict[str, Any]
    texts: int
    spans: int
    classes: int
    counts: dict[str, int]


def _rows() -> list[Row]:
    yaml = YAML(typ="safe")
    rows = []
    for match in map(_ROW.fullmatch, DOC.read_text(encoding="utf-8").splitlines()):
        if match:
            cells = [cell.strip().replace("–", "") for cell in match["counts"].split("|")]
            texts, spans, classes = (int(cell or 0) for cell in cells[:3])
            counts = dict(pair.split() for pair in cells[3].split(", ") if pair)
            source = yaml.load(match["line"])
            name = f"{match['set']}-{Path(source['path']).name}-{match['split']}"
            counts = {key: int(value) for key, value in counts.items()}
            rows.append(Row(name, source, texts, spans, classes, counts))
    return rows


ROWS = _rows()


def _counts(result: ReadResult) -> tuple[int, int, int]:
    spans = sum(tag[0] == "B" for e in result.examples for tag in e.tags or ())
    classes = {e.label for e in result.examples if e.label is not None}
    return len(result.examples), spans, len(classes)


def test_the_table_covers_every_set(shared_data: Path):
    named = {row.source["path"].split("/")[0] for row in ROWS}
    assert named == {path.name for path in shared_data.iterdir() if path.is_dir()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_recipe_line(row: Row, shared_data: Path):
    source = Source.from_mapping({**row.source, "path": shared_data / row.source["path"]})
    result = load([source])
    assert _counts(result) == (row.texts, row.spans, row.classes)
    assert result.counts == row.counts
    assert {example.language for example in result.examples} == {_language(row)}
    for example in result.examples:
        assert example.words
        if example.offsets is not None and example.text is not None:
            slices = tuple(example.text[start:end] for start, end in example.offsets)
            assert slices == example.words


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_counts_by_other_means(row: Row, shared_data: Path):
    path = shared_data / row.source["path"]
    count = COUNTERS[row.source["format"]]
    texts, spans = count(path, row.source.get("options", {}))
    if "OTH" in row.source.get("label_map", {}):
        spans -= row.counts["labels_mapped"]
    if row.source["path"].startswith("weibo"):
        spans += row.counts.get("repaired_tags", 0)  # orphans that open a span of their own
    spans -= row.counts.get("spans_without_word", 0)
    assert (texts, spans) == (row.texts, row.spans)


def _language(row: Row) -> str:
    return row.source.get("language") or Path(row.source["path"]).stem[-2:]


def _conll(path: Path, options: dict[str, Any]) -> tuple[int, int]:
    """Blocks between blank lines that have a row, and B- tags but B-O, by regular expressions."""
    text = path.read_text(encoding="utf-8")
    rows = re.sub(r"(?m)^# .*\n", "", text)
    blocks = [block for block in re.split(r"\n[ \t]*(?=\n)", rows) if block.strip()]
    if options.get("tag", 0) is None:
        return len(blocks), 0
    column = options.get("tag", 1)
    skip = rf"(?:[^\t\n]*\t){{{column}}}" if "\t" in text else rf"(?:[^ \n]* ){{{column}}}"
    tags = re.findall(rf"(?m)^{skip}B-(?!O(?:\t|$))", rows)
    return len(blocks), len(tags)


def _slotgated(path: Path, _) -> tuple[int, int]:
    tags = (path / "seq.out").read_text(encoding="utf-8")
    return tags.count("\n"), len(re.findall(r"\bB-", tags))


def _mtod(path: Path, _) -> tuple[int, int]:
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    slots = [line.split("\t")[1] for line in lines]
    return len(lines), sum(slot.count(",") + 1 for slot in slots if slot)


def _rasa(path: Path, _) -> tuple[int, int]:
    text = path.read_text(encoding="utf-8")
    return len(re.findall(r'"intent":', text)), len(re.findall(r'"entity":', text))


def _clinc(path: Path, options: dict[str, Any]) -> tuple[int, int]:
    lists = json.loads(path.read_text(encoding="utf-8"))
    subset = options["subset"]
    return len(lists[subset]) + len(lists["oos_" + subset]), 0


def _top(path: Path, _) -> tuple[int, int]:
    """Slots that open while one bracket, the outermost intent's, is open."""
    parses = [line.split("\t")[3] for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    slots = 0
    for parse in parses:
        depth = 0
        for bracket in re.findall(r"\[SL:|\[IN:|\]", parse):
            slots += bracket == "[SL:" and depth == 1
            depth += -1 if bracket == "]" else 1
    return len(parses), slots


def _table(path: Path, options: dict[str, Any]) -> tuple[int, int]:
    lines = path.read_text(encoding="utf-8").split("\n")
    header = isinstance(options["text"], str) and path.suffix != ".jsonl"
    return len([line for line in lines if line]) - header, 0


def _text(path: Path, _) -> tuple[int, int]:
    return len(re.findall(rb"(?m)^.*\S.*$", path.read_bytes())), 0


COUNTERS = {
    "conll": _conll,
    "slotgated": _slotgated,
    "mtod": _mtod,
    "rasa": _rasa,
    "clinc": _clinc,
    "top": _top,
    "table": _table,
    "text": _text,
}


def test_every_language_of_xsid(shared_data: Path):
    paths = sorted((shared_data / "xsid").glob("*.conll"))
    assert len(paths) == 18
    options = {"word": 1, "tag": 3, "empty_words": "skip"}
    for path in paths:
        by_comment = read(path, "conll", label_comment="intent", **options)
        assert _counts(by_comment)[:2] == _conll(path, options)
        # some rows of a few sentences carry another intent than the comment
        by_column = read(path, "conll", label=2, errors="collect", **options)
        assert all("differs from" in str(problem) for problem in by_column.problems)
        comments = {example.source: example for example in by_comment.examples}
        agree = [comments[example.source] == example for example in by_column.examples]
        assert sum(agree) >= len(comments) - 5


def test_every_language_of_ntrex_and_tatoeba(shared_data: Path):
    ntrex = sorted((shared_data / "ntrex").glob("newstest*"))
    assert {len(read(path).examples) for path in ntrex} == {1997}
    tatoeba = sorted((shared_data / "tatoeba_laser").glob("tatoeba.*"))
    for path in tatoeba:
        assert len(read(path, "text").examples) == _text(path, {})[0]
    assert (len(ntrex), len(tatoeba)) == (25, 53)


def test_orphans_of_weibo_are_errors_without_repair(shared_data: Path):
    options = {"errors": "collect", "word_pattern": "(.+)[0-9]"}
    problems = [
        problem
        for split in ("train", "dev", "test")
        for problem in read(
            shared_data / "weibo_ner_zh" / f"weiboNER_2nd_conll.{split}", **options
        ).problems
    ]
    assert all("illegal tag sequence: I-" in str(problem) for problem in problems)
    assert len(problems) == 14


def test_hash_words_of_wnut_are_words(shared_data: Path):
    paths = sorted((shared_data / "wnut17").glob("[ew]*"))
    assert len(paths) == 3
    for path in paths:
        words = [word for example in read(path).examples for word in example.words]
        lines = path.read_text(encoding="utf-8").split("\n")
        assert sum(word[0] == "#" for word in words) == sum(line[:1] == "#" for line in lines)
        assert len(words) == sum(bool(line.strip()) for line in lines)


def test_thai_words_are_as_written_in_the_utterance(shared_data: Path):
    result = read(shared_data / "mtod" / "th" / "train-th.tsv")
    text = "".join(word for example in result.examples for word in example.words)
    assert "\u0e33" in text  # sara am, which the JSON column decomposes
    assert "\u0e4d\u0e32" not in text


def test_guessed_formats_agree_with_the_table(shared_data: Path):
    from tfdistil.data.readers.guess import guess_format

    doubtful = {"tatoeba_laser"}
    for row in ROWS:
        folder = row.source["path"].split("/")[0]
        guess = guess_format(shared_data / row.source["path"])
        assert guess == (None if folder in doubtful else row.source["format"]), row.name
