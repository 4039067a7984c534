"""Labels that a train set has many of and those to score on have none of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tfdistil.data.example import Example

EXPECTED = 10
"""Spans, or texts, that the held-out sets would have in the proportions of train, at the least: by
chance they then have none once in 20,000 sets."""


def unscored_labels(train: Sequence[Example], held_out: Sequence[Example]) -> list[str]:
    """What to say of types of spans, and of intents or classes, that train alone has.

    Where sets come from different hands, as a type dropped from the newer ones, each prediction of
    it is counted as wrong.

    Args:
        train: labelled.
        held_out: dev and test together; without labels there is nothing to say.
    """
    said = []
    for (one, few, many, drops), mine, theirs in zip(
        _KINDS, _counts(train), _counts(held_out), strict=True
    ):
        for label, count in _missing(mine, theirs).items():
            said.append(
                f"{one} {label} ({count:,} of {mine.total():,} {many} of train) is in neither dev "
                f"nor test, so each {few} predicted as it counts as wrong; " + drops.format(label)
            )
    return said


_KINDS = (
    ("span type", "span", "spans", "`label_map: {{{}: O}}` on train drops it"),
    ("label", "text", "texts", "drop it from train, or add it to dev"),
)


def _counts(examples: Sequence[Example]) -> tuple[Counter[str], Counter[str]]:
    tags = (tag for example in examples for tag in example.tags or ())
    spans = Counter(tag[2:] for tag in tags if tag.startswith("B-"))
    return spans, Counter(e.label for e in examples if e.label is not None)


def _missing(train: Counter[str], held_out: Mapping[str, int]) -> dict[str, int]:
    size, total = sum(held_out.values()), train.total()
    return {
        label: count
        for label, count in train.most_common()
        if label not in held_out and size * count >= EXPECTED * total
    }
