"""Augmentation: new sentences from old ones, by recipe."""

from __future__ import annotations

from random import Random

import pytest

from tfdistil.augmentation import AUGMENTATIONS, augment
from tfdistil.corpus import load_corpus
from tfdistil.data.example import Example
from tfdistil.errors import DataError
from tfdistil.recipe_file import parse_recipe

TRAIN = [
    Example(("fly", "to", "new", "york"), ("O", "O", "B-city", "I-city"), "fly", language="en"),
    Example(("rain", "in", "rome", "today"), ("O", "O", "B-city", "B-day"), "rain", language="en"),
    Example(("vola", "a", "siena"), ("O", "O", "B-city"), "fly", language="it"),
    Example(("thanks",), ("O",), "thanks", language="en"),
]


@pytest.mark.parametrize("kind", AUGMENTATIONS)
class TestEveryAugmentation:
    def test_is_deterministic_in_the_seed(self, kind):
        assert augment(kind, TRAIN, 9, seed=1) == augment(kind, TRAIN, 9, seed=1)

    def test_makes_new_sentences_without_labels(self, kind):
        made = augment(kind, TRAIN, 50, seed=1)
        words = [example.words for example in made]
        assert made
        assert len(set(words)) == len(words)
        assert not set(words) & {example.words for example in TRAIN}
        assert {(e.tags, e.label) for e in made} == {(None, None)}


def test_slot_substitution_is_every_other_combination_of_values():
    made = {" ".join(e.words) for e in augment("slot_substitution", TRAIN, 60, seed=2)}
    assert made == {"fly to rome", "rain in new york today"}


def test_values_stay_in_their_language():
    made = augment("slot_substitution", [*TRAIN, *TRAIN], 60, seed=2)
    assert all(("siena" in e.words) == (e.language == "it") for e in made)


def test_share_is_the_probability_of_a_swap():
    names = [Example((f"name{n}",), ("B-x",)) for n in range(50)]
    first = Example(("hello", "you"), ("O", "B-x"))
    made = AUGMENTATIONS["slot_substitution"]([first, *names], 51 * 400, Random(1), share=0.5)
    swapped = [e.words[1] != "you" for e in made if e.words[0] == "hello"]
    assert len(swapped) == 400
    # a swap may draw the old value again: one in 51
    assert sum(swapped) / 400 == pytest.approx(0.5 * 50 / 51, abs=0.08)


def test_what_cannot_be_augmented_says_so():
    with pytest.raises(DataError, match="no training sentence has a slot"):
        augment("slot_substitution", TRAIN[3:], 5, seed=1)
    with pytest.raises(
        DataError, match="unknown augmentation 'magic'; there are slot_substitution"
    ):
        augment("magic", TRAIN, 5, seed=1)


def test_a_recipe_makes_the_set_and_keeps_dev_and_test_out_of_it():
    demo = {"kind": "intent_slots", "languages": ["en"]}
    recipe = parse_recipe(
        {
            "task": "intent_slots",
            "data": {
                "demo": {**demo, "train": 200, "dev": 30, "test": 30, "transfer": 0},
                "augment": {"kind": "slot_substitution", "times": 3, "share": 1.0},
            },
            "models": {"teacher": {"checkpoint": "x"}, "student": {"kind": "bilstm"}},
            "distill": [{"name": "one", "terms": [{"loss": "logit_mse", "stream": "augmented"}]}],
        }
    )
    corpus = load_corpus(recipe)
    made = {e.words for e in corpus.augmented}
    assert 200 < len(made) <= 600
    assert corpus.counts["augmented"] == len(made) == len(corpus.sets()["augmented"])
    assert not made & {e.words for e in (*corpus.dev, *corpus.test, *corpus.train)}
