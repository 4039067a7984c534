"""Tables (TSV, CSV, JSON lines) of texts or pairs of texts with a class."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading, absent
from tfdistil.data.readers.json_items import is_array, json_rows
from tfdistil.errors import DataError

Column = int | str
Row = tuple[int, "dict[Column, Any]"]
"""Line a row starts on, and its cells by the columns asked for."""


class Words(NamedTuple):
    """A text and its words."""

    text: str
    words: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]


_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";"}


def read_table(
    reading: Reading,
    *,
    text: int | str = "text",
    second: int | str | None = None,
    label: int | str | None = "label",
    header: bool | None = None,
    separator: Literal["auto", "tab", "comma", "semicolon", "json"] = "auto",
    quoted: bool | None = None,
) -> Iterator[Example]:
    """One row, one example. Every row must have as many cells as the first.

    Args:
        reading: the file.
        text: column of the (first) text, by the header's name or by index from 0.
        second: column of the second text of a pair, or None.
        label: column of the class, or None for unlabelled text. Whole numbers become text.
        header: whether the first row holds names; None means: if a column is given by name.
        separator: ``json`` is one object per line; ``auto`` looks at the first line.
        quoted: whether cells may be quoted as in CSV (``"a ""b"" c"``); None means: always in
            ``.csv`` files and without tabs; with tabs, if there are cells that start with a quote
            and all of them are quoted correctly.
    """
    columns = [column for column in (text, second, label) if column is not None]
    language = reading.language_of()
    for line, cells in _rows(reading, columns, header, separator, quoted):
        first = _words(reading, cells[text], text, line)
        pair = None if second is None else _words(reading, cells[second], second, line)
        kind = None if label is None else _class(reading, cells[label], label, line)
        missing = (second is not None and pair is None) or (label is not None and kind is None)
        if first is None or missing:
            continue
        yield Example(
            first.words,
            label=kind,
            second=None if pair is None else pair.words,
            language=language,
            text=first.text,
            offsets=first.offsets,
            source=reading.source(line),
        )


def _rows(
    reading: Reading,
    columns: list[Column],
    header: bool | None,
    separator: str,
    quoted: bool | None,
) -> Iterator[Row]:
    lines = reading.lines()
    if separator == "auto":
        separator = _guess_separator(reading, lines[0])
    if separator == "json":
        yield from _json_rows(reading, lines, columns)
        return
    character = _SEPARATORS[separator]
    if quoted is None:
        is_csv = separator != "tab" or reading.path.suffix.lower() == ".csv"
        quoted = is_csv or _is_quoted(lines, character)
    rows = _quoted(reading, lines, character) if quoted else _plain(lines, character)
    by_name = any(isinstance(column, str) for column in columns)
    places: dict[Column, int] | None = None
    names: list[str] = []
    width = 0
    for line, row in rows:
        if places is None:
            width = len(row)
            names = row if (by_name if header is None else header) else []
            places = _places(reading, columns, names, width, line)
            if names:
                continue
        if len(row) == 1 and not row[0].strip():
            reading.counts["blank_lines"] += 1
        elif len(row) != width:
            what = "header" if names else "first row"
            reading.problem(f"{len(row)} columns, but the {what} has {width}", line)
        else:
            yield line, {column: row[place] for column, place in places.items()}


def _is_quoted(lines: list[str], separator: str) -> bool:
    """Whether some cells start with a quote, and all that do are quoted from end to end."""
    some = False
    for line in lines:
        if '"' in line:
            for cell in line.split(separator):
                if cell.startswith('"'):
                    some = True
                    if not _QUOTED.fullmatch(cell):
                        return False
    return some


def _plain(lines: list[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    for line, text in enumerate(lines, 1):
        yield line, text.split(separator)


def _quoted(reading: Reading, lines: list[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Rows of CSV; a quoted cell may reach over several lines."""
    reader = csv.reader([line + "\n" for line in lines], delimiter=separator, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            hint = "quotes inside a cell are doubled; `quoted: false` reads them as they are"
            reading.problem(f"bad CSV: {error}; {hint}", line)
            continue
        yield line, row or [""]


def _json_rows(reading: Reading, lines: list[str], columns: list[Column]) -> Iterator[Row]:
    names = [column for column in columns if isinstance(column, str)]
    if len(names) < len(columns):
        raise DataError("columns of JSON lines are given by name, not by index", reading.path)
    for line, row in json_rows(reading, lines):
        missing = [name for name in names if row.get(name) is None]
        if missing:
            reading.problem(absent(row, missing[0]), line)
            continue
        yield line, {name: row[name] for name in names}


def _places(
    reading: Reading, columns: list[Column], names: list[str], width: int, line: int
) -> dict[Column, int]:
    places: dict[Column, int] = {}
    for column in columns:
        if isinstance(column, str):
            if column not in names:
                have = f"the header has {names}" if names else "the file has no header"
                raise DataError(f"no column {column!r}; {have}", reading.path, line)
            places[column] = names.index(column)
        elif -width <= column < width:
            places[column] = column
        else:
            message = f"no column {column}: the row has {width} columns"
            raise DataError(message, reading.path, line)
    if len({place % width for place in places.values()}) < len(places):
        message = f"columns {', '.join(map(repr, columns))} name the same column twice"
        raise DataError(message, reading.path, line)
    return places


def _guess_separator(reading: Reading, first: str) -> str:
    if first.lstrip().startswith("{") or is_array(first):
        return "json"
    for name, character in _SEPARATORS.items():
        if character in first:
            return name
    choices = ", ".join([*_SEPARATORS, "json"])
    raise DataError(
        f"the first line has no tab, comma or semicolon; set `separator` to one of {choices}",
        reading.path,
        1,
    )


def _words(reading: Reading, value: Any, column: Column, line: int) -> Words | None:
    text = reading.string({str(column): value}, str(column), line)
    if text is None:
        return None
    words, offsets = reading.words(text)
    if not words:
        reading.problem(f"the text in column {column!r} is empty", line)
        return None
    return Words(text, words, offsets)


def _class(reading: Reading, value: Any, column: Column, line: int) -> str | None:
    if type(value) is int:
        value = str(value)
    label = reading.string({str(column): value}, str(column), line)
    if label is not None and not label.strip():
        reading.problem(f"the label in column {column!r} is empty", line)
        return None
    return None if label is None else label.strip()
