"""Every reader: reads back a small file, names the line of each kind of broken one, never crashes.

A new format is one entry in `CASES`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfdistil.data.example import Example
from tfdistil.data.readers import READERS, read, stream
from tfdistil.data.suggest import suggest
from tfdistil.errors import DataError

Files = dict[str, str]


@dataclass(frozen=True)
class Broken:
    """A file that differs from the good one: ``line`` is where, ``says`` is part of the message."""

    what: str
    file: str
    text: str
    line: int
    says: str


@dataclass(frozen=True)
class Case:
    """A format with a good file (or folder of files), what it holds, and broken variants."""

    format: str
    files: Files
    examples: tuple[Example, ...]
    options: dict[str, Any] = field(default_factory=dict)
    broken: tuple[Broken, ...] = ()

    @property
    def main(self) -> str:
        return next(iter(self.files))

    def write(self, folder: Path, changes: dict[str, str | bytes] | None = None) -> Path:
        """The path to read; a name with a slash makes the part before it the path."""
        for name, content in {**self.files, **(changes or {})}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return folder / self.main.split("/")[0]


def _words(text: str) -> dict[str, Any]:
    words, offsets, at = text.split(), [], 0
    for word in words:
        at = text.index(word, at)
        offsets.append((at, at + len(word)))
        at += len(word)
    return {"words": tuple(words), "text": text, "offsets": tuple(offsets)}


_CONLL = "# a note\nIn\tx\tO\nÅbo\tx\ty\tB-LOC\n\n\n#tag\tO\nAda\tB-PER\nBo\tI-PER\n"
_ROWS = (
    '{"words": ["Go", "on."], "text": "Go on.", "offsets": [[0, 2], [3, 6]], '
    '"tags": ["B-x", "O"], "label": "a", "language": "de", "id": 1}\n\n'
    '{"words": ["Ada", "L."], "second": "b c", "tags": null, "text": "Ada  L."}\n'
    '{"text": "two words", "tags": ["O", "O"]}\n'
)
_NUMBERED = (
    '{"id": "0", "tokens": ["Ada", "L."], "ner_tags": [1, 2], "kind": "a", "tags": ["?"]}\n'
    '{"id": "1", "tokens": ["Go"], "ner_tags": [0]}\n'
)
_ARRAY = (
    '[\n{"words": ["Ada",\n "L."],\n "tags": ["B-x",\n "O"]},\n'
    '{"words": ["Go"], "tags": ["O"], "label": "a"}\n]\n'
)
_DOCCANO = (
    '{"id": 1, "text": "Ada in Bonn", "label": [[0, 3, "P"], [7, 11, "L"]]}\n'
    '{"id": 2, "text": "ok", "label": []}\n'
)
_MTOD_TOKENS = json.dumps(
    {
        "tokenizations": [
            {
                "tokens": ["wake", "me"],
                "tokenSpans": [{"start": 0, "length": 4}, {"start": 5, "length": 2}],
            }
        ]
    }
)
_MTOD = f"alarm/set\t5:7:who\tWake me\ten_XX\t{_MTOD_TOKENS}\n"
_RASA_ROW = '{"text": "go to Bonn", "intent": "go", "entities": [%s]}'
_RASA = (
    '{"rasa_nlu_data": {"regex_features": [], "common_examples": [\n'
    + _RASA_ROW % '{"start": 6, "end": 10, "entity": "city"}'
    + ",\n"
    + _RASA_ROW % ""
    + "\n]}}\n"
)
_SPANS = (
    '{"text": "Ada in Bonn", "entities": [{"start": 0, "end": 3, "label": "PER"}], "intent": "a"}\n'
    '{"text": "ok", "entities": [], "intent": "b", "language": "de"}\n'
)
_CLINC = (
    '{\n"train": [\n["how far", "distance"],\n["hi", "greet"]\n],\n"oos_train": [["x", "oos"]]}'
)
_TOP = "q\tparse\na\t[IN:A go [SL:D to [IN:B [SL:E Bonn ] ] now ] ok ]\nb\t[IN:B hi ]\n"

_ABSA = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<sentences>\n<sentence id="1">\n'
    "<text>I love Bonn &amp; co</text>\n<aspectTerms>\n"
    '<aspectTerm term="Bonn" polarity="positive" from="7" to="11"/>\n</aspectTerms>\n</sentence>\n'
    '<sentence id="2"><text>So what</text></sentence>\n</sentences>\n'
)

CASES = [
    Case(
        "conll",
        {"a.conll": _CONLL},
        (
            Example(("In", "Åbo"), ("O", "B-LOC"), source="a.conll:2"),
            Example(("#tag", "Ada", "Bo"), ("O", "B-PER", "I-PER"), source="a.conll:6"),
        ),
        broken=(
            Broken("orphan I-", "a.conll", _CONLL.replace("B-PER", "O"), 8, "I-PER after O"),
            Broken("other type", "a.conll", _CONLL.replace("I-PER", "I-LOC"), 8, "after B-PER"),
            Broken("stray B-O", "a.conll", _CONLL.replace("B-LOC", "B-O"), 3, "repair: iob2"),
            Broken("no type", "a.conll", _CONLL.replace("B-LOC", "B-"), 3, "not IOB2"),
            Broken("other scheme", "a.conll", _CONLL.replace("I-PER", "E-PER"), 8, "'E-PER'"),
            Broken("no word", "a.conll", _CONLL.replace("Ada", ""), 7, "word is empty"),
            Broken("only notes", "a.conll", "# a\n\n# b\n", 1, "no sentence"),
        ),
    ),
    Case(
        "conll",
        {"columns.conllu": "# intent = go\n1-2\tzum\t_\n1\tzu\tO\n1.1\tx\t_\n2\tBonn\tB-LOC\n"},
        (Example(("zu", "Bonn"), ("O", "B-LOC"), "go", source="columns.conllu:3"),),
        options={"word": 1, "tag": 2, "label_comment": "intent"},
        broken=(
            Broken("no tag column", "columns.conllu", "# intent = a\n1\tzu\n", 2, "no column 2"),
            Broken("wrong column", "columns.conllu", "# intent = a\n1\tzu\tx\n", 2, "set `tag`"),
            Broken("no label", "columns.conllu", "# intents = a\n\n1\tzu\tO\n", 3, "# intent = "),
        ),
    ),
    Case(
        "conll",
        {"label.conll": "# O a\n# B-X a\n\nb O c\n"},
        (
            Example(("#", "#"), ("O", "B-X"), "a", source="label.conll:1"),
            Example(("b",), ("O",), "c", source="label.conll:4"),
        ),
        options={"tag": 1, "label": 2},
        broken=(
            Broken("two labels", "label.conll", "a O x\nb O y\n", 2, "differs from 'x'"),
            Broken("no label column", "label.conll", "a O x\nb O\n", 2, "no column 2 for `label`"),
        ),
    ),
    Case(
        "slotgated",
        {"d/seq.in": "go to  bonn \nhi\n", "d/seq.out": "O O B-to\nO\n", "d/label": "go\ngreet\n"},
        (
            Example(("go", "to", "bonn"), ("O", "O", "B-to"), "go", source="d/seq.in:1"),
            Example(("hi",), ("O",), "greet", source="d/seq.in:2"),
        ),
        broken=(
            Broken("fewer tags", "d/seq.out", "O O\nO\n", 1, "2 tags for 3 words"),
            Broken("fewer lines", "d/label", "go\n", 2, "differ in length"),
            Broken("orphan I-", "d/seq.out", "O O O\nI-to\n", 2, "I-to after O"),
            Broken("no words", "d/seq.in", "\nhi\n", 1, "no words"),
            Broken("no intent", "d/label", "go\n \n", 2, "no intent"),
        ),
    ),
    Case(
        "mtod",
        {"a.tsv": _MTOD},
        (
            Example(
                ("Wake", "me"),
                ("O", "B-who"),
                "alarm/set",
                language="en",
                text="Wake me",
                offsets=((0, 4), (5, 7)),
                source="a.tsv:1",
            ),
        ),
        broken=(
            Broken("columns", "a.tsv", _MTOD + "a\tb\n", 2, "2 columns, expected 5"),
            Broken("slot", "a.tsv", _MTOD.replace("5:7:who", "5-7:who"), 1, "start:end:label"),
            Broken("outside", "a.tsv", _MTOD.replace("5:7:who", "8:9:who"), 1, "outside the text"),
            Broken("overlap", "a.tsv", _MTOD.replace("5:7", "0:6:a,5:7"), 1, "overlaps"),
            Broken("JSON", "a.tsv", _MTOD.replace("[{", "[", 1), 1, "bad JSON at column"),
            Broken("no spans", "a.tsv", _MTOD.replace("tokenSpans", "x"), 1, "tokens column"),
            Broken("token span", "a.tsv", _MTOD.replace('"length": 2', '"length": 3'), 1, "5:8"),
            Broken("no intent", "a.tsv", _MTOD.replace("alarm/set", ""), 1, "intent is empty"),
        ),
    ),
    Case(
        "rasa",
        {"a.json": _RASA},
        (
            Example(
                **_words("go to Bonn"), tags=("O", "O", "B-city"), label="go", source="a.json:2"
            ),
            Example(**_words("go to Bonn"), tags=("O", "O", "O"), label="go", source="a.json:3"),
        ),
        broken=(
            Broken("JSON", "a.json", _RASA.replace('"end": 10', '"end" 10'), 2, "column"),
            Broken("outside", "a.json", _RASA.replace("10", "11"), 2, "outside the text"),
            Broken("no text", "a.json", _RASA.replace('"text"', '"txt"'), 2, "no field 'text'"),
            Broken("no list", "a.json", "{}", 1, "common_examples"),
            Broken("not a list", "a.json", '{"rasa_nlu_data":\n{"common_examples": 1}}', 2, "list"),
        ),
    ),
    Case(
        "absa",
        {"a.xml": _ABSA},
        (
            Example(
                **_words("I love Bonn & co"),
                tags=("O", "O", "B-ASPECT", "O", "O"),
                source="a.xml:3",
            ),
            Example(**_words("So what"), tags=("O", "O"), source="a.xml:9"),
        ),
        broken=(
            Broken("XML", "a.xml", _ABSA.replace("</aspectTerms>", ""), 8, "mismatched tag"),
            Broken("cut off", "a.xml", _ABSA[:-13], 10, "no element found"),
            Broken("outside", "a.xml", _ABSA.replace('"11"', '"17"'), 6, "outside the text"),
            Broken("other words", "a.xml", _ABSA.replace('"7"', '"8"'), 6, "not 'Bonn'"),
            Broken("no number", "a.xml", _ABSA.replace('"7"', '"-7"'), 6, "two whole numbers"),
            Broken("no words", "a.xml", _ABSA.replace("term=", "terms="), 6, "has term None"),
            Broken("empty text", "a.xml", _ABSA.replace("So what", " "), 9, "text is empty"),
            Broken("other XML", "a.xml", "<a>\n<text>x</text></a>", 1, "no <sentence>"),
            Broken(
                "entity",
                "a.xml",
                _ABSA.replace("<sentences>", '<!DOCTYPE s [<!ENTITY amp "x">]><sentences>'),
                2,
                "take the DOCTYPE out",
            ),
        ),
    ),
    Case(
        "jsonl_spans",
        {"a.jsonl": _SPANS},
        (
            Example(
                **_words("Ada in Bonn"), tags=("B-PER", "O", "O"), label="a", source="a.jsonl:1"
            ),
            Example(**_words("ok"), tags=("O",), label="b", language="de", source="a.jsonl:2"),
        ),
        broken=(
            Broken("JSON", "a.jsonl", _SPANS.replace('"b"', "b"), 2, "bad JSON at column"),
            Broken("no object", "a.jsonl", _SPANS + "[1]\n", 3, "expected an object"),
            Broken("no spans", "a.jsonl", _SPANS + '{"text": "x", "intent": "a"}', 3, "entities"),
            Broken("no label", "a.jsonl", _SPANS + '{"text": "x", "entities": []}', 3, "intent"),
            Broken("empty span", "a.jsonl", _SPANS.replace("3", "0"), 1, "outside the text"),
            Broken("label", "a.jsonl", _SPANS.replace("PER", "a b"), 1, "white space"),
            Broken("surrogate", "a.jsonl", _SPANS.replace("ok", "\\ud800"), 2, "surrogate"),
            Broken("deep", "a.jsonl", _SPANS + "[" * 100_000, 3, "bad JSON"),
            Broken("empty text", "a.jsonl", _SPANS.replace('"ok"', '" "'), 2, "text is empty"),
            Broken(
                "overlap",
                "a.jsonl",
                _SPANS.replace('"PER"}', '"PER"}, [2, 6, "X"]'),
                1,
                "overlaps",
            ),
        ),
    ),
    Case(
        "jsonl_words",
        {"a.jsonl": _ROWS},
        (
            Example(
                **_words("Go on."), tags=("B-x", "O"), label="a", language="de", source="a.jsonl:1"
            ),
            Example(("Ada", "L."), second=("b", "c"), language="und", source="a.jsonl:3"),
            Example(**_words("two words"), tags=("O", "O"), language="und", source="a.jsonl:4"),
        ),
        broken=(
            Broken("JSON", "a.jsonl", _ROWS.replace('"a"', "a"), 1, "bad JSON at column"),
            Broken("no object", "a.jsonl", _ROWS + "[1]\n", 5, "expected an object"),
            Broken("no words", "a.jsonl", _ROWS + '{"tokens": ["x"]}', 5, "this row: 'tokens'"),
            Broken("empty", "a.jsonl", _ROWS + '{"words": []}', 5, "without words"),
            Broken("empty word", "a.jsonl", _ROWS.replace('"Ada"', '""'), 3, "an empty word"),
            Broken("number", "a.jsonl", _ROWS.replace('"Ada"', "7"), 3, "int, expected a string"),
            Broken("no list", "a.jsonl", _ROWS.replace('["Ada", "L."]', "7"), 3, "int, expected"),
            Broken("tag string", "a.jsonl", _ROWS.replace('["O", "O"]', '"O"'), 4, "list of str"),
            Broken("fewer tags", "a.jsonl", _ROWS.replace('"O", "O"', '"O"'), 4, "but 1 tags"),
            Broken("tags", "a.jsonl", _ROWS.replace('["B-x', '["I-x'), 1, "illegal tag sequence"),
            Broken("place", "a.jsonl", _ROWS.replace("[3, 6]", "[1, 7]"), 1, "rising"),
            Broken("offsets", "a.jsonl", _ROWS.replace(", [3, 6]", ""), 1, "but 1 offsets"),
            Broken("place", "a.jsonl", _ROWS.replace("[3, 6]", "[3, 5]"), 1, "'on', not 'on.'"),
            Broken("second", "a.jsonl", _ROWS.replace('"b c"', "7"), 3, "int, expected a string"),
            Broken("numbers", "a.jsonl", _ROWS.replace('["B-x", "O"]', "[1, 0]"), 1, "names: [O"),
        ),
    ),
    Case(
        "jsonl_words",
        {"hub.jsonl": _NUMBERED},
        (
            Example(("Ada", "L."), ("B-x", "I-x"), "a", source="hub.jsonl:1"),
            Example(("Go",), ("O",), source="hub.jsonl:2"),
        ),
        options={
            "words": "tokens",
            "tags": "ner_tags",
            "label": "kind",
            "names": ["O", "B-x", "I-x"],
        },
        broken=(
            Broken("no such tag", "hub.jsonl", _NUMBERED.replace("[0]", "[3]"), 2, "from 0 to 2"),
            Broken("tag string", "hub.jsonl", _NUMBERED.replace("[0]", '["O"]'), 2, "has 'O'"),
            Broken("illegal", "hub.jsonl", _NUMBERED.replace("[1, 2]", "[0, 2]"), 1, "illegal tag"),
        ),
    ),
    Case(
        "jsonl_words",
        {"array.json": _ARRAY},
        (
            Example(("Ada", "L."), ("B-x", "O"), source="array.json:2"),
            Example(("Go",), ("O",), "a", source="array.json:6"),
        ),
        broken=(
            Broken("no object", "array.json", _ARRAY.replace("\n]", ",\n7]"), 7, "int in the list"),
            Broken("JSON", "array.json", _ARRAY.replace('"O"]},', '"O"]}'), 6, "bad JSON at"),
            Broken("tags", "array.json", _ARRAY.replace('"B-x"', '"I-x"'), 2, "illegal tag"),
            Broken("open", "array.json", _ARRAY.replace("\n]", ""), 6, "bad JSON at"),
        ),
    ),
    Case(
        "jsonl_spans",
        {"doccano.jsonl": _DOCCANO},
        (
            Example(**_words("Ada in Bonn"), tags=("B-P", "O", "B-L"), source="doccano.jsonl:1"),
            Example(**_words("ok"), tags=("O",), source="doccano.jsonl:2"),
        ),
        options={"spans": "label"},
        broken=(
            Broken("span", "doccano.jsonl", _DOCCANO.replace("0, 3,", "0,"), 1, "whole numbers"),
        ),
    ),
    Case(
        "table",
        {"a.tsv": 'text\tlabel\nsay "hi" now\tgreet\n\n7\t1\n'},
        (
            Example(**_words('say "hi" now'), label="greet", source="a.tsv:2"),
            Example(**_words("7"), label="1", source="a.tsv:4"),
        ),
        broken=(
            Broken("no column", "a.tsv", "txt\tlabel\na\tb\n", 1, "no column 'text'"),
            Broken("width", "a.tsv", "text\tlabel\na\tb\tc\n", 2, "3 columns, but the header"),
            Broken("no label", "a.tsv", "text\tlabel\na\t \n", 2, "label"),
            Broken("no text", "a.tsv", "text\tlabel\n \ta\n", 2, "text"),
            Broken("separator", "a.tsv", "text\nlabel\n", 1, "set `separator`"),
        ),
    ),
    Case(
        "table",
        {"pairs.csv": '"a, ""b""",c d,yes\ne,"f\ng",no\nh,i,no\n'},
        (
            Example(**_words('a, "b"'), second=("c", "d"), label="yes", source="pairs.csv:1"),
            Example(**_words("e"), second=("f", "g"), label="no", source="pairs.csv:2"),
            Example(**_words("h"), second=("i",), label="no", source="pairs.csv:4"),
        ),
        options={"text": 0, "second": 1, "label": -1},
        broken=(
            Broken("one column twice", "pairs.csv", "a,b\n", 1, "same column"),
            Broken("quote", "pairs.csv", 'a,b,c\nd,"e"f,g\n', 2, "bad CSV"),
            Broken("open quote", "pairs.csv", 'a,b,c\nd,"e,f\ng,h,i\n', 2, "bad CSV"),
            Broken("width", "pairs.csv", "a,b,c\nd,e\n", 2, "first row has 3"),
        ),
    ),
    Case(
        "table",
        {"rows.jsonl": '{"a": "go on", "y": 1, "z": null}\n\n{"a": "ok", "y": 0}\n'},
        (
            Example(**_words("go on"), label="1", source="rows.jsonl:1"),
            Example(**_words("ok"), label="0", source="rows.jsonl:3"),
        ),
        options={"text": "a", "label": "y"},
        broken=(
            Broken("no field", "rows.jsonl", '{"a": "x"}\n', 1, "no field 'y'"),
            Broken("null", "rows.jsonl", '{"y": null, "a": "x"}\n', 1, "field 'y' is null"),
            Broken("type", "rows.jsonl", '{"a": "x", "y": 1.5}\n', 1, "float"),
            Broken("no object", "rows.jsonl", '{"a": "x", "y": 1}\n3\n', 2, "an object"),
        ),
    ),
    Case(
        "clinc",
        {"a.json": _CLINC},
        (
            Example(**_words("how far"), label="distance", source="a.json:3"),
            Example(**_words("hi"), label="greet", source="a.json:4"),
            Example(**_words("x"), label="oos", source="a.json:6"),
        ),
        broken=(
            Broken("no subset", "a.json", '{"val": []}', 1, "no subset 'train'"),
            Broken("no pair", "a.json", _CLINC.replace(', "greet"', ""), 4, "[text, intent]"),
            Broken("no text", "a.json", _CLINC.replace('"hi"', '""'), 4, "text is empty"),
            Broken("JSON", "a.json", _CLINC.replace("],\n", "]\n", 1), 4, "column"),
            Broken("not a list", "a.json", '{"train":\n{}}', 2, "not a list"),
        ),
    ),
    Case(
        "top",
        {"a.tsv": _TOP},
        (
            Example(
                ("go", "to", "Bonn", "now", "ok"),
                ("O", "B-D", "I-D", "I-D", "O"),
                "A",
                source="a.tsv:2",
            ),
            Example(("hi",), ("O",), "B", source="a.tsv:3"),
        ),
        options={"parse": "parse"},
        broken=(
            Broken("no column", "a.tsv", _TOP.replace("parse", "x"), 1, "no column 'parse'"),
            Broken("short row", "a.tsv", _TOP + "c\n", 4, "1 columns"),
            Broken("open", "a.tsv", _TOP.replace("hi ]", "hi"), 3, "not closed"),
            Broken("closed twice", "a.tsv", _TOP.replace("hi ]", "hi ] ]"), 3, "without its"),
            Broken("no intent", "a.tsv", _TOP.replace("[IN:B hi ]", "hi"), 3, "outside"),
            Broken("two intents", "a.tsv", _TOP + "c\t[IN:A a ] [IN:B b ]\n", 4, "outermost"),
            Broken("no name", "a.tsv", _TOP.replace("[IN:B hi", "[IN: hi"), 3, "no name"),
            Broken("no words", "a.tsv", _TOP.replace("hi ]", "]"), 3, "no words"),
        ),
    ),
    Case(
        "text",
        {"a.txt": "\ufeffGo on .\r\n\r\n# not a note\u2028x\r\n"},
        (
            Example(**_words("Go on ."), source="a.txt:1"),
            Example(**_words("# not a note\u2028x"), source="a.txt:3"),
        ),
    ),
]

