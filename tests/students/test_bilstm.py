"""What only the BiLSTM has: dropout of its embeddings apart from that of its states."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.students import BiLSTMStudent


def student(**rates) -> BiLSTMStudent:
    return BiLSTMStudent(20, 6, 5, {"tags": ("word", 4)}, seed=3, **rates)


INPUTS = {"input_ids": np.array([[3, 4, 5, 6]], np.int32)}


def signals(model, training):
    return {name: np.asarray(value) for name, value in model(INPUTS, training=training).items()}


@pytest.mark.parametrize(
    ("rates", "changed"),
    [
        ({"dropout": 0.0}, set()),
        ({"dropout": 0.5, "embedding_dropout": 0.0}, {"labels/tags"}),
        ({"dropout": 0.0, "embedding_dropout": 0.5}, {"hidden", "sentence", "labels/tags"}),
        ({"dropout": 0.5}, {"hidden", "sentence", "labels/tags"}),
    ],
)
def test_each_rate_acts_in_its_place_and_in_training_alone(rates, changed):
    model = student(**rates)
    calm, noisy = signals(model, False), signals(model, True)
    assert {name for name in calm if not np.array_equal(calm[name], noisy[name])} == changed
    for name, value in signals(student(dropout=0.0), False).items():
        np.testing.assert_array_equal(calm[name], value)


def test_embeddings_have_the_rate_of_the_student_unless_they_have_their_own():
    one, other = (
        signals(student(dropout=0.4, **own), True) for own in ({}, {"embedding_dropout": 0.4})
    )
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name])
    assert student(dropout=0.4).get_config()["embedding_dropout"] == 0.4


def test_a_rate_is_below_1():
    with pytest.raises(ValueError, match="embedding_dropout is a number from 0 to below 1"):
        student(embedding_dropout=1.0)
