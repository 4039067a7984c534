"""TOP-style parses: ``[IN:SET_ALARM wake me [SL:DATE_TIME at 9 am ] ]``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading
from tfdistil.errors import DataError


class Parse(NamedTuple):
    """A flattened parse.

    Attributes:
        words: the words in order.
        tags: IOB2 tags of the outermost slots.
        intent: the outermost intent.
        dropped: nested intents and slots that were left out.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    intent: str
    dropped: int


def read_top(reading: Reading, *, parse: int | str = 0) -> Iterator[Example]:
    """Words, outermost slots and outermost intent of a bracketed parse in a TSV column.

    Counted: ``nested_brackets_dropped``, ``empty_slots_dropped``.

    Args:
        reading: the file.
        parse: column of the parse: its name in the header, or its index in a file without one
            (negative from the right).
    """
    lines = reading.lines()
    first = 1
    if isinstance(parse, str):
        header = lines[0].split("\t")
        if parse not in header:
            raise DataError(f"no column {parse!r}; the header has {header}", reading.path, 1)
        column, first = header.index(parse), 2
    else:
        column = parse
    language = reading.language_of()
    for line, row in enumerate(lines[first - 1 :], first):
        cells = row.split("\t")
        if not -len(cells) <= column < len(cells):
            reading.problem(f"no column {parse!r}: the row has {len(cells)} columns", line)
            continue
        try:
            flat = flatten(cells[column])
        except ValueError as error:
            reading.problem(f"bad parse: {error}", line)
            continue
        reading.counts["nested_brackets_dropped"] += flat.dropped
        yield Example(
            flat.words, flat.tags, flat.intent, language=language, source=reading.source(line)
        )


def flatten(parse: str) -> Parse:
    """Read one parse.

    Raises:
        ValueError: brackets that do not match, no intent outside, no words.
    """
    words: list[str] = []
    tags: list[str] = []
    intent = ""
    open_brackets: list[str] = []
    slot = ""  # the outermost open slot's name
    slot_depth = dropped = 0
    fresh = False
    for piece in parse.split():
        if piece.startswith(("[IN:", "[SL:")):
            kind, name = piece[1:3], piece[4:]
            if not name:
                raise ValueError(f"{piece!r} has no name")
            if not open_brackets:
                if kind != "IN" or intent:
                    raise ValueError(f"{piece!r} outside the one outermost [IN:...]")
                intent = name
            elif kind == "SL" and not slot:
                slot, slot_depth, fresh = name, len(open_brackets), True
            else:
                dropped += 1
            open_brackets.append(piece)
        elif piece == "]":
            if not open_brackets:
                raise ValueError("a ']' without its '['")
            open_brackets.pop()
            if slot and len(open_brackets) == slot_depth:
                slot = ""
        else:
            if not open_brackets:
                raise ValueError(f"word {piece!r} outside the brackets")
            words.append(piece)
            tags.append("O" if not slot else ("B-" if fresh else "I-") + slot)
            fresh = False
    if open_brackets:
        raise ValueError(f"{open_brackets[-1]!r} is not closed")
    if not words:
        raise ValueError("no words")
    return Parse(tuple(words), tuple(tags), intent, dropped)