by_case = pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.format}-{c.main}")


def _plain(examples: tuple[Example, ...], folder: Path) -> list[Example]:
    """The examples with sources relative to the folder."""
    prefix = str(folder) + "/"
    return [
        Example(e.words, e.tags, e.label, e.second, e.language, e.text, e.offsets, source)
        for e in examples
        for source in [e.source.removeprefix(prefix)]
    ]


def test_every_format_has_a_case():
    assert {case.format for case in CASES} == set(READERS)


@by_case
def test_reads_back(case: Case, tmp_path: Path):
    path = case.write(tmp_path)
    result = read(path, case.format, **case.options)
    assert _plain(result.examples, tmp_path) == list(case.examples)
    assert result.problems == ()


@by_case
def test_says_which_files_it_read(case: Case, tmp_path: Path):
    path = case.write(tmp_path)
    found = read(path, case.format, **case.options).files
    assert set(found) == {tmp_path / name for name in case.files}


@by_case
def test_guesses_the_format(case: Case, tmp_path: Path):
    result = read(case.write(tmp_path), **case.options)
    assert _plain(result.examples, tmp_path) == list(case.examples)


@by_case
def test_windows_line_ends_change_nothing(case: Case, tmp_path: Path):
    changes = {
        name: text.replace("\r", "").replace("\n", "\r\n") for name, text in case.files.items()
    }
    result = read(case.write(tmp_path, changes), case.format, **case.options)
    assert _plain(result.examples, tmp_path) == list(case.examples)


