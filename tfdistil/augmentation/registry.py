"""Augmentations by name, and what they may use."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfdistil.console.progress import Counter, silent
from tfdistil.data.example import Example
from tfdistil.errors import DataError
from tfdistil.options import wrong_call
from tfdistil.registry import entering


@dataclass(frozen=True)
class AugmentationContext:
    """What an augmentation may use beside the sentences.

    Attributes:
        base: folder that paths in the recipe are relative to.
        checkpoint: folder or hub id the teacher begins with, if it does.
        split: how raw text becomes words.
        counter: shows how far something slow is.
    """

    base: Path = Path()
    checkpoint: str | None = None
    split: Callable[[str], Sequence[str]] = str.split
    counter: Counter = silent


Augmentation = Callable[..., list[Example]]

AUGMENTATIONS: dict[str, Augmentation] = {}


def augmentation(name: str) -> Callable[[Augmentation], Augmentation]:
    """Register a function ``(examples, count, generator, context, **options) -> examples``.

    Raises:
        ValueError: there is an augmentation of that name.
    """
    return entering(AUGMENTATIONS, name)


def check_options(kind: str, options: Mapping[str, Any]) -> None:
    """Find out what is wrong with an augmentation before anything is read.

    Raises:
        DataError: an unknown kind or option, or an option of the wrong type.
    """
    if (wrong := wrong_call(AUGMENTATIONS, "augmentation", kind, options, given=4)) is not None:
        raise DataError(wrong)


def augment(
    kind: str,
    examples: Sequence[Example],
    count: int,
    seed: int,
    context: AugmentationContext | None = None,
    **options: Any,
) -> list[Example]:
    """About ``count`` new unlabelled sentences, none twice and none of ``examples``.

    Fewer where the examples do not allow for as many different ones. Deterministic in the seed.

    Args:
        kind: a key of `AUGMENTATIONS`.
        examples: to make them from.
        count: how many.
        seed: of all choices.
        context: what else may be used; None: nothing.
        **options: of the kind.

    Raises:
        DataError: see `check_options`, or examples it can make nothing of.
    """
    check_options(kind, options)
    make = AUGMENTATIONS[kind]
    made = make(examples, count, random.Random(seed), context or AugmentationContext(), **options)
    taken = {example.key() for example in examples}
    fresh: dict[Any, Example] = {}
    for example in made:
        if example.key() not in taken:
            fresh.setdefault(example.key(), example)
    return list(fresh.values())
