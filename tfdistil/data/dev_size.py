"""Whether a dev set is large enough to choose weights by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tfdistil.data.example import Example

SCORE = 0.7
"""The share that is right in the standard error below."""

FEWEST = 200
"""Spans or texts, as many as `tfdistil init` sets aside: the standard error of a share F of n is
sqrt(F (1 - F) / n), so 3.2 points. The updates and learning rates to choose among rarely differ by
more; with a larger error luck chooses."""


def scored(examples: Sequence[Example]) -> tuple[int, str]:
    """How many texts with a label there are or, where none has one, spans; and which it is."""
    texts = sum(example.label is not None for example in examples)
    spans = sum(tag.startswith("B-") for example in examples for tag in example.tags or ())
    return (texts, "text") if texts else (spans, "span")


def too_few_to_choose(dev: Sequence[Example]) -> str | None:
    """What to say of a dev set whose score is too uncertain to choose weights by; else None.

    Texts with a label count as one each, whatever spans they have; texts with tags alone by their
    spans. F1 is no share, but of n spans its standard error is much that of one.

    Args:
        dev: without labels or tags there is nothing to say, see `too_few_to_compare`.
    """
    count, unit = scored(dev)
    if not any(e.label is not None or e.tags is not None for e in dev) or count >= FEWEST:
        return None
    has = f"dev has {count} {unit}{'' if count == 1 else 's'}"
    error = f"{_error(count):.1f} points" if count else "any size"
    return (
        f"{has}, too few to choose weights by: at a score of {100 * SCORE:.0f} the standard error "
        f"is {error}. Give dev {FEWEST} or more: more data.dev, or none and a larger "
        "data.dev_fraction, which takes it from train."
    )


def too_few_to_compare(sets: Mapping[str, Sequence[Example]]) -> list[str]:
    """What to say of text without labels of which there is too little to tell models apart.

    Args:
        sets: ``dev`` and ``test``, where they are; in each text a word or more is hidden.
    """
    return [
        f"{name} has {len(texts)} text{'' if len(texts) == 1 else 's'}, too few to tell models "
        f"apart. Give {FEWEST} or more: data.{name}, or a larger data.corpus.{share}."
        for name, share in (("dev", "held_out"), ("test", "test"))
        if 0 < len(texts := sets.get(name, ())) < FEWEST
    ]


def _error(count: int) -> float:
    """The standard error of a share of ``count``, in points."""
    return 100 * math.sqrt(SCORE * (1 - SCORE) / count)
