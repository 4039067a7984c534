"""Labels that a train set has many of and those to score on have none of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tfdistil.data.example import Example

EXPECTED = 10
"""Spans, or texts, that the held-out sets would have in the proportions of train, at the least: by
chance they then have none once in 20,000 sets."""


def unscored_labels(
    train: Sequence[Example], held_out: Sequence[Example], parts: Sequence[str]
) -> list[str]:
    """What to say of types of spans, and of intents or classes, that train alone has.

    Where sets come from different hands, as a type dropped from the newer ones, each prediction of
    it is counted as wrong.

    Args:
        train: labelled.
        held_out: dev and test together; without labels there is nothing to say.
        parts: the attributes that the task learns from; labels of others are not predicted.
    """
    said = []
    for part, (one, few, many, drops) in _KINDS.items():
        if part not in parts:
            continue
        mine, theirs = _COUNTS[part](train), _COUNTS[part](held_out)
        for label, count in _missing(mine, theirs).items():
            said.append(
                f"{one} {label} ({count:,} of {mine.total():,} {many} of train) is in neither dev "
                f"nor test, so each {few} predicted as it counts as wrong; " + drops.format(label)
            )
    return said


_KINDS = {
    "tags": ("span type", "span", "spans", "`label_map: {{{}: O}}` on train drops it"),
    "label": ("label", "text", "texts", "drop it from train, or add it to dev"),
}


def _spans(examples: Sequence[Example]) -> Counter[str]:
    tags = (tag for example in examples for tag in example.tags or ())
    return Counter(tag[2:] for tag in tags if tag.startswith("B-"))


def _labels(examples: Sequence[Example]) -> Counter[str]:
    return Counter(example.label for example in examples if example.label is not None)


_COUNTS = {"tags": _spans, "label": _labels}


def _missing(train: Counter[str], held_out: Mapping[str, int]) -> dict[str, int]:
    size, total = sum(held_out.values()), train.total()
    return {
        label: count
        for label, count in train.most_common()
        if label not in held_out and size * count >= EXPECTED * total
    }
