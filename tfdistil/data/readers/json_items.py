"""JSON lines, or one JSON document element by element, with the line each element starts on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tfdistil.data.readers.base import Reading

_SPACE = re.compile(r"[ \t\r\n]*")
_ARRAY = re.compile(r"\s*\[\s*(?:\{|\Z)")
_DECODER = json.JSONDecoder()


def load_json(reading: Reading, text: str, line: int | None = None) -> Any:
    """Parse a document, or one line of a JSONL file when ``line`` is given.

    Returns:
        The value, or None if a problem was noted (so is a bare ``null``).
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"bad JSON at column {error.colno}: {error.msg}"
        reading.problem(message, error.lineno if line is None else line)
        return None
    except (RecursionError, ValueError) as error:
        # nesting deeper than the parser's stack; whole numbers of thousands of digits
        reading.problem(f"bad JSON: {error}", line)
        return None
    if value is None:
        reading.problem("bad JSON: null, expected an object", line)
    return value


def is_array(start: str) -> bool:
    """Whether a text, or what it starts with, is one array of objects and not JSON lines."""
    return _ARRAY.match(start) is not None


def first_object(start: str) -> dict[str, Any] | None:
    """The first row of `json_rows`, from a text or what it starts with; None if there is none."""
    begin = start.find("{") if is_array(start) else 0
    try:
        row, end = _DECODER.raw_decode(start, max(begin, 0))
    except (ValueError, RecursionError):
        return None
    # Of JSON lines a row is all that stands on its line.
    alone = is_array(start) or not start[end:].partition("\n")[0].strip()
    return row if isinstance(row, dict) and alone else None


def json_rows(reading: Reading, lines: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line and object of every line of JSONL, or of every element of one array.

    Blank lines are counted, broken ones reported; an array with a fault has no rows.
    """
    if lines and is_array("\n".join(lines[:2])):
        text = "\n".join(lines)
        if load_json(reading, text) is not None:
            document = Document(text)
            for line, row in document.elements(document.start):
                if isinstance(row, dict):
                    yield line, row
                else:
                    kind = type(row).__name__
                    reading.problem(f"{kind} in the list, expected an object", line)
        return
    for line, text in enumerate(lines, 1):
        if not text or text.isspace():
            reading.counts["blank_lines"] += 1
            continue
        row = load_json(reading, text, line)
        if isinstance(row, dict):
            yield line, row
        elif row is not None:
            reading.problem(f"{type(row).__name__} on this line, expected an object", line)


class Document:
    """A JSON text that `load_json` accepted, walked without losing the place of its elements."""

    def __init__(self, text: str):
        self.text = text

    @property
    def start(self) -> int:
        """Where the document's value starts."""
        return self._skip(0)

    def find(self, keys: Sequence[str]) -> int | None:
        """Where the value under nested ``keys`` starts, or None. The last of equal keys counts."""
        place: int | None = self._skip(0)
        for key in keys:
            if place is None or self.text[place] != "{":
                return None
            place = self._member(place, key)
        return place

    def elements(self, place: int) -> Iterator[tuple[int, Any]]:
        """Line and value of every element of the array that starts at ``place``."""
        line = self.line(place)
        counted = place
        place = self._skip(place + 1)
        while self.text[place] != "]":
            line += self.text.count("\n", counted, place)
            counted = place
            value, place = _DECODER.raw_decode(self.text, place)
            yield line, value
            place = self._skip(place)
            if self.text[place] == ",":
                place = self._skip(place + 1)

    def line(self, place: int) -> int:
        """The 1-based line of a place."""
        return self.text.count("\n", 0, place) + 1

    def is_array(self, place: int) -> bool:
        """Whether the value that starts at ``place`` is an array."""
        return self.text[place] == "["

    def _member(self, place: int, key: str) -> int | None:
        found = None
        place = self._skip(place + 1)
        while self.text[place] != "}":
            name, place = _DECODER.raw_decode(self.text, place)
            place = self._skip(self._skip(place) + 1)  # over the colon
            if name == key:
                found = place
            _, place = _DECODER.raw_decode(self.text, place)
            place = self._skip(place)
            if self.text[place] == ",":
                place = self._skip(place + 1)
        return found

    def _skip(self, place: int) -> int:
        match = _SPACE.match(self.text, place)
        return match.end() if match else place
