"""Errors of an evaluation: those that are wrong, no more of them than asked for."""

from __future__ import annotations

import pytest

from tfdistil.data.example import Example
from tfdistil.errors import RecipeError
from tfdistil.evaluation.evaluate import errors, evaluate
from tfdistil.tasks import Prediction

EXAMPLES = [Example(("in", "rome"), tags=("O", "B-LOC"), label=label) for label in "abc"]
GUESSES = [
    Prediction(tags=("O", "B-LOC"), label="a"),
    Prediction(tags=("O", "O"), label="b"),
    Prediction(tags=("O", "B-LOC"), label="b"),
]


@pytest.mark.parametrize(("limit", "gold"), [(0, []), (1, ["b"]), (2, ["b", "c"]), (9, ["b", "c"])])
def test_the_first_errors(limit, gold):
    found = errors(EXAMPLES, GUESSES, limit)
    assert [error["gold"][-1] for error in found] == gold


def test_what_the_model_does_not_give_is_no_error():
    tags_only = [Prediction(tags=guess.tags) for guess in GUESSES]
    assert [error["predicted"] for error in errors(EXAMPLES, tags_only)] == [("O", "O")]


def test_fewer_than_no_errors_are_refused(tmp_path):
    with pytest.raises(RecipeError, match="errors to list are 0 or more, got -3"):
        evaluate(tmp_path, errors=-3)
