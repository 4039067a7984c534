"""JSON lines: sentences as words with their labels. What data from memory is kept as."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading
from tfdistil.data.readers.json_items import json_rows
from tfdistil.printable import shown

Row = dict[str, Any]


WORDS = ("words", "tokens")
TAGS = ("tags", "ner_tags", "slots", "labels")
"""Names that the fields of words and of their tags often have, as in sets of Hugging Face."""


def words_field(row: Row) -> str | None:
    """The field of a row that holds its words; None if none does."""
    return next((name for name in WORDS if isinstance(row.get(name), list)), None)


def tags_field(row: Row) -> str | None:
    """The field of a row that holds a tag, or its number, for each word; None if none does."""
    words = row.get(words_field(row) or "")
    for name in TAGS:
        value = row.get(name)
        if isinstance(value, list) and isinstance(words, list) and len(value) == len(words):
            return name
    return None


def read_jsonl_words(
    reading: Reading,
    *,
    words: str = "words",
    tags: str = "tags",
    label: str = "label",
    names: Sequence[str] | None = None,
) -> Iterator[Example]:
    """``{"words": ["Go", "on"], "tags": ["O", "O"], "label": "go", "language": "en"}``.

    Args:
        reading: the file.
        words: field of the words.
        tags: field of their tags.
        label: field of the intent or class.
        names: what tags are called that are numbers, from 0 on, as in sets of Hugging Face.
    """
    fields = {"words": words, "tags": tags, "label": label}
    lines = reading.lines()
    if names is None and fields == {name: name for name in fields}:
        return examples_of_rows(reading, lines)
    return _examples(reading, _renamed(reading, json_rows(reading, lines), fields, names))


def _renamed(
    reading: Reading,
    rows: Iterable[tuple[int, Row]],
    fields: Mapping[str, str],
    names: Sequence[str] | None,
) -> Iterator[tuple[int, Row]]:
    """Rows with the fields that `examples_of_rows` knows, and tags by their names."""
    for line, row in rows:
        others = {key: value for key, value in row.items() if key not in fields}
        found = others | {name: row[own] for name, own in fields.items() if own in row}
        tags = found.get("tags")
        if names is not None and isinstance(tags, list):
            wrong = [tag for tag in tags if type(tag) is not int or not 0 <= tag < len(names)]
            if wrong:
                reading.problem(
                    f"{fields['tags']!r} has {shown(wrong[0])}, expected a number from 0 to "
                    f"{len(names) - 1}: there are {len(names)} names",
                    line,
                )
                continue
            found["tags"] = [names[tag] for tag in tags]
        yield line, found


def examples_of_rows(reading: Reading, lines: Sequence[str]) -> Iterator[Example]:
    """The examples of lines.

    A row has ``words``, or ``text`` to split; with both, ``offsets`` say where the words stand in
    the text, word for word. ``tags``, ``label``, ``second`` (words, or a text to split) and
    ``language`` are there or not; null is not there. Other fields are not looked at.

    Args:
        reading: splits texts, checks tags and is told of broken rows.
        lines: of the file.
    """
    return _examples(reading, json_rows(reading, lines))


def _examples(reading: Reading, rows: Iterable[tuple[int, Row]]) -> Iterator[Example]:
    for line, row in rows:
        row = {name: value for name, value in row.items() if value is not None}
        example = _example(reading, row, line)
        if example is not None:
            yield example


def _example(reading: Reading, row: Row, line: int) -> Example | None:
    if "words" not in row and "text" not in row:
        have = ", ".join(map(repr, row)) or "none"
        reading.problem(f"neither 'words' nor 'text'; fields of this row: {have}", line)
        return None
    found: dict[str, Any] = {}
    for name in {"text", "label", "language"} & row.keys():
        found[name] = reading.string(row, name, line)
    if "words" in row:
        found["words"] = _words(reading, row, "words", line)
    elif found["text"] is not None:
        found["words"], found["offsets"] = reading.words(found["text"])
    if "second" in row:
        found["second"] = _words(reading, row, "second", line)
    if "tags" in row:
        found["tags"] = _strings(reading, row, "tags", line)
    if None in found.values():
        return None  # reported above
    words = found["words"]
    if not words:
        reading.problem("a sentence without words", line)
        return None
    if "tags" in row:
        if len(found["tags"]) != len(words):
            reading.problem(f"{len(words)} words, but {len(found['tags'])} tags", line)
            return None
        found["tags"] = reading.tags([*map(reading.tag, found["tags"])], line)
        if found["tags"] is None:
            return None
    if "words" in row and not _place(reading, row, found, line):
        return None
    found["language"] = reading.language_of(found.get("language"))
    return Example(**found, source=reading.source(line))


def _place(reading: Reading, row: Row, found: dict[str, Any], line: int) -> bool:
    """Add ``offsets`` where the row has them; a text without says nothing about the words."""
    offsets: Any = row.get("offsets")
    if offsets is None or "text" not in found:
        found.pop("text", None)
        return True
    end = 0
    places: list[Any] = offsets if isinstance(offsets, list) else [None]
    for place in places:
        pair = isinstance(place, list) and len(place) == 2 and {*map(type, place)} == {int}
        if not pair or not end <= place[0] <= place[1] <= len(found["text"]):
            reading.problem("offsets are not rising [start, end] within the text", line)
            return False
        end = place[1]
    if len(offsets) != len(found["words"]):
        reading.problem(f"{len(found['words'])} words, but {len(offsets)} offsets", line)
        return False
    found["offsets"] = tuple(map(tuple, offsets))
    for word, (start, end) in zip(found["words"], found["offsets"], strict=True):
        if found["text"][start:end] != word:
            there = shown(found["text"][start:end])
            reading.problem(f"[{start}, {end}] of the text is {there}, not {shown(word)}", line)
            return False
    return True


def _words(reading: Reading, row: Row, name: str, line: int) -> tuple[str, ...] | None:
    """A list of words, or the words of a text; None if a problem was noted."""
    if isinstance(row[name], list):
        words = _strings(reading, row, name, line)
        if words is None or all(words):
            return words
        reading.problem(f"{name!r} has an empty word", line)
        return None
    text = reading.string(row, name, line)
    return None if text is None else reading.words(text)[0]


def _strings(reading: Reading, row: Row, name: str, line: int) -> tuple[str, ...] | None:
    if not isinstance(row[name], list):
        kind = type(row[name]).__name__
        reading.problem(f"{name!r} is {kind}, expected a list of strings", line)
        return None
    if name == "tags" and any(type(one) is int for one in row[name]):
        reading.problem(
            "the tags are numbers; give what they are called, from 0 on, as the option "
            "names: [O, B-PER, I-PER, ...]",
            line,
        )
        return None
    strings = [reading.string({name: one}, name, line) for one in row[name]]
    return None if None in strings else tuple(map(str, strings))
