"""MTOD (multilingual task-oriented dialogue): TSV with slot spans and a tokenization in JSON."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading
from tfdistil.data.readers.json_items import load_json
from tfdistil.data.readers.spans import CharSpan, find_span_fault, tag_words

_SLOT = re.compile(r"(-?[0-9]{1,9}):(-?[0-9]{1,9}):(\S+)")
_COLUMNS = "intent, slots, utterance, locale, tokens"

Offsets = list[tuple[int, int]]


def read_mtod(reading: Reading) -> Iterator[Example]:
    """Words are slices of the utterance by ``tokenSpans``; slots go to the words they touch.

    The ``tokens`` of the JSON column are normalized (lower case, Thai sara am decomposed) and serve
    only to tell whether a row counts its token spans in code points or, as some rows of the
    published Spanish files do, in UTF-8 bytes. Counted: ``rows_with_byte_offsets``,
    ``spans_off_word_borders``, ``spans_clipped`` (reaching over the end of the text),
    ``spans_without_word``. The language is the first part of the locale (``th_TH``: ``th``).
    """
    for line, row in enumerate(reading.lines(), 1):
        cells = row.split("\t")
        if len(cells) != 5:
            reading.problem(f"{len(cells)} columns, expected 5 ({_COLUMNS})", line)
            continue
        intent, slots, text, locale, tokenization = cells
        if not intent or intent.isspace():
            reading.problem("the intent is empty", line)
            continue
        offsets = _offsets(reading, text, tokenization, line)
        spans = None if offsets is None else _slots(reading, slots, text, line)
        if offsets is None or spans is None:
            continue
        tagged = tag_words(spans, offsets)
        reading.counts["spans_off_word_borders"] += tagged.off_borders
        reading.counts["spans_without_word"] += tagged.without_word
        yield Example(
            tuple([text[start:end] for start, end in offsets]),
            tuple(tagged.tags),
            intent,
            language=reading.language_of(locale.split("_")[0]),
            text=text,
            offsets=tuple(offsets),
            source=reading.source(line),
        )


def _slots(reading: Reading, slots: str, text: str, line: int) -> list[CharSpan] | None:
    """``start:end:label,...`` in code points, or None if a problem was noted."""
    spans = []
    for slot in filter(None, slots.split(",")):
        match = _SLOT.fullmatch(slot.strip())
        if match is None:
            reading.problem(f"slot {slot!r} is not start:end:label", line)
            return None
        start, end = int(match[1]), int(match[2])
        clipped = CharSpan(max(start, 0), min(end, len(text)), match[3])
        if (clipped.start, clipped.end) != (start, end) and clipped.start < clipped.end:
            reading.counts["spans_clipped"] += 1
            spans.append(clipped)
        else:
            spans.append(CharSpan(start, end, match[3]))
    fault = find_span_fault(spans, len(text))
    if fault is not None:
        reading.problem(fault, line)
        return None
    return spans


def _offsets(reading: Reading, text: str, tokenization: str, line: int) -> Offsets | None:
    """Start and end of each word in code points, or None if a problem was noted."""
    value = load_json(reading, tokenization, line)
    if value is None:
        return None
    try:
        first = value["tokenizations"][0]
        offsets = [_span(span) for span in first["tokenSpans"]]
        tokens = first.get("tokens", [])
    except (KeyError, IndexError, TypeError, AttributeError):
        expected = '{"tokenizations": [{"tokens": [...], "tokenSpans": [{"start", "length"}]}]}'
        reading.problem(f"the tokens column is not {expected}", line)
        return None
    if not offsets:
        reading.problem("the utterance has no words", line)
        return None
    if not text.isascii() and not _spells(text, offsets, tokens):
        by_bytes = _from_bytes(text, offsets)
        if by_bytes is not None and _spells(text, by_bytes, tokens):
            reading.counts["rows_with_byte_offsets"] += 1
            offsets = by_bytes
    last = 0
    for start, end in offsets:
        if not last <= start < end <= len(text):
            message = (
                f"token span {start}:{end} is empty, overlaps the one before or leaves the text"
            )
            reading.problem(message, line)
            return None
        last = end
    return offsets


def _span(span: dict[str, Any]) -> tuple[int, int]:
    start, length = span["start"], span["length"]
    if type(start) is not int or type(length) is not int:
        raise TypeError("start and length are whole numbers")
    return start, start + length


def _spells(text: str, offsets: Offsets, tokens: Sequence[object]) -> bool:
    """Whether the slices are the tokens but for case and normal form."""
    if not isinstance(tokens, list) or len(tokens) != len(offsets):
        return False
    return all(
        isinstance(token, str) and _plain(text[start:end]) == _plain(token)
        for (start, end), token in zip(offsets, tokens, strict=True)
    )


def _plain(word: str) -> str:
    return unicodedata.normalize("NFKD", word).lower()


def _from_bytes(text: str, offsets: Offsets) -> Offsets | None:
    """UTF-8 byte offsets as code points, or None if one lies inside a character."""
    places = {0: 0}
    at = 0
    for index, character in enumerate(text, 1):
        at += len(character.encode("utf-8", "surrogatepass"))
        places[at] = index
    try:
        return [(places[start], places[end]) for start, end in offsets]
    except KeyError:
        return None
