"""Masked batch normalization against NumPy and against Keras' own layer."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfdistil.students.masked_batch_norm import MaskedBatchNorm

MASK = (np.arange(6) < np.array([6, 1, 4])[:, None]).astype(np.float32)


@pytest.fixture
def x():
    x = np.random.default_rng(0).normal(3.0, 2.0, size=(3, 6, 4)).astype(np.float32)
    x[MASK == 0] = 1e3
    return x


def make(momentum=0.9):
    layer = MaskedBatchNorm(momentum, name="norm")
    layer.build((None, None, 4))
    rng = np.random.default_rng(1)
    layer.gamma.assign(rng.uniform(0.5, 2.0, 4).astype(np.float32))
    layer.beta.assign(rng.normal(size=4).astype(np.float32))
    return layer


def test_statistics_are_those_of_the_real_positions(x):
    layer = make()
    y = np.asarray(layer(x, MASK[..., None], training=True))
    rows = x[MASK == 1].astype(np.float64)
    mean, variance = rows.mean(0), rows.var(0)
    expected = (rows - mean) / np.sqrt(variance + 1e-3) * np.array(layer.gamma)
    np.testing.assert_allclose(y[MASK == 1], expected + np.array(layer.beta), atol=1e-5)
    np.testing.assert_allclose(layer.statistics.mean, 0.1 * mean, rtol=1e-5)
    np.testing.assert_allclose(layer.statistics.variance, 0.9 + 0.1 * variance, rtol=1e-5)


def test_equals_keras_with_a_mask(x):
    layer, other = make(), keras.layers.BatchNormalization(momentum=0.9)
    other.build(x.shape)
    other.gamma.assign(layer.gamma)
    other.beta.assign(layer.beta)
    for _ in range(3):
        y = layer(x, MASK[..., None], training=True)
        expected = other(x, mask=tf.constant(MASK == 1), training=True)
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        layer(x, MASK[..., None]), other(x, training=False), rtol=1e-4, atol=1e-4
    )


def test_padding_changes_nothing(x):
    wide = np.pad(x, ((0, 0), (0, 3), (0, 0)), constant_values=-7.0)
    mask = np.pad(MASK, ((0, 0), (0, 3)))[..., None]
    one, other = make(), make()
    y = np.asarray(one(x, MASK[..., None], training=True))
    padded = np.asarray(other(wide, mask, training=True))
    np.testing.assert_allclose(padded[:, :6][MASK == 1], y[MASK == 1], atol=1e-5)
    np.testing.assert_allclose(other.statistics.variance, one.statistics.variance, rtol=1e-5)


def test_frozen_statistics_rest_and_gains_learn(x):
    layer = make()
    layer.statistics.trainable = False
    with tf.GradientTape() as tape:
        y = layer(x, MASK[..., None], training=True)
    np.testing.assert_array_equal(y, layer(x, MASK[..., None], training=False))
    np.testing.assert_array_equal(layer.statistics.mean, np.zeros(4))
    assert [w.name for w in layer.trainable_weights] == ["gamma", "beta"]
    assert all(g is not None for g in tape.gradient(y, [layer.gamma.value, layer.beta.value]))


def test_a_batch_without_real_positions_is_no_division_by_zero(x):
    assert np.isfinite(np.asarray(make()(x, np.zeros((3, 6, 1), np.float32), training=True))).all()


def test_config_round_trip():
    layer = MaskedBatchNorm(0.7, 1e-5, name="n")
    assert MaskedBatchNorm.from_config(layer.get_config()).get_config() == layer.get_config()
