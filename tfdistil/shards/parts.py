"""Disjoint parts of a corpus: what is tested on, what losses are taken on, sections to train on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from tfdistil.errors import DataError

TRAINING, HELD_OUT, TEST = "corpus", "corpus_held_out", "corpus_test"
"""Names of sets; a section has the name ``corpus.SECTION``."""


def line_digest(text: str, seed: int) -> bytes:
    """What decides on the part of a line: a hash of its characters without white space.

    As `tfdistil.data.splits` compares sentences: ``Is it?`` and ``Is it ?`` are the same.
    """
    characters = "".join(text.split())
    data = f"{seed}\0{characters}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).digest()


@dataclass(frozen=True)
class Parts:
    """Which part each line of a corpus is in, by its text and a seed alone.

    So equal lines are in the same part, wherever they stand, and more text moves no line. What is
    tested and held out does not depend on the sections.

    Attributes:
        held_out, test: shares of all text.
        sections: name to share of the remaining text, which is trained on; what is left over is in
            the set ``corpus``, as all sections are, and in no section.
        seed: of the choice.

    Raises:
        DataError: shares below 0 or, of the whole or of the sections, above 1 in sum.
    """

    held_out: float = 0.0
    test: float = 0.0
    sections: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        shares = {"held_out": self.held_out, "test": self.test, **self.sections}
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise DataError(f"the share of {name} is {share}, expected 0 to 1")
        if self.held_out + self.test >= 1:
            raise DataError(
                f"held_out {self.held_out} and test {self.test} leave no text to train on"
            )
        # Not in float arithmetic alone: ten sections of 0.1 are the whole and nothing more.
        if round(sum(self.sections.values()), 9) > 1:
            listed = ", ".join(f"{name} {share}" for name, share in self.sections.items())
            raise DataError(f"the sections have more than 1 in sum: {listed}")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parts, in the order of their numbers; the first is in no section."""
        return (TRAINING, *(f"{TRAINING}.{name}" for name in self.sections), HELD_OUT, TEST)

    def numbers(self, name: str) -> tuple[int, ...]:
        """The parts that a set consists of; ``corpus`` has all sections.

        Raises:
            DataError: no such set.
        """
        if name not in self.names:
            raise DataError(f"no part {name!r}; there are {', '.join(self.names)}")
        if name == TRAINING:
            return tuple(range(1 + len(self.sections)))
        return (self.names.index(name),)

    def is_empty(self, name: str) -> bool:
        """Whether no line at all can be in a set, its share being 0."""
        return {HELD_OUT: self.held_out, TEST: self.test}.get(name) == 0

    def number(self, digest: bytes) -> int:
        """The part of a line, given its `line_digest` with the same seed."""
        place, section = (int.from_bytes(half, "big") / 2**64 for half in (digest[:8], digest[8:]))
        if place < self.test:
            return len(self.sections) + 2
        if place < self.test + self.held_out:
            return len(self.sections) + 1
        end = 0.0
        for number, share in enumerate(self.sections.values(), 1):
            end += share
            if section < round(end, 9):
                return number
        return 0
