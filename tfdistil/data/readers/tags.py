"""Strict IOB2 and IOBES: what is legal, and the one repair a source may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tfdistil.data.schemes import CONTINUES, FOLLOWS, marks


def is_tag(tag: str, scheme: str = "iob2") -> bool:
    """Whether ``tag`` is ``O``, or a mark of the scheme with a type that is not ``O``."""
    marked = tag[:1] in FOLLOWS[scheme] and tag[:1] != "O" and tag[1:2] == "-"
    return tag == "O" or (marked and tag[2:] not in ("", "O") and _solid(tag))


def find_faults(tags: Sequence[str], scheme: str = "iob2") -> Iterator[tuple[int, str]]:
    """Index and description of every break of a scheme.

    Strict IOB2 opens every span with ``B-``; ``I-x`` only follows ``B-x`` or ``I-x``. IOBES also
    ends every span of several words with ``E-`` and gives one word ``S-``. Labels of words have a
    ``B-`` that the file has not.
    """
    return _FAULTS[scheme](tags)


def _word_faults(tags: Sequence[str]) -> Iterator[tuple[int, str]]:
    before = ""
    for index, tag in enumerate(tags):
        label = tag.removeprefix("B-")
        if label[:2] == "I-" and before in (f"B-{label[2:]}", label):
            yield index, f"{label} after {before} is a span of IOB2; leave out `scheme: words`"
        elif not is_tag(tag, "words"):
            yield index, f"{label!r} is no label of a word: it is empty or has white space in it"
        before = label


def _scheme_faults(tags: Sequence[str], scheme: str) -> Iterator[tuple[int, str]]:
    follows = FOLLOWS[scheme]
    previous = "O"
    for index, tag in enumerate(tags):
        if not is_tag(tag, scheme):
            known = ", ".join(f"{mark}-type" for mark in marks(scheme))
            yield index, f"tag {tag!r} is not {scheme.upper()} (O, {known})"
            tag = "O"
        elif tag[0] not in follows[previous[0]] or (
            tag[0] in CONTINUES and tag[2:] != previous[2:]
        ):
            yield index, f"illegal tag sequence of {scheme.upper()}: {tag} after {previous}; {_FIX}"
        previous = tag
    if "O" not in follows[previous[0]]:
        yield len(tags) - 1, f"{scheme.upper()} ends no sentence with {previous}; {_FIX}"


_FIX = "correct the file, or set `repair: iob2`, which looks at beginnings alone"


def _iob2_faults(tags: Sequence[str]) -> Iterator[tuple[int, str]]:
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


_FAULTS: dict[str, Callable[[Sequence[str]], Iterator[tuple[int, str]]]] = {
    "iob2": _iob2_faults,
    "iobes": partial(_scheme_faults, scheme="iobes"),
    "words": _word_faults,
}


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
