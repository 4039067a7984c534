"""More text for the teacher to label, made from the sentences of train.

A recipe names augmentations in ``data.augment``. What they make has no labels: the teacher gives
them, whatever the text has become. A new one is a module here with one registered function.
"""

from __future__ import annotations

from tfdistil.augmentation import (
    pivoting,
    slot_substitution,
    word_neighbours,
    word_predictions,
)
from tfdistil.augmentation.registry import (
    AUGMENTATIONS,
    AugmentationContext,
    augment,
    augmentation,
    check_options,
)
from tfdistil.augmentation.translation import translator

__all__ = [
    "AUGMENTATIONS",
    "AugmentationContext",
    "augment",
    "augmentation",
    "check_options",
    "pivoting",
    "slot_substitution",
    "translator",
    "word_neighbours",
    "word_predictions",
]
