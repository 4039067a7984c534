"""Rasa NLU training data in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading
from tfdistil.data.readers.json_items import Document, load_json
from tfdistil.data.readers.jsonl_spans import spans_of, tag_text

_LISTS = ("common_examples", "intent_examples", "entity_examples")


def read_rasa(reading: Reading) -> Iterator[Example]:
    """``{"rasa_nlu_data": {"common_examples": [{"text", "intent", "entities"}]}}``.

    Entities are ``{"start", "end", "entity"}`` in code points and go to the words they touch.
    Counted: ``spans_off_word_borders``, ``spans_without_word``.
    """
    text = reading.text()
    if load_json(reading, text) is None:
        return
    document = Document(text)
    found = False
    for name in _LISTS:
        place = document.find(["rasa_nlu_data", name])
        if place is None:
            continue
        found = True
        if not document.is_array(place):
            reading.problem(f"{name!r} is not a list", document.line(place))
            continue
        for line, row in document.elements(place):
            example = _example(reading, row, line)
            if example is not None:
                yield example
    if not found:
        reading.problem('no list "common_examples" under "rasa_nlu_data"', 1)


def _example(reading: Reading, row: Any, line: int) -> Example | None:
    if not isinstance(row, dict):
        reading.problem(f"{type(row).__name__} in the list, expected an object", line)
        return None
    text = reading.string(row, "text", line)
    if text is None:
        return None
    intent = None
    if row.get("intent") is not None:
        intent = reading.string(row, "intent", line)
        if intent is None:
            return None
    spans = spans_of(reading, row.get("entities") or [], text, line)
    return None if spans is None else tag_text(reading, text, spans, intent, None, line)