@by_case
def test_the_language_of_the_caller_wins(case: Case, tmp_path: Path):
    result = read(case.write(tmp_path), case.format, language="sv", **case.options)
    assert {example.language for example in result.examples} == {"sv"}


@pytest.mark.parametrize(
    ("case", "broken"),
    [
        pytest.param(case, broken, id=f"{case.format}-{case.main}-{broken.what}")
        for case in CASES
        for broken in case.broken
    ],
)
def test_a_broken_line_is_named(case: Case, broken: Broken, tmp_path: Path):
    path = case.write(tmp_path, {broken.file: broken.text})
    with pytest.raises(DataError) as raised:
        read(path, case.format, **case.options)
    assert raised.value.path == tmp_path / broken.file
    assert raised.value.line == broken.line
    assert broken.says in str(raised.value)
    collected = read(path, case.format, errors="collect", **case.options)
    assert str(collected.problems[0]) == str(raised.value)


@by_case
def test_bytes_that_are_no_text_are_named(case: Case, tmp_path: Path):
    raw = case.files[case.main].encode()
    lines = raw.split(b"\n")
    for line in {1, max(number for number, part in enumerate(lines, 1) if part)}:
        for bad, says in ((b"\xff", "broken UTF-8: byte 0xff at byte 2"), (b"\0", "NUL byte")):
            changed = list(lines)
            start = changed[line - 1]
            shift = 3 if start.startswith(b"\xef\xbb\xbf") else 0
            changed[line - 1] = start[: shift + 1] + bad + start[shift + 1 :]
            path = case.write(tmp_path, {case.main: b"\n".join(changed)})
            with pytest.raises(DataError, match=says) as raised:
                read(path, case.format, **case.options)
            assert (raised.value.path, raised.value.line) == (tmp_path / case.main, line)


