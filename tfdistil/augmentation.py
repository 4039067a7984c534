"""More text for the teacher to label, made from the labelled sentences of train.

An augmentation is a function ``(examples, count, generator, **options) -> examples`` under
`augmentation`; a recipe names it in ``data.augment``. What it makes has no labels: the teacher
gives them, whatever the text has become.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from tfdistil.data.example import Example
from tfdistil.errors import DataError
from tfdistil.tasks.iob2 import spans

Augmentation = Callable[..., list[Example]]

AUGMENTATIONS: dict[str, Augmentation] = {}


def augmentation(name: str) -> Callable[[Augmentation], Augmentation]:
    """Register an augmentation."""

    def register(function: Augmentation) -> Augmentation:
        AUGMENTATIONS[name] = function
        return function

    return register


def augment(
    kind: str, examples: Sequence[Example], count: int, seed: int, **options: Any
) -> list[Example]:
    """About ``count`` new unlabelled sentences, none twice and none of ``examples``.

    Fewer where the examples do not allow for as many different ones. Deterministic in the seed.

    Raises:
        DataError: an unknown kind, or examples it can make nothing of.
    """
    if kind not in AUGMENTATIONS:
        raise DataError(f"unknown augmentation {kind!r}; there are {', '.join(AUGMENTATIONS)}")
    made = AUGMENTATIONS[kind](examples, count, random.Random(seed), **options)
    known = {example.key() for example in examples}
    fresh: dict[Any, Example] = {}
    for example in made:
        if example.key() not in known:
            fresh.setdefault(example.key(), example)
    return list(fresh.values())


@augmentation("slot_substitution")
def slot_substitution(
    examples: Sequence[Example], count: int, generator: random.Random, share: float = 0.9
) -> list[Example]:
    """Sentences with their slot values swapped for others of the same slot and language.

    Every distinct value of the examples is as likely as any other, so that rare ones are seen in
    many sentences.

    Args:
        examples: with IOB2 tags.
        count: sentences to make; the examples take turns.
        generator: of the choices.
        share: probability of each value to be swapped.

    Raises:
        DataError: no example with a slot.
    """
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
