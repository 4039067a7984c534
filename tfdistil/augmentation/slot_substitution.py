"""Slot values swapped for others of the same slot, or for what two of them make: needs no model."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from tfdistil.augmentation.registry import AugmentationContext, augmentation
from tfdistil.data.example import Example
from tfdistil.errors import DataError
from tfdistil.tasks.iob2 import spans

Words = tuple[str, ...]
Choices = Mapping[tuple[str, str], Sequence[Words]]
"""Distinct values by language and slot."""


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
    templates = _templates(examples, share, "slot_substitution")
    values = _values(templates)

    def another(slot: tuple[str, str]) -> Words:
        return generator.choice(values[slot])

    return _swapped(templates, count, generator, share, another)


@augmentation("slot_recombination")
def slot_recombination(
    examples: Sequence[Example],
    count: int,
    generator: random.Random,
    context: AugmentationContext,
    share: float = 0.9,
) -> list[Example]:
    """As `slot_substitution`, but a value is the beginning of one and the end of another.

    Both have at least two words and are cut anywhere between them, so that a student sees known
    words in slots that train does not have. Slots without such values have theirs swapped.

    Args:
        examples, count, generator, context, share: as of `slot_substitution`.

    Raises:
        DataError: no example with a slot, or a share outside ``(0, 1]``.
    """
    del context
    templates = _templates(examples, share, "slot_recombination")
    values = _values(templates)
    long = {slot: [one for one in found if one[1:]] for slot, found in values.items()}

    def of_two(slot: tuple[str, str]) -> Words:
        if not long[slot]:
            return generator.choice(values[slot])
        first, second = generator.choice(long[slot]), generator.choice(long[slot])
        end, start = generator.randrange(1, len(first)), generator.randrange(1, len(second))
        return (*first[:end], *second[start:])

    return _swapped(templates, count, generator, share, of_two)


def _templates(examples: Sequence[Example], share: float, name: str) -> list[Example]:
    if not 0 < share <= 1:
        raise DataError(f"{name}: share is above 0 and at most 1, got {share}")
    templates = [example for example in examples if spans(example.tags or ())]
    if not templates:
        raise DataError(f"{name}: no training sentence has a slot to substitute")
    return templates


def _values(templates: Sequence[Example]) -> Choices:
    values: dict[tuple[str, str], dict[Words, None]] = {}
    for example in templates:
        for span in spans(example.tags or ()):
            key = (example.language, span.label)
            values.setdefault(key, {})[example.words[span.start : span.end]] = None
    return {key: list(found) for key, found in values.items()}


def _swapped(
    templates: list[Example],
    count: int,
    generator: random.Random,
    share: float,
    another: Callable[[tuple[str, str]], Words],
) -> list[Example]:
    made: list[Example] = []
    while len(made) < count:
        generator.shuffle(templates)
        made += [_one(e, generator, share, another) for e in templates[: count - len(made)]]
    return made


def _one(
    example: Example,
    generator: random.Random,
    share: float,
    another: Callable[[tuple[str, str]], Words],
) -> Example:
    words: list[str] = []
    done = 0
    for span in spans(example.tags or ()):
        words += example.words[done : span.start]
        kept = generator.random() >= share
        chosen = another((example.language, span.label))
        words += example.words[span.start : span.end] if kept else chosen
        done = span.end
    words += example.words[done:]
    return Example(tuple(words), language=example.language, source=example.source)
