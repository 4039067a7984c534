"""Readers: one file format each, from a path to `Example`s.

To add one: a file here with a generator ``read_x(reading, *, option=default) -> Iterator[Example]``
that reports broken lines through `Reading.problem`, an entry in `READERS`, a line in the contract
test.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from tfdistil.data.example import Example
from tfdistil.data.readers.absa import read_absa
from tfdistil.data.readers.base import Reader, Reading, ReadResult, Split, split_whitespace
from tfdistil.data.readers.clinc import read_clinc
from tfdistil.data.readers.conll import read_conll
from tfdistil.data.readers.files import check_readable
from tfdistil.data.readers.guess import guess_format
from tfdistil.data.readers.jsonl_spans import read_jsonl_spans
from tfdistil.data.readers.jsonl_words import read_jsonl_words
from tfdistil.data.readers.mtod import read_mtod
from tfdistil.data.readers.rasa import read_rasa
from tfdistil.data.readers.slotgated import read_slotgated
from tfdistil.data.readers.table import read_table
from tfdistil.data.readers.text import read_plain
from tfdistil.data.readers.top import read_top
from tfdistil.data.schemes import Scheme
from tfdistil.errors import DataError
from tfdistil.printable import CONTROL, shown

__all__ = [
    "READERS",
    "ReadResult",
    "Reader",
    "Reading",
    "Split",
    "guess_format",
    "read",
    "split_whitespace",
    "stream",
]

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        Reader("conll", "columns, one word per line", read_conll),
        Reader("slotgated", "folder of seq.in, seq.out, label", read_slotgated),
        Reader("mtod", "TSV with slot spans and tokenSpans", read_mtod),
        Reader("rasa", "Rasa NLU JSON", read_rasa),
        Reader("jsonl_spans", "JSON lines, text with character spans", read_jsonl_spans),
        Reader("jsonl_words", "JSON lines, words with tags, a class, or both", read_jsonl_words),
        Reader("table", "TSV, CSV or JSON lines, text or pair with a class", read_table),
        Reader("clinc", "JSON of [text, intent] lists", read_clinc),
        Reader("top", "bracketed parses in a TSV column", read_top),
        Reader("absa", "SemEval's XML of aspect terms", read_absa),
        Reader("text", "plain text, one sentence per line", read_plain),
    )
}


def read(
    path: str | Path,
    format: str | None = None,
    *,
    language: str | None = None,
    split: Split = split_whitespace,
    repair: Literal["iob2"] | None = None,
    scheme: Scheme = "iob2",
    errors: Literal["raise", "collect"] = "raise",
    max_problems: int = 1000,
    **options: Any,
) -> ReadResult:
    """Read one file (or folder) in one format.

    Args:
        path: what to read.
        format: a key of `READERS`; None guesses from name and content.
        language: BCP 47 code of all examples; None takes what the rows say, else ``und``.
        split: splits texts that come without words into ``(word, start, end)``.
        repair: ``iob2`` reads an orphan ``I-x`` as ``B-x`` and a stray ``B-O`` as ``O``, counted
            as ``repaired_tags``.
        scheme: of the tags in the file; examples have IOB2.
        errors: ``raise`` stops at the first broken line; ``collect`` goes on after it, leaves its
            example out where it can be told, and returns all in `ReadResult.problems`.
        max_problems: how many problems ``collect`` lists.
        options: the format's own options.

    Raises:
        DataError: unknown format or option, or a broken line, named with its file and line.
    """
    path = Path(path)
    reading = Reading(
        path,
        language=language,
        split=split,
        repair=repair,
        scheme=scheme,
        collect=errors == "collect",
        max_problems=max_problems,
    )
    examples: list[Example] = []
    with _collector_paused():
        examples.extend(_examples(reading, format, options))
    counts = {name: count for name, count in sorted(reading.counts.items()) if count}
    return ReadResult(tuple(examples), counts, tuple(reading.problems), tuple(reading.files))


def stream(
    path: str | Path,
    format: str | None = None,
    *,
    language: str | None = None,
    split: Split = split_whitespace,
    problems: list[DataError] | None = None,
    **options: Any,
) -> Iterator[Example]:
    """The examples of one file one after the other; of the format ``text`` no more is in memory.

    Args:
        path, format, language, split, options: as `read` takes them.
        problems: where broken lines are noted instead of raised, 1,000 of them.

    Raises:
        DataError: as `read` does, of a broken line when it is reached.
    """
    reading = Reading(Path(path), language=language, split=split, collect=problems is not None)
    yield from _examples(reading, format, options)
    if problems is not None:
        problems += reading.problems


def _examples(reading: Reading, format: str | None, options: dict[str, Any]) -> Iterator[Example]:
    """The examples of a file; what ends its reading early is raised, or noted with the rest."""
    try:
        yield from _read(reading, format, options)
    except RecursionError:
        reading.problem("nested deeper than any data of this format")
    except DataError as error:
        if not reading.collect:
            raise
        reading.problems.append(error)


def _read(reading: Reading, format: str | None, options: dict[str, Any]) -> Iterator[Example]:
    reader = _find(reading.path, format)
    reader.check_options(options, reading.path)
    none = True
    for example in _with_labels_to_show(reading, reader.function(reading, **options)):
        none = False
        yield example
    if none and not reading.problems:
        raise DataError(f"no examples in this file, read as {reader.name!r}", reading.path, 1)


LONGEST_LABEL = 200


def _with_labels_to_show(reading: Reading, examples: Iterator[Example]) -> Iterator[Example]:
    """Those whose labels and language can stand in a file, in a table and in a terminal."""
    fine: set[str | None] = {None}
    for example in examples:
        new = {example.label, example.language, *(example.tags or ())} - fine
        faults = [fault for label in new if label is not None and (fault := _fault(label))]
        if faults:
            path, _, line = example.source.rpartition(":")
            reading.problem(min(faults), int(line), Path(path))
        else:
            fine |= new
            yield example


def _fault(label: str) -> str | None:
    if (character := CONTROL.search(label)) is not None:
        return f"the label {shown(label)} has the character {character[0]!r}"
    if len(label) > LONGEST_LABEL:
        return f"the label {shown(label)} has {len(label):,} characters; is its column right?"
    return None


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Examples are small tuples without cycles: scanning them takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def choices() -> str:
    """All formats, each with what it is, as errors list them."""
    return ", ".join(f"{name} ({reader.summary})" for name, reader in READERS.items())


def _find(path: Path, format: str | None) -> Reader:
    if format is None:
        if not path.is_dir():
            check_readable(path)
        format = guess_format(path)
        if format is None:
            raise DataError(f"cannot tell the format; set `format` to one of {choices()}", path)
    if format not in READERS:
        raise DataError(f"unknown format {format!r}; known: {choices()}", path)
    return READERS[format]
