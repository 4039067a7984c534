"""Aspect terms in the XML of SemEval's tasks of aspect-based sentiment analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from xml.parsers import expat

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading
from tfdistil.data.readers.jsonl_spans import tag_text
from tfdistil.data.readers.spans import CharSpan, find_span_fault
from tfdistil.errors import DataError

LABEL = "ASPECT"

_TARGETS = {"aspectTerm": "term", "Opinion": "target"}
"""Element to the attribute with the words that it is about: of 2014; of 2015 and 2016."""
_ANNOTATED = ("aspectTerms", "Opinions")


def read_absa(reading: Reading) -> Iterator[Example]:
    """``<sentence><text/><aspectTerms><aspectTerm term from to/></aspectTerms></sentence>``.

    So in 2014; in 2015 and 2016 ``<Opinions><Opinion target from to/></Opinions>``. Each term is a
    span of the label ``ASPECT`` in code points and goes to the words it touches; categories and
    polarities are not read. An opinion whose target is ``NULL`` names no words. Several opinions of
    the same words are one span; of targets that overlap, the longest stays, of equally long ones
    the first. A sentence that is out of scope has no annotation and is left out. A file without
    any annotation is text without tags.

    Counted: ``overlapping_targets_dropped``, ``out_of_scope_skipped``, ``spans_off_word_borders``,
    ``spans_without_word``.
    """
    found = _parse(reading)
    annotated = any(sentence.annotated for sentence in found)
    for sentence in found:
        if sentence.out_of_scope:
            reading.counts["out_of_scope_skipped"] += 1
            continue
        spans = _spans(reading, sentence)
        if spans is None:
            continue
        example = tag_text(reading, sentence.text, spans, None, None, sentence.line)
        if example is not None:
            yield example if annotated else replace(example, tags=None)


@dataclass
class _Sentence:
    """A sentence, its line, and the attributes of its targets, each with its line."""

    line: int
    out_of_scope: bool
    text: str = ""
    annotated: bool = False
    targets: list[tuple[int, str, Mapping[str, str]]] = field(default_factory=list)


class _Collector:
    """Handlers for expat. A document type is refused: entities are made there, and files named."""

    def __init__(self, reading: Reading):
        self.reading = reading
        self.parser = expat.ParserCreate("utf-8")  # of the text as it was decoded
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._document_type
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.sentences: list[_Sentence] = []
        self.open: _Sentence | None = None
        self.in_text = False

    def _document_type(self, name: str, *rest: object) -> None:
        del rest
        raise DataError(
            f"a document type, {name!r:.40}, which is not read, since it can name other files and "
            "entities without end; take the DOCTYPE out",
            self.reading.path,
            self.parser.CurrentLineNumber,
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        if name == "sentence":
            scope = attributes.get("OutOfScope", "").upper()
            self.open = _Sentence(line, out_of_scope=scope == "TRUE")
        elif self.open is None:
            return
        elif name == "text":
            self.in_text = True
        elif name in _ANNOTATED:
            self.open.annotated = True
        elif name in _TARGETS:
            self.open.targets.append((line, name, attributes))

    def _characters(self, data: str) -> None:
        if self.in_text and self.open is not None:
            self.open.text += data

    def _end(self, name: str) -> None:
        if name == "text":
            self.in_text = False
        elif name == "sentence" and self.open is not None:
            self.sentences.append(self.open)
            self.open = None


def _parse(reading: Reading) -> list[_Sentence]:
    """The sentences of a file, those before its first fault where problems are collected."""
    collector = _Collector(reading)
    try:
        collector.parser.Parse(reading.text().encode(), True)
    except expat.ExpatError as error:
        reading.problem(f"bad XML: {expat.ErrorString(error.code)}", error.lineno)
    if not collector.sentences and not reading.problems:
        reading.problem("no <sentence> with a <text> in this file", 1)
    return collector.sentences


def _spans(reading: Reading, sentence: _Sentence) -> list[CharSpan] | None:
    """The targets of a sentence that stay, in order, or None if a problem was noted."""
    found: set[CharSpan] = set()
    for line, name, attributes in sentence.targets:
        words = attributes.get(_TARGETS[name])
        if words == "NULL":
            continue
        start, end = (_whole(attributes.get(side)) for side in ("from", "to"))
        if words is None or start is None or end is None:
            reading.problem(
                f"<{name}> has {_TARGETS[name]} {words!r:.80}, from {attributes.get('from')!r:.20} "
                f"and to {attributes.get('to')!r:.20}; expected words and two whole numbers",
                line,
            )
            return None
        span = CharSpan(start, end, LABEL)
        if (fault := find_span_fault([span], len(sentence.text))) is not None:
            reading.problem(fault, line)
            return None
        there = sentence.text[start:end]
        if there.casefold().split() != words.casefold().split():
            reading.problem(f"{start}:{end} of the text is {there!r:.80}, not {words!r:.80}", line)
            return None
        found.add(span)
    kept: list[CharSpan] = []
    for span in sorted(found, key=lambda span: (span.start - span.end, span.start)):
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    reading.counts["overlapping_targets_dropped"] += len(found) - len(kept)
    return sorted(kept)


def _whole(text: str | None) -> int | None:
    """A number of a text's code points."""
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else None
