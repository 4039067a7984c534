"""JSON lines: a text with character spans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading, absent
from tfdistil.data.readers.json_items import json_rows
from tfdistil.data.readers.spans import CharSpan, find_span_fault, tag_words
from tfdistil.printable import shown

_SPANS = ("entities", "spans")
_LABELS = ("intent", "label")
_TYPES = ("label", "entity", "type")


def spans_field(row: dict[str, Any]) -> str | None:
    """The field of a row that holds spans, whatever else it has; None if none does.

    Doccano has them under ``label`` or ``labels``.
    """
    if named := next((name for name in _SPANS if name in row), None):
        return named
    for name in ("label", "labels"):
        value = row.get(name)
        if isinstance(value, list) and isinstance(row.get("text"), str) and all(map(_span, value)):
            return name
    return None


def read_jsonl_spans(
    reading: Reading,
    *,
    text: str = "text",
    spans: str | None = None,
    label: str | None = None,
    row_language: str = "language",
) -> Iterator[Example]:
    """``{"text": "...", "entities": [{"start": 0, "end": 5, "label": "LOC"}], "intent": "..."}``.

    Spans are in code points, also as ``[start, end, label]``, and go to the words they touch.
    Counted: ``spans_off_word_borders``, ``spans_without_word``, ``blank_lines``.

    Args:
        reading: the file.
        text: field of the text.
        spans: field of the spans; None takes ``entities`` or ``spans``, whichever the first row
            has. Once it is settled every row must have it.
        label: field of the intent or class; None takes ``intent`` or ``label`` in the same way, or
            none.
        row_language: field of the language, where rows have one.
    """
    settled = False
    for line, row in json_rows(reading, reading.lines()):
        if not settled:
            settled = True
            spans = spans or next((name for name in _SPANS if name in row), _SPANS[0])
            others = (name for name in _LABELS if name in row and name != spans)
            label = label or next(others, None)
        example = _example(reading, row, text, spans or _SPANS[0], label, row_language, line)
        if example is not None:
            yield example


def _example(
    reading: Reading,
    row: dict[str, Any],
    text_field: str,
    spans_field: str,
    label_field: str | None,
    language_field: str,
    line: int,
) -> Example | None:
    text = reading.string(row, text_field, line)
    if text is None:
        return None
    label = language = None
    if label_field is not None and (label := reading.string(row, label_field, line)) is None:
        return None
    if language_field in row and (language := reading.string(row, language_field, line)) is None:
        return None
    if row.get(spans_field) is None:
        reading.problem(absent(row, spans_field), line)
        return None
    spans = spans_of(reading, row[spans_field], text, line)
    return None if spans is None else tag_text(reading, text, spans, label, language, line)


def spans_of(reading: Reading, value: Any, text: str, line: int) -> list[CharSpan] | None:
    """JSON spans as `CharSpan`s within ``text``, or None if a problem was noted."""
    if not isinstance(value, list):
        reading.problem(f"spans are {type(value).__name__}, expected a list", line)
        return None
    spans = []
    for item in value:
        span = _span(item)
        if span is None or not span.label or any(map(str.isspace, span.label)) or span.label == "O":
            reading.problem(
                f"span {shown(item)} is not {{start, end, label}} with whole numbers and a label "
                "without white space",
                line,
            )
            return None
        spans.append(span)
    fault = find_span_fault(spans, len(text))
    if fault is not None:
        reading.problem(fault, line)
        return None
    return spans


def tag_text(
    reading: Reading,
    text: str,
    spans: list[CharSpan],
    label: str | None,
    language: str | None,
    line: int,
) -> Example | None:
    """Split a text and give its spans to the words, or None if a problem was noted."""
    words, offsets = reading.words(text)
    if not words:
        reading.problem("the text is empty", line)
        return None
    tagged = tag_words(spans, offsets)
    reading.counts["spans_off_word_borders"] += tagged.off_borders
    reading.counts["spans_without_word"] += tagged.without_word
    return Example(
        words,
        tuple(tagged.tags),
        label,
        language=reading.language_of(language),
        text=text,
        offsets=offsets,
        source=reading.source(line),
    )


def _span(item: Any) -> CharSpan | None:
    if isinstance(item, dict):
        kind = next((item[name] for name in _TYPES if name in item), None)
        start, end = item.get("start"), item.get("end")
    elif isinstance(item, list) and len(item) == 3:
        start, end, kind = item
    else:
        return None
    if type(start) is not int or type(end) is not int or not isinstance(kind, str):
        return None
    return CharSpan(start, end, kind)
