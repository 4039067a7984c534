"""Slot values swapped for others of the same slot: needs no model."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tfdistil.augmentation.registry import AugmentationContext, augmentation
from tfdistil.data.example import Example
from tfdistil.errors import DataError
from tfdistil.tasks.iob2 import spans


@augmentation("slot_substitution")
def slot_substitution(
    examples: Sequence[Example],
    count: int,
    generator: random.Random,
    context: AugmentationContext,
    share: float = 0.9,
) -> list[Example]:
    """Sentences with their slot values swapped for others of the same slot and language.

    Every distinct value of the examples is as likely as any other, so that rare ones are seen in
    many sentences.

    Args:
        examples: with IOB2 tags.
        count: sentences to make; the examples take turns.
        generator: of the choices.
        context: not used.
        share: probability of each value to be swapped.

    Raises:
        DataError: no example with a slot, or a share outside ``(0, 1]``.
    """
    del context
    if not 0 < share <= 1:
        raise DataError(f"slot_substitution: share is above 0 and at most 1, got {share}")
    values: dict[tuple[str, str], dict[tuple[str, ...], None]] = {}
    for example in examples:
        for span in spans(example.tags or ()):
            key = (example.language, span.label)
            values.setdefault(key, {})[example.words[span.start : span.end]] = None
    choices = {key: list(found) for key, found in values.items()}
    templates = [example for example in examples if spans(example.tags or ())]
    if not templates:
        raise DataError("slot_substitution: no training sentence has a slot to substitute")
    made: list[Example] = []
    while len(made) < count:
        generator.shuffle(templates)
        made += [_substituted(e, choices, generator, share) for e in templates[: count - len(made)]]
    return made


def _substituted(
    example: Example,
    choices: dict[tuple[str, str], list[tuple[str, ...]]],
    generator: random.Random,
    share: float,
) -> Example:
    words: list[str] = []
    done = 0
    for span in spans(example.tags or ()):
        words += example.words[done : span.start]
        kept = generator.random() >= share
        chosen = generator.choice(choices[example.language, span.label])
        words += example.words[span.start : span.end] if kept else chosen
        done = span.end
    words += example.words[done:]
    return Example(tuple(words), language=example.language, source=example.source)
