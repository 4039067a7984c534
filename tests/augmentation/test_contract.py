"""What holds for every augmentation, and for a recipe that names several."""

from __future__ import annotations

import pytest

from tests.augmentation.conftest import TRAIN
from tfdistil.augmentation import augment
from tfdistil.corpus.loading import load_corpus
from tfdistil.errors import DataError, RecipeError
from tfdistil.recipe.loading import override, parse_recipe


def test_is_deterministic_in_the_seed(make, kind):
    assert make(kind, count=9) == make(kind, count=9)


def test_makes_new_sentences_without_labels(make, kind):
    made = make(kind)
    words = [example.words for example in made]
    assert made
    assert len(set(words)) == len(words)
    assert not set(words) & {example.words for example in TRAIN}
    assert {(e.tags, e.label, e.text, e.offsets) for e in made} == {(None,) * 4}
    assert {e.language for e in made} <= {"en", "it"}


def test_makes_no_more_than_asked_for(make, kind):
    assert 1 <= len(make(kind, count=9)) <= 9


def test_goes_on_from_sentences_without_labels(make, kind):
    first = make(kind)
    assert all(e.words not in {e.words for e in first} for e in make(kind, [*TRAIN, *first]))


def test_an_unknown_option_says_which_there_are(make, kind):
    with pytest.raises(DataError, match=f"{kind} has no option colour; it has [a-z]+"):
        make(kind, colour="red")


def test_an_option_of_the_wrong_kind_says_what_is_expected(make, kind):
    option = "beams" if kind == "pivoting" else "share"
    expected = "int" if kind == "pivoting" else "float"
    with pytest.raises(DataError, match=f"{kind}: option '{option}' is 'a', expected {expected}"):
        make(kind, **{option: "a"})


def test_an_unknown_kind_says_which_there_are():
    with pytest.raises(DataError, match="unknown augmentation 'magic'; there are pivoting, slot_"):
        augment("magic", TRAIN, 5, seed=1)


def recipe(augmentations):
    demo = {"kind": "intent_slots", "languages": ["en"]}
    return {
        "task": "intent_slots",
        "data": {
            "demo": {**demo, "train": 200, "dev": 30, "test": 30, "transfer": 0},
            "augment": augmentations,
        },
        "models": {"teacher": {"checkpoint": "x"}, "student": {"kind": "bilstm"}},
        "distill": [{"name": "one", "terms": [{"loss": "logit_mse", "stream": "augmented"}]}],
    }


def test_a_recipe_makes_the_set_and_keeps_dev_and_test_out_of_it():
    tree = recipe({"kind": "slot_substitution", "times": 3, "share": 1.0})
    corpus = load_corpus(parse_recipe(tree))
    made = {e.words for e in corpus.augmented}
    assert 200 < len(made) <= 600
    assert corpus.counts["augmented"] == len(made) == len(corpus.sets()["augmented"])
    assert not made & {e.words for e in (*corpus.dev, *corpus.test, *corpus.train)}


def test_augmentations_in_a_row_go_on_from_each_other(checkpoint):
    one = {"kind": "slot_substitution", "times": 1}
    two = {"kind": "word_neighbours", "times": 2, "share": 0.9}
    tree = recipe([one, two])
    tree["models"]["teacher"]["checkpoint"] = str(checkpoint)
    alone = load_corpus(parse_recipe(recipe(one)))
    both = load_corpus(parse_recipe(tree))
    made = [e.words for e in both.augmented]
    assert made[: len(alone.augmented)] == [e.words for e in alone.augmented]
    assert len(set(made)) == len(made) > len(alone.augmented)


def test_one_of_several_is_addressed_by_its_kind():
    tree = recipe([{"kind": "slot_substitution", "times": 1}])
    override(tree, ["data.augment.slot_substitution.times=3"])
    assert parse_recipe(tree).data.augment[0].times == 3
    assert parse_recipe(recipe([])).data.augment == []
    assert parse_recipe(recipe(None)).data.augment == []
    with pytest.raises(RecipeError, match="augment"):
        parse_recipe(recipe("slot_substitution"))
