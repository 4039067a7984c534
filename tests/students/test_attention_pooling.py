"""Attention pooling against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tfdistil.students.attention_pooling import AttentionPooling

MASK = (np.arange(6) < np.array([6, 1, 4])[:, None]).astype(np.int32)


@pytest.fixture
def x():
    rows = np.random.default_rng(0).normal(size=(3, 6, 5)).astype(np.float32)
    return rows * MASK[..., None]


def make(**options):
    layer = AttentionPooling(seed=1, **options)
    layer.build((None, None, 5))
    return layer


def test_is_a_softmax_over_real_positions(x):
    layer = make()
    w = np.asarray(layer.score.kernel)[0, 0, :, 0]
    for row, found in enumerate(np.asarray(layer(x, MASK))):
        real = x[row][MASK[row] == 1]
        weights = np.exp(real @ w)
        np.testing.assert_allclose(found, weights @ real / weights.sum(), atol=1e-5)


@pytest.mark.parametrize("quantize", [None, "keras"])
def test_padding_changes_nothing(x, quantize):
    layer = make(quantize=quantize)
    layer(x, MASK, training=True)
    wide = layer(np.pad(x, ((0, 0), (0, 30), (0, 0))), np.pad(MASK, ((0, 0), (0, 30))))
    np.testing.assert_allclose(wide, layer(x, MASK), atol=1e-6)


@pytest.mark.parametrize("quantize", [None, "keras"])
@pytest.mark.parametrize("level", [-40.0, 0.0, 40.0])
def test_padding_counts_from_the_scores_of_its_text(x, quantize, level):
    """Wherever they are: no score is so low that padding is above it."""
    layer = make(quantize=quantize)
    x[..., 0] = MASK
    layer.score.kernel.assign(np.eye(5)[None, None, :, :1] * level)
    layer(x, MASK, training=True)
    mean = x.sum(1) / MASK.sum(1, keepdims=True)  # all scores are `level`
    np.testing.assert_allclose(layer(x, MASK), mean, atol=1e-5 if quantize is None else 0.05)


def test_training_without_padding_leaves_padding_out(x):
    layer = make(quantize="keras")
    layer(x, np.ones_like(MASK), training=True)
    layer.output_range.low.assign(-3.0)
    layer.output_range.high.assign(3.0)
    np.testing.assert_allclose(layer(x[1:2], MASK[1:2])[0], x[1, 0], atol=0.05)


def test_gradients_are_those_of_the_softmax(x):
    """The highest score counts as a constant, which changes nothing: a softmax ignores shifts."""
    layer, w = make(), tf.Variable(np.zeros((5, 1), np.float32))
    w.assign(np.asarray(layer.score.kernel)[0, 0])
    pull = tf.constant(np.random.default_rng(1).normal(size=(3, 5)), tf.float32)
    with tf.GradientTape() as tape:
        found = tf.reduce_sum(layer(x, MASK) * pull)
    with tf.GradientTape() as plain:
        scores = (x @ w)[..., 0] + np.where(MASK == 1, 0, -1e9).astype(np.float32)
        pooled = tf.einsum("bt,btc->bc", tf.nn.softmax(scores), x)
        expected = tf.reduce_sum(pooled * pull)
    np.testing.assert_allclose(
        tf.reshape(tape.gradient(found, layer.score.kernel.value), (5, 1)),
        plain.gradient(expected, w),
        atol=1e-5,
    )


def test_config_round_trip():
    layer = AttentionPooling(0.1, "keras", 3, name="x")
    assert AttentionPooling.from_config(layer.get_config()).get_config() == layer.get_config()
