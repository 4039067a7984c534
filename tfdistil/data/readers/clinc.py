"""CLINC intent data: one JSON object with a list of [text, intent] per subset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading
from tfdistil.data.readers.json_items import Document, load_json
from tfdistil.printable import shown


def read_clinc(
    reading: Reading, *, subset: str = "train", out_of_scope: bool = True
) -> Iterator[Example]:
    """``{"train": [["text", "intent"], ...], "oos_train": [...], ...}``.

    Args:
        reading: the file.
        subset: ``train``, ``val`` or ``test``.
        out_of_scope: whether the list ``oos_<subset>`` follows, if the file has one; its texts
            carry the class ``oos``.
    """
    text = reading.text()
    value = load_json(reading, text)
    if value is None:
        return
    document = Document(text)
    if document.find([subset]) is None:
        have = ", ".join(map(repr, value)) if isinstance(value, dict) else type(value).__name__
        reading.problem(f"no subset {subset!r}; the file has {have}", 1)
        return
    for name in [subset, f"oos_{subset}"] if out_of_scope else [subset]:
        place = document.find([name])
        if place is None:
            continue
        if not document.is_array(place):
            reading.problem(f"{name!r} is not a list", document.line(place))
            continue
        for line, row in document.elements(place):
            example = _example(reading, row, line)
            if example is not None:
                yield example


def _example(reading: Reading, row: Any, line: int) -> Example | None:
    if not isinstance(row, list) or len(row) != 2:
        reading.problem(f"{shown(row)} is not [text, intent]", line)
        return None
    named = {"text": row[0], "intent": row[1]}
    text, intent = reading.string(named, "text", line), reading.string(named, "intent", line)
    if text is None or intent is None:
        return None
    words, offsets = reading.words(text)
    if not words or not intent.strip():
        reading.problem(f"the {'intent' if words else 'text'} is empty", line)
        return None
    return Example(
        words,
        label=intent,
        language=reading.language_of(),
        text=text,
        offsets=offsets,
        source=reading.source(line),
    )
