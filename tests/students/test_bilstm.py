"""What only the BiLSTM has: dropout of its embeddings, and their range in int8 beside hashes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.int8_drift import int8_drift
from tfdistil.exporting.convert import Entry, convert
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


@pytest.mark.slow
def test_int8_keeps_embeddings_that_are_small_beside_hashes():
    """Hashes thirty times as large with rows of the kernels as much smaller: the same logits."""

    def drift(factor: float) -> float:
        model = BiLSTMStudent(
            30, 6, 8, {"tags": ("word", 5)}, hashed_dim=5, features=32, seed=1, dropout=0.0
        )
        rng = np.random.default_rng(0)
        for weight in model.weights:  # as spread out as trained ones
            weight.assign_add(rng.normal(scale=0.3, size=weight.shape).astype(np.float32))
        for weight in model.hashed_words.weights:
            weight.assign(weight * factor)
        for kernel in model.encoder.kernels:
            rows = np.ones((model.read_width, 1), np.float32)
            rows[model.embedding_width :] /= factor
            kernel.assign(kernel * rows)
        mask = (np.arange(12) < rng.integers(3, 13, (32, 1))).astype(np.int32)
        rows = {
            "input_ids": rng.integers(1, 30, mask.shape).astype(np.int32) * mask,
            "attention_mask": mask,
            "fingerprint": rng.integers(0, 256, (*mask.shape, 8)).astype(np.uint8),
        }
        content = convert(model, {"online": Entry(*model.export_function(12, 1))}, "int8", rows)
        return int8_drift(model, "labels", content, rows)["tags"]

    plain, scaled = drift(1.0), drift(30.0)
    assert scaled < 1.5 * plain
