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


def test_recombined_values_begin_as_one_and_end_as_another():
    values = ["paris by night", "king of hearts", "crush"]
    titles = [Example(("play", *v.split()), ("O", "B-x", *["I-x"] * v.count(" "))) for v in values]
    made = {" ".join(e.words[1:]) for e in augment("slot_recombination", titles, 200, seed=1)}
    beginnings = {"paris", "paris by", "king", "king of"}
    ends = {"by night", "night", "of hearts", "hearts"}
    given = {f"play {v}" for v in values}  # sentences of train are never made again
    possible = {f"{a} {b}" for a in beginnings for b in ends}
    assert made == {v for v in possible if f"play {v}" not in given}


def test_slots_of_single_words_are_swapped_whole():
    cities = [Example(("to", name), ("O", "B-x")) for name in ("rome", "oslo")]
    tagged = [*cities, Example(("from", "bonn", "today"), ("O", "B-x", "O"))]
    made = {" ".join(e.words) for e in augment("slot_recombination", tagged, 100, seed=1)}
    assert made == {"to bonn", "from rome today", "from oslo today"}


def test_recombination_says_what_it_needs():
    with pytest.raises(DataError, match="slot_recombination: no training sentence has a slot"):
        augment("slot_recombination", TRAIN[3:], 5, seed=1)
    with pytest.raises(DataError, match="slot_recombination: share is above 0"):
        augment("slot_recombination", TRAIN, 5, seed=1, share=2.0)
