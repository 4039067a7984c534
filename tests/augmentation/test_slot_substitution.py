"""Slot values swapped for others of their slot."""

from __future__ import annotations

from random import Random

import pytest

from tests.augmentation.conftest import TRAIN
from tfdistil.augmentation import AUGMENTATIONS, AugmentationContext, augment
from tfdistil.data.example import Example
from tfdistil.errors import DataError


def test_slot_substitution_is_every_other_combination_of_values():
    made = {" ".join(e.words) for e in augment("slot_substitution", TRAIN, 60, seed=2)}
    assert made == {"fly to rome", "rain in new york today"}


def test_values_stay_in_their_language():
    made = augment("slot_substitution", [*TRAIN, *TRAIN], 60, seed=2)
    assert all(("siena" in e.words) == (e.language == "it") for e in made)


def test_share_is_the_probability_of_a_swap():
    names = [Example((f"name{n}",), ("B-x",)) for n in range(50)]
    first = Example(("hello", "you"), ("O", "B-x"))
    substitute = AUGMENTATIONS["slot_substitution"]
    made = substitute([first, *names], 51 * 400, Random(1), AugmentationContext(), share=0.5)
    swapped = [e.words[1] != "you" for e in made if e.words[0] == "hello"]
    assert len(swapped) == 400
    # a swap may draw the old value again: one in 51
    assert sum(swapped) / 400 == pytest.approx(0.5 * 50 / 51, abs=0.08)


def test_sentences_without_slots_say_so():
    with pytest.raises(DataError, match="no training sentence has a slot"):
        augment("slot_substitution", TRAIN[3:], 5, seed=1)


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(DataError, match=f"share is above 0 and at most 1, got {share}"):
        augment("slot_substitution", TRAIN, 5, seed=1, share=share)
