"""Tagging schemes: how the spans of a text are written as one label per word.

Examples, predictions and scores are in IOB2. A task may score the labels of another scheme, and a
file may be written in one; both are translated here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

Scheme = Literal["iob2", "iobes", "words"]

FOLLOWS = {
    "iob2": {"O": "OB", "B": "OBI", "I": "OBI"},
    "iobes": {"O": "OBS", "B": "IE", "I": "IE", "E": "OBS", "S": "OBS"},
    "words": {"O": "OB", "B": "OB"},
}
"""By scheme, and by the mark of a label, the marks that may follow it. ``I`` and ``E`` continue a
span and have its type. What may follow ``O`` may begin a text; what ``O`` may follow may end it. In
``words`` nothing continues: a label is of one word, as parts of speech are."""

CONTINUES = "IE"

_IN_IOB2 = {"E": "I", "S": "B"}


def marks(scheme: str) -> str:
    """The marks that labels of a scheme have in front of their type."""
    return "".join(mark for mark in FOLLOWS[scheme] if mark != "O")


def labels_of(types: Iterable[str], scheme: str) -> list[str]:
    """``O`` and, for each type in order, a label with each mark: all that spans need."""
    return ["O", *(f"{mark}-{name}" for name in types for mark in marks(scheme))]


def scheme_of(labels: Iterable[str]) -> str:
    """The scheme that labels are of: the one with all their marks."""
    found = {label[:2] for label in labels}
    if found & {"E-", "S-"}:
        return "iobes"
    return "words" if "B-" in found and "I-" not in found else "iob2"


def to_iob2(tags: Iterable[str]) -> list[str]:
    """Tags with the marks of IOB2: a single word is a beginning, an end continues its span."""
    return [_IN_IOB2.get(tag[0], tag[0]) + tag[1:] if tag[1:2] == "-" else tag for tag in tags]


def from_iob2(tags: Sequence[str], scheme: str) -> list[str]:
    """Legal IOB2 tags in another scheme."""
    if scheme != "iobes":
        return list(tags)
    found = []
    for tag, after in zip(tags, [*tags, "O"][1:], strict=True):
        last = tag != "O" and not after.startswith("I-")
        found.append({"B": "S", "I": "E"}[tag[0]] + tag[1:] if last else tag)
    return found
