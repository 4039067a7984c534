"""Data from memory: what comes of lists, frames and splits, and what is said of wrong ones.

pandas and datasets are used where they are installed; stand-ins with their interface always are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfdistil.data.example import Example
from tfdistil.data.memory import read_rows, rows_of, rows_of_sets, rows_to_bytes
from tfdistil.data.readers import read, split_whitespace
from tfdistil.errors import DataError

TAGS = ["O", "B-LOC", "I-LOC"]
CLASSES = ["ask", "tell"]
RECORDS: list[dict[str, Any]] = [
    {"id": 7, "tokens": ["In", "New", "York"], "ner_tags": [0, 1, 2], "label": 1},
    {"id": 8, "tokens": ["where", "?"], "ner_tags": [0, 0], "label": 0},
    {"id": 9, "tokens": ["hm"], "ner_tags": [0], "label": -1},
]
WANTED = (
    Example(("In", "New", "York"), ("O", "B-LOC", "I-LOC"), "tell", source="train:1"),
    Example(("where", "?"), ("O", "O"), "ask", source="train:2"),
    Example(("hm",), ("O",), source="train:3"),
)


class Frame:
    """As much of a pandas frame as is used."""

    def __init__(self, records: list[dict[str, Any]]):
        self._records, self.columns = records, list(records[0])

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return [dict(record) for record in self._records]


class Split:
    """As much of a datasets split as is used."""

    def __init__(self, records: list[dict[str, Any]], features: dict[str, Any]):
        self._records, self.features, self.column_names = records, features, list(features)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._records)


def make_frame(kind: str, records: list[dict[str, Any]]) -> Any:
    if kind == "stand-in":
        return Frame(records)
    return pytest.importorskip("pandas").DataFrame(records)


def make_split(kind: str, records: list[dict[str, Any]]) -> Any:
    if kind == "stand-in":
        tag, label = SimpleNamespace(names=TAGS), SimpleNamespace(names=CLASSES)
        features = {"id": SimpleNamespace(), "tokens": SimpleNamespace(feature=SimpleNamespace())}
        return Split(records, features | {"ner_tags": SimpleNamespace(feature=tag), "label": label})
    datasets = pytest.importorskip("datasets")
    pyarrow = pytest.importorskip("pyarrow")
    texts, tags = [
        datasets.Sequence(inner)
        for inner in (datasets.Value("string"), datasets.ClassLabel(names=TAGS))
    ]
    label = datasets.ClassLabel(names=CLASSES)
    features = datasets.Features(
        {"id": datasets.Value("int64"), "tokens": texts, "ner_tags": tags, "label": label}
    )
    columns = {name: [record[name] for record in records] for name in features}
    table = pyarrow.table(columns).cast(features.arrow_schema)
    info = datasets.DatasetInfo(features=features)
    # With a fingerprint given, the library need not pickle the table to make one.
    return datasets.Dataset(datasets.table.InMemoryTable(table), info=info, fingerprint="x")


kinds = pytest.mark.parametrize("kind", ["stand-in", "library"])


def examples(name: str, table: Any, columns: Any = None) -> tuple[Example, ...]:
    return read_rows(name, rows_of(name, table, columns), split_whitespace)


@kinds
def test_a_split_has_the_names_of_its_classes(kind):
    assert examples("train", make_split(kind, RECORDS)) == WANTED


def test_a_streamed_split_is_read_too():
    split = make_split("library", RECORDS).to_iterable_dataset()
    assert examples("train", split) == WANTED


@kinds
def test_a_frame_with_columns_of_other_names_and_missing_values(kind):
    records = [
        {"spoken": "In New York", "ner": "O B-LOC I-LOC", "label": "tell", "lang": "en"},
        {"spoken": "where ?", "ner": None, "label": float("nan"), "lang": None},
        {"spoken": "hm", "ner": "O", "label": np.int64(3), "lang": "de"},
    ]
    found = examples("dev", make_frame(kind, records), {"text": "spoken", "tags": "ner"})
    assert [e.words for e in found] == [("In", "New", "York"), ("where", "?"), ("hm",)]
    assert [e.tags for e in found] == [("O", "B-LOC", "I-LOC"), None, ("O",)]
    assert [e.label for e in found] == ["tell", None, "3"]
    assert [e.language for e in found] == ["en", "und", "de"]
    assert found[0].text == "In New York"
    assert found[0].offsets == ((0, 2), (3, 6), (7, 11))


def test_a_column_that_is_there_may_be_left_out():
    frame = Frame([{"text": "go on", "label": "x"}])
    assert examples("dev", frame, {"label": None})[0].label is None


def test_values_of_pandas_itself():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "words": [np.array(["a", "b"]), ["c"]],
            "tags": [np.array(["O", "B-x"]), pandas.NA],
            "intent": pandas.Categorical(["go", None]),
            "language": pandas.array(["sv", pandas.NA], dtype="string"),
        }
    )
    assert examples("train", frame) == (
        Example(("a", "b"), ("O", "B-x"), "go", language="sv", source="train:1"),
        Example(("c",), source="train:2"),
    )


def test_a_pair_of_texts():
    frame = Frame([{"premise": "it rains", "hypothesis": "it is wet", "label": "yes"}])
    (example,) = examples("train", frame)
    assert (example.words, example.second) == (("it", "rains"), ("it", "is", "wet"))


def test_examples_come_back_as_they_were(tmp_path):
    given = [
        Example(("Go", "on"), ("O", "O"), "a", ("b",), "de", "Go  on", ((0, 2), (4, 6)), "x:1"),
        Example(("a\u2028b",), text="a text without offsets"),
        Example(("\u00c5bo", "!"), ("B-LOC", "O"), language="sv"),
    ]
    path = tmp_path / "a.jsonl"
    path.write_bytes(rows_to_bytes(rows_of("train", given)))
    for found in (read(path).examples, examples("train", given)):
        fields = ("words", "tags", "label", "second", "language", "offsets")
        assert [[getattr(e, f) for f in fields] for e in found] == [
            [getattr(e, f) for f in fields] for e in given
        ]
        assert [e.text for e in found] == ["Go  on", None, None]


def test_sets_have_names_and_transfer_no_labels():
    frame = Frame([{"text": "go on", "tags": "O O", "label": "x"}])
    found = rows_of_sets({"train": frame, "validation": frame, "transfer": frame})
    assert list(found) == ["train", "dev", "transfer"]
    assert found["dev"] == [{"text": "go on", "tags": ["O", "O"], "label": "x"}]
    assert found["transfer"] == [{"text": "go on"}]
    bare = Frame([{"text": "go on"}])
    named = rows_of_sets({"train": frame, "transfer": bare}, {"tags": "tags"})
    assert named["transfer"] == [{"text": "go on"}]


@pytest.mark.parametrize(
    ("table", "columns", "says"),
    [
        (Frame([{"a": 1, "b": 2}]), None, "no column of words or text; its columns: 'a', 'b'"),
        (Frame([{"text": "x"}]), {"tags": "ner"}, "has no column 'ner'; its columns: 'text'"),
        (Frame([{"text": "x"}]), {"tag": "ner"}, "columns names 'tag', which is none of words,"),
        (
            Frame([{"words": ["x"], "tags": [0]}]),
            None,
            r"dev, row 1, column 'tags' holds \[0\], expected the names of tags",
        ),
        (make_split("stand-in", [{**RECORDS[0], "label": 9}]), None, "holds the class 9; there"),
        (Frame([{"text": "x", "tags": "O O"}]), None, "dev:1: 1 words, but 2 tags"),
        (Frame([{"text": 7}]), None, "dev:1: field 'text' is int, expected a string"),
        (Frame([{"words": "a b", "tags": "O I-x"}]), None, "dev:1: illegal tag sequence"),
        ([], None, "dev has no rows"),
        (Split([], {"text": SimpleNamespace()}), None, "dev has no rows"),
        (["a text"], None, "dev is list, expected a list of Example, a pandas frame or"),
        ("train.conll", None, "dev is str, expected a list of Example"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(table, columns, says):
    with pytest.raises(DataError, match=says):
        examples("dev", table, columns)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"unsupervised": []}, "the set 'unsupervised'; there are train, dev, test, transfer"),
        ({"dev": WANTED, "validation": WANTED}, "both 'dev' and 'validation'"),
        ([], "data is list, expected sets by name"),
    ],
)
def test_names_of_sets(data, says):
    with pytest.raises(DataError, match=says):
        rows_of_sets(data)


def test_a_value_that_json_does_not_have_is_told_of_by_the_reader():
    (line,) = rows_to_bytes([{"text": "x", "label": {1}}]).splitlines()
    assert json.loads(line)["label"] == "{1}"
