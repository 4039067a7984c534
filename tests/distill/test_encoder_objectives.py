"""Objectives between encoders, against numpy; those that average over pieces: test_objectives."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tfdistil.distill.encoder_objectives import (
    attention_mse,
    hidden_cosine,
    softened_cross_entropy,
    states_mse,
)
from tfdistil.distill.objectives import find_objective

HEADS, PIECES, WIDTH = 2, 5, 3
LENGTHS = (5, 3, 1)
MASK = (np.arange(PIECES) < np.array(LENGTHS)[:, None]).astype(np.int32)
SHAPES = {
    "attention_mse": (len(LENGTHS), HEADS, PIECES, PIECES),
    "states_mse": (len(LENGTHS), PIECES, WIDTH),
}
FUNCTIONS = {"attention_mse": attention_mse, "states_mse": states_mse}
each = pytest.mark.parametrize("name", SHAPES)


def layers(name, count, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=SHAPES[name]).astype(np.float32) for _ in range(count)]


def real(name, layer):
    """What is not padding, one text after the other, in a row."""
    rows = zip(layer, LENGTHS, strict=True)
    if name == "attention_mse":
        return np.concatenate([row[:, :n, :n].ravel() for row, n in rows])
    return np.concatenate([row[:n].ravel() for row, n in rows])


def by_hand(name, student, lower, upper):
    """Equations 4 and 5, summed over layers."""
    return sum(
        ((real(name, (a + b) / 2) - real(name, s)) ** 2).mean()
        for s, a, b in zip(student, lower, upper, strict=True)
    )


@each
@pytest.mark.parametrize("rows", [1, 3])
def test_a_layer_learns_the_mean_of_two(name, rows):
    student, lower, upper = (layers(name, rows, seed) for seed in range(3))
    mine = student if rows > 1 else student[0]  # as a term hands over one signal
    value = FUNCTIONS[name](mine, [*lower, *upper], MASK)
    assert float(value) == pytest.approx(by_hand(name, student, lower, upper), rel=1e-5)
    value = FUNCTIONS[name](mine, [*student, *student], MASK)
    assert float(value) == 0


@each
def test_padding_changes_nothing_and_gets_no_gradient(name):
    (student,), teacher = layers(name, 1), layers(name, 2, seed=1)
    padding = MASK == 0
    if name == "attention_mse":
        padding = (MASK[:, :, None] * MASK[:, None]) == 0
        padding = np.broadcast_to(padding[:, None], SHAPES[name])
    with tf.GradientTape() as tape:
        tape.watch(variable := tf.constant(student))
        value = FUNCTIONS[name](variable, teacher, MASK)
    gradient = tape.gradient(value, variable).numpy()
    assert not gradient[padding].any()
    assert gradient[~padding].all()
    student[padding] = 1e3
    assert float(FUNCTIONS[name](student, teacher, MASK)) == pytest.approx(float(value), rel=1e-6)


@each
def test_padding_counts_where_it_is_asked_for(name):
    """Equation 6 as it stands: a mean over all elements."""
    (student,), (lower, upper) = layers(name, 1), layers(name, 2, seed=1)
    value = FUNCTIONS[name](student, [lower, upper], MASK, padding=True)
    assert float(value) == pytest.approx((((lower + upper) / 2 - student) ** 2).mean(), rel=1e-5)


@each
@pytest.mark.parametrize("padding", [False, True])
def test_means_of_batches_join_into_that_of_all(name, padding):
    (student,), teacher = layers(name, 1), layers(name, 2, seed=1)
    count, total, of_all = find_objective(name).count, 0.0, 0.0
    for rows in (slice(0, 1), slice(1, None)):
        part = FUNCTIONS[name](
            student[rows], [layer[rows] for layer in teacher], MASK[rows], padding=padding
        )
        number = float(count(mask=MASK[rows], student=None, teacher=None, padding=padding))
        total, of_all = total + number, of_all + number * float(part)
    whole = float(FUNCTIONS[name](student, teacher, MASK, padding=padding))
    assert of_all / total == pytest.approx(whole, rel=1e-5)


@pytest.mark.parametrize("function", [softened_cross_entropy, hidden_cosine])
def test_with_a_target_only_its_pieces_count(function):
    rng = np.random.default_rng(3)
    student, teacher = rng.normal(size=(2, len(LENGTHS), PIECES, WIDTH)).astype(np.float32)
    target = np.where(rng.random(MASK.shape) < 0.5, 1, -100)
    chosen = MASK * (target >= 0)
    assert 0 < chosen.sum() < MASK.sum()
    value = float(function(student, teacher, MASK, target))
    assert value == float(function(student, teacher, chosen))
    assert value != float(function(student, teacher, MASK))


def test_the_gradient_of_softened_targets_does_not_shrink_with_the_temperature():
    """Hinton et al. 2015, Section 2.1: for high τ it is (student - teacher) / K, logits centred."""
    rng = np.random.default_rng(0)
    student, teacher = rng.normal(size=(2, 1, 1, 6)).astype(np.float32)
    student, teacher = student - student.mean(), teacher - teacher.mean()
    with tf.GradientTape() as tape:
        tape.watch(variable := tf.constant(student))
        value = softened_cross_entropy(variable, teacher, np.ones((1, 1), int), temperature=100.0)
    gradient = tape.gradient(value, variable).numpy()
    np.testing.assert_allclose(gradient, (student - teacher) / 6, rtol=0.05, atol=3e-3)


def test_states_of_nothing_have_a_gradient_that_is_a_number():
    zero = tf.zeros((1, 2, WIDTH))
    with tf.GradientTape() as tape:
        tape.watch(zero)
        value = hidden_cosine(zero, tf.ones((1, 2, WIDTH)), np.ones((1, 2), int))
    assert float(value) == 1
    assert np.isfinite(tape.gradient(value, zero).numpy()).all()
