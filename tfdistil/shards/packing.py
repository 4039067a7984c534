"""Rows of word pieces made of lines: whole lines joined as long as they fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Marks:
    """The special pieces of an encoder: ``cls line sep line sep ...``."""

    cls: int
    sep: int


@dataclass
class Packer:
    """Makes rows of lines that belong together: one language, one part.

    A row is ``cls A sep B sep ...``: whole lines in their order, as many as fit, with a separator
    after each, as RoBERTa packs documents (Liu et al. 2019, Section 4.2). So rows are full, and the
    model sees where one text ends and another begins. A line longer than a row is cut into full
    rows, and what is left of it is a line like others.

    Attributes:
        marks: special pieces.
        max_length: pieces of a row at the most, special ones included; 3 or more.
        joined: False leaves each line in rows of its own, as DistilBERT and CAMeMBERT do.
    """

    marks: Marks
    max_length: int
    joined: bool = True
    _row: list[int] = field(default_factory=list)
    _lines: int = 0

    def add(self, line: Sequence[int]) -> Iterator[tuple[list[int], int]]:
        """Take a line without special pieces; gives the rows that are full, with their lines.

        Nothing comes of a line without pieces.
        """
        budget = self.max_length - 2
        for start in range(0, len(line), budget):
            part = line[start : start + budget]
            if self._row and len(self._row) + len(part) + 1 > self.max_length:
                yield from self.rest()
            if not self._row:
                self._row = [self.marks.cls]
            self._row += [*part, self.marks.sep]
            self._lines += 1
            if not self.joined:
                yield from self.rest()

    def rest(self) -> Iterator[tuple[list[int], int]]:
        """The row that is begun, if there is one."""
        if self._row:
            yield self._row, self._lines
            self._row, self._lines = [], 0
