"""What is wrong with models is said before any data is read, by the key that is to be changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tfdistil.errors import RecipeError
from tfdistil.models.checks import check_models
from tfdistil.recipe.loading import parse_recipe

RECIPE = """
task: tags
data: {demo: {kind: tags, languages: [en], train: 20, dev: 5, test: 5, transfer: 5}}
models:
  teacher: {checkpoint: nowhere, TEACHER}
  student: {STUDENT}
distill:
  - name: joint
    terms: [{loss: cross_entropy, stream: train}]
    stop: {updates: 8}
export: {length: 32}
"""
MIXER = "kind: mixer, max_length: 16, hashing: {families: {murmur: 16}}"


def check(student: str, teacher: str = "max_length: 16") -> None:
    text = RECIPE.replace("STUDENT", student).replace("TEACHER", teacher)
    check_models(parse_recipe(YAML(typ="safe").load(text)), Path())


@pytest.mark.parametrize(
    ("student", "teacher", "says"),
    [
        (
            f"{MIXER}, max_positions: 16",
            "max_length: 16",
            r"export\.length is 32, for models\.student: the rows have 32 words and this student",
        ),
        (
            "kind: mixer, hashing: {families: {md5: 16}}",
            "max_length: 16",
            r"models\.student: hashing: unknown hash family 'md5'",
        ),
        (
            "kind: bilstm, hidden_dim: 4, hashing: {capitalization: true}",
            "max_length: 16",
            r"models\.student: hashing needs hashed_dim",
        ),
        (
            f"{MIXER}, max_positions: 32",
            "hashing: {capitalization: true}",
            r"models\.teacher.*hashing needs hashed_dim",
        ),
        (
            f"{MIXER}, max_positions: 32",
            "hashed_dim: 4, hashing: {families: {murmur: 6}}",
            r"models\.teacher: hashing: the hash family 'murmur' has 6 features",
        ),
        (
            "kind: mixer, hashing: {families: {murmur: 4096}, shape: true}",
            "max_length: 16",
            r"models\.student: hashing: .* have 4096 features; expected 4 to 4084 beside the 12",
        ),
    ],
)
def test_what_is_wrong_names_its_key(student, teacher, says):
    with pytest.raises(RecipeError, match=says):
        check(student, teacher)


def test_no_hashes_may_be_said():
    """A variant without hashes leaves their options where they are."""
    hashing = "hashing: {capitalization: true}, hashed_dim: null"
    check(f"{MIXER}, max_positions: 32", hashing)
    check(f"kind: bilstm, hidden_dim: 4, {hashing}")


@pytest.mark.parametrize("words", ["{}", "{init: vectors, vectors: of.nobody}", "{dim: 1024}"])
def test_a_table_of_words_is_checked_without_its_words(words):
    check(f"kind: bilstm, hidden_dim: 4, embedding: {{dim: 4}}, words: {words}")
