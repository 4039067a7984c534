"""Sentences that losses are taken on: of every file and language, and never trained on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tfdistil.corpus.held_out import mlm_sets, sets_of
from tfdistil.corpus.loading import Corpus, load_corpus
from tfdistil.data.splits import sentence_key
from tfdistil.errors import RecipeError
from tfdistil.recipe.loading import parse_recipe
from tfdistil.recipe.recipe import Recipe

SIZES = {"da": 30, "sv": 40, "id": 50, "en": 80}


def write(folder: Path, transfer: dict[str, int]) -> dict:
    """``data:`` of a recipe with unlabelled files one after another, each of a language."""
    train = "".join(f"go O\nto O\n{city}{n} B-LOC\n\n" for city in ("rome", "oslo") for n in "123")
    (folder / "train.conll").write_text(train, encoding="utf-8")
    (folder / "dev.conll").write_text("go O\nto O\nbern B-LOC\n", encoding="utf-8")
    for language, size in transfer.items():
        text = "".join(f"{language} text number {n}\n" for n in range(size))
        (folder / f"{language}.txt").write_text(text, encoding="utf-8")
    return {
        "train": [{"path": "train.conll", "language": "en"}],
        "dev": [{"path": "dev.conll", "language": "en"}],
        "transfer": [{"path": f"{name}.txt", "language": name} for name in transfer],
    }


def open_recipe(folder: Path, transfer: dict[str, int], seed=13, **stop) -> tuple[Recipe, Corpus]:
    stop = {"monitor": "loss", "on": "transfer_held_out", **stop}
    recipe = parse_recipe(
        {
            "task": "tags",
            "data": write(folder, transfer),
            "models": {"teacher": {"scratch": {}}, "student": {"kind": "bilstm"}},
            "distill": [{"name": "states", "terms": [{"loss": "logit_mse"}], "stop": stop}],
            "seed": seed,
        }
    )
    return recipe, load_corpus(recipe, folder)


def languages(examples) -> Counter[str]:
    return Counter(example.language for example in examples)


def test_transfer_text_is_held_out_of_every_language(tmp_path):
    recipe, corpus = open_recipe(tmp_path, SIZES)
    sets = sets_of(recipe, corpus)
    assert languages(sets["transfer_held_out"]) == {"da": 3, "sv": 4, "id": 5, "en": 8}
    assert languages(sets["transfer"]) == {"da": 27, "sv": 36, "id": 45, "en": 72}
    assert {sentence_key(e) for e in sets["transfer"]}.isdisjoint(
        sentence_key(e) for e in sets["transfer_held_out"]
    )
    assert sets_of(recipe, corpus) == sets
    again = recipe.model_copy(update={"seed": 14})
    assert sets_of(again, corpus)["transfer_held_out"] != sets["transfer_held_out"]


def test_nothing_is_held_out_where_no_stage_needs_it(tmp_path):
    recipe, corpus = open_recipe(tmp_path, SIZES, on="dev")
    assert sets_of(recipe, corpus) == corpus.sets()


@pytest.mark.parametrize("size", [2, 9])
def test_a_few_transfer_sentences_are_enough(tmp_path, size):
    sets = sets_of(*open_recipe(tmp_path, {"da": size}))
    assert (len(sets["transfer"]), len(sets["transfer_held_out"])) == (size - 1, 1)


@pytest.mark.parametrize("size", [0, 1])
def test_too_little_transfer_text_names_the_stage_and_the_way_out(tmp_path, size):
    transfer = {"da": 1} if size else {}
    with pytest.raises(RecipeError) as caught:
        sets_of(*open_recipe(tmp_path, transfer))
    message = str(caught.value)
    assert "stage 'states'" in message
    assert "data.transfer" in message
    assert "distill.states.stop.on=dev" in message


def test_masked_language_training_holds_out_of_every_language(tmp_path):
    _, corpus = open_recipe(tmp_path, {name: 4 * size for name, size in SIZES.items()})
    sets = mlm_sets(corpus, 13)
    held = sets["mlm_held_out"]
    assert len(held) == round(0.05 * (800 + 6))
    assert {name: round(n / 2) for name, n in languages(held).items()} == {
        "da": 3,
        "sv": 4,
        "id": 5,
        "en": 8,
    }
    assert all(e.tags is None and e.label is None for part in sets.values() for e in part)
    assert len(sets["mlm"]) + len(held) == 806