@by_case
@pytest.mark.parametrize("content", [b"", b" \n\t\r\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_named(case: Case, content: bytes, tmp_path: Path):
    path = case.write(tmp_path, {case.main: content})
    with pytest.raises(DataError, match="the file is empty") as raised:
        read(path, case.format, **case.options)
    assert (raised.value.path, raised.value.line) == (tmp_path / case.main, 1)


@by_case
def test_utf16_is_recognized(case: Case, tmp_path: Path):
    path = case.write(tmp_path, {case.main: case.files[case.main].encode("utf-16")})
    with pytest.raises(DataError, match="looks like UTF-16"):
        read(path, case.format, **case.options)


@by_case
def test_a_missing_file_is_named(case: Case, tmp_path: Path):
    path = case.write(tmp_path)
    (tmp_path / case.main).unlink()
    with pytest.raises(DataError, match="no such file"):
        read(path, case.format, **case.options)
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nowhere", None)


@pytest.mark.parametrize("reader", READERS.values(), ids=lambda r: r.name)
def test_options_are_checked(reader, tmp_path: Path):
    with pytest.raises(DataError, match="has no option 'colour'"):
        read(tmp_path, reader.name, colour=1)
    for name in reader.options():
        with pytest.raises(DataError, match=f"option '{name}' .* expected"):
            read(tmp_path, reader.name, **{name: [1]})


@by_case
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_only_regular_files_are_read(case: Case, kind: str, tmp_path: Path):
    path = case.write(tmp_path)
    file = tmp_path / case.main
    file.unlink()
    if kind == "fifo":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    with pytest.raises(DataError, match="cannot be opened: not a regular file"):
        read(path, case.format, **case.options)
    if path == file:
        with pytest.raises(DataError, match="cannot be opened: not a regular file"):
            read(path, **case.options)
        with pytest.raises(DataError, match="cannot be opened: not a regular file"):
            suggest(path)


@pytest.mark.parametrize("label", ["a\x1b[31m", "a\tb", "a\x85", "a\u2028b", "\ud800", "a\n"])
def test_labels_that_cannot_be_shown_are_refused(tmp_path: Path, label: str):
    path = tmp_path / "a.jsonl"
    rows = [
        {"text": "x y", "entities": [], "intent": "fine"},
        {"text": "x y", "entities": [], "intent": f"a {label}"},
        {"text": "x y", "entities": [], "intent": "a", "language": label},
        {"text": "x y", "entities": [[0, 1, "PER"]], "intent": "a b"},
    ]
    if not any(map(str.isspace, label)):
        rows.append({"text": "x y", "entities": [[0, 1, label]], "intent": "a"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = read(path, errors="collect")
    assert [problem.line for problem in result.problems] == [2, 3, 5][: len(rows) - 2]
    assert [example.label for example in result.examples] == ["fine", "a b"]
    for problem in result.problems:
        assert problem.path == path
        assert str(problem).isprintable()


def test_a_text_is_no_label(tmp_path: Path):
    path = tmp_path / "a.tsv"
    path.write_text(f"text\tlabel\nx\t{'word ' * 50}\n")
    with pytest.raises(DataError, match=r"a\.tsv:2: the label .* has 249 characters; is its colu"):
        read(path)


def test_what_nests_deeper_than_any_data_is_a_data_error(tmp_path: Path):
    for depth in (900, 980, 990, 5000, 100_000):
        path = tmp_path / "a.json"
        deep = "[" * depth + "]" * depth
        path.write_text(f'{{"train": [{deep}, ["hi", "greet"]]}}')
        (problem,) = read(path, "clinc", errors="collect").problems
        assert len(str(problem)) < 700
        with pytest.raises(DataError):
            read(path, "clinc")


def test_a_problem_is_short_whatever_came(tmp_path: Path):
    path = tmp_path / "a.conll"
    path.write_text(f"a {'x' * 2_500_000}\n\nb {'y ' * 100_000}\n")
    for problem in read(path, errors="collect").problems:
        assert len(str(problem)) < 1000


def test_unknown_formats_list_the_known_ones(tmp_path: Path):
    path = tmp_path / "a.xyz"
    path.write_text("one two three\n")
    for format in (None, "xml"):
        with pytest.raises(DataError) as raised:
            read(path, format)
        assert all(name in str(raised.value) for name in READERS)


def test_collecting_goes_on_after_a_broken_line(tmp_path: Path):
    path = tmp_path / "a.conll"
    path.write_text("a\tI-X\n\nb\tO\n\nc\tQ\n\nd\tB-X\ne\tI-Y\n")
    result = read(path, errors="collect")
    assert [problem.line for problem in result.problems] == [1, 5, 8]
    assert [example.words for example in result.examples] == [("b",)]
    few = read(path, errors="collect", max_problems=1)
    assert len(few.problems) == 1
    assert few.counts["problems_not_listed"] == 2


fuzz = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _only_data_errors(case: Case, path: Path) -> None:
    for errors in ("raise", "collect"):
        for format in (case.format, None):
            for repair in (None, "iob2"):
                try:
                    result = read(path, format, errors=errors, repair=repair, **case.options)
                except DataError:
                    assert errors == "raise"
                else:
                    for example in result.examples:
                        "".join((*example.words, *(example.second or ()))).encode()
                        assert example.words
                        assert example.tags is None or len(example.tags) == len(example.words)


@by_case
@fuzz
@given(content=st.binary(max_size=200))
def test_arbitrary_bytes_raise_nothing_but_data_errors(case: Case, tmp_path: Path, content: bytes):
    _only_data_errors(case, case.write(tmp_path, {case.main: content}))


@by_case
@fuzz
@given(data=st.data())
def test_damaged_files_raise_nothing_but_data_errors(case: Case, tmp_path: Path, data):
    name = data.draw(st.sampled_from(sorted(case.files)))
    raw = bytearray(case.files[name].encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw)))
        cut = data.draw(st.integers(0, 6))
        pieces = st.sampled_from([b"", b"\t", b"\n", b'"', b"[", b"]", b"{}", b"-1", b"9", b"\\u"])
        raw[at : at + cut] = data.draw(pieces | st.binary(max_size=4))
    _only_data_errors(case, case.write(tmp_path, {name: bytes(raw)}))


def test_a_text_is_read_line_by_line(tmp_path):
    """A broken line is reached when those before it have been used."""
    path = tmp_path / "long.txt"
    path.write_bytes(b"\xef\xbb\xbfone two\r\n\nthree\nfo\xffur\nfive\n")
    lines = stream(path, "text", language="en")
    assert [next(lines).words for _ in range(2)] == [("one", "two"), ("three",)]
    with pytest.raises(DataError, match=r"long.txt:4: broken UTF-8: byte 0xff at byte 3"):
        next(lines)


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf\n"])
def test_an_empty_text_is_found_at_its_end(tmp_path, data):
    path = tmp_path / "empty.txt"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"empty.txt:1: the file is empty"):
        list(stream(path, "text"))
