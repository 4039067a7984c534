"""Attention pooling against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

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


def test_the_range_of_scores_holds_that_of_padding(x):
    """Also where training saw no padding."""
    layer = make(quantize="keras")
    full = np.ones_like(MASK)
    layer(x, full, training=True)
    assert float(layer.score_range.low) == -20.0
    layer.output_range.low.assign(-3.0)
    layer.output_range.high.assign(3.0)
    np.testing.assert_allclose(layer(x[1:2], MASK[1:2])[0], x[1, 0], atol=0.05)


def test_config_round_trip():
    layer = AttentionPooling(0.1, "keras", 3, name="x")
    assert AttentionPooling.from_config(layer.get_config()).get_config() == layer.get_config()
