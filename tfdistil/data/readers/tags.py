"""Strict IOB2: what is legal, and the one repair a source may ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def is_tag(tag: str) -> bool:
    """Whether ``tag`` is ``O``, ``B-type`` or ``I-type`` with a type that is not ``O``."""
    return tag == "O" or (tag[:2] in ("B-", "I-") and tag[2:] not in ("", "O") and _solid(tag))


def find_faults(tags: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Index and description of every break of strict IOB2.

    Strict IOB2 opens every span with ``B-``; ``I-x`` only follows ``B-x`` or ``I-x``.
    """
    previous = "O"
    for index, tag in enumerate(tags):
        if tag != "O":
            if not is_tag(tag):
                hint = "; `repair: iob2` makes it O" if tag in ("B-O", "I-O") else ""
                yield index, f"tag {tag!r} is not IOB2 (O, B-type or I-type){hint}"
            elif tag[0] == "I" and previous[2:] != tag[2:]:
                yield (
                    index,
                    f"illegal tag sequence: {tag} after {previous}, strict IOB2 opens a span with "
                    f"B-{tag[2:]}; correct the file, or set `repair: iob2` to read it as that",
                )
        previous = tag


def repair_iob2(tags: Sequence[str]) -> tuple[list[str], int]:
    """Read an orphan ``I-x`` as ``B-x`` and a stray ``B-O`` or ``I-O`` as ``O``.

    Anything else is left as it is, so that `find_faults` still names it.

    Returns:
        The tags and how many of them were changed.
    """
    repaired: list[str] = []
    previous = "O"
    for tag in tags:
        if tag in ("B-O", "I-O"):
            tag = "O"
        elif tag[:2] == "I-" and previous[2:] != tag[2:]:
            tag = "B-" + tag[2:]
        repaired.append(tag)
        previous = tag
    return repaired, sum(a != b for a, b in zip(tags, repaired, strict=True))


def _solid(tag: str) -> bool:
    return not any(character.isspace() for character in tag)
