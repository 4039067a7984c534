"""Convolutions over time: NumPy, folding, rounding."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.students.convolution import Linear, NormalizedConvolution, causal_convolution

REAL = (np.arange(6) < np.array([6, 4])[:, None]).astype(np.float32)[..., None]


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(2, 6, 3)).astype(np.float32) * REAL


def spread(layer, seed=1):
    rng = np.random.default_rng(seed)
    for weight in layer.weights:
        if weight.name != "batches":
            weight.assign_add(np.abs(rng.normal(scale=0.3, size=weight.shape)).astype(np.float32))


@pytest.mark.parametrize("taps", [1, 2, 3])
def test_causal_convolution(x, taps):
    kernel = np.random.default_rng(2).normal(size=(1, taps, 3, 5)).astype(np.float32)
    expected = np.zeros((2, 6, 5))
    for t in range(6):
        for i in range(taps):
            if t - taps + 1 + i >= 0:
                expected[:, t] += x[:, t - taps + 1 + i] @ kernel[0, i]
    np.testing.assert_allclose(causal_convolution(x, kernel), expected, atol=1e-5)


@pytest.mark.parametrize("relu", [False, True])
def test_folding_is_the_normalised_convolution(x, relu):
    layer = NormalizedConvolution(5, 2, relu=relu)
    layer.build(x.shape)
    spread(layer)
    raw = causal_convolution(x, np.asarray(layer.kernel))
    expected = np.asarray(layer.norm(raw, REAL))
    np.testing.assert_allclose(
        layer(x, REAL), np.maximum(expected, 0) if relu else expected, atol=1e-5
    )
    # In training with the statistics of the batch.
    expected = np.asarray(layer.norm(raw, REAL, training=True))
    found = layer(x, REAL, training=True)
    np.testing.assert_allclose(found, np.maximum(expected, 0) if relu else expected, atol=1e-5)


def test_a_quantized_one_rounds_the_folded_kernel_per_channel(x):
    layer = NormalizedConvolution(5, 2, quantize="keras")
    layer.build(x.shape)
    spread(layer)
    layer(x, REAL, training=True)  # sets the range
    scale = np.array(layer.norm.gamma) / np.sqrt(np.array(layer.norm.statistics.variance) + 1e-3)
    folded = np.array(layer.kernel, np.float64) * scale
    step = np.abs(folded).max(axis=(0, 1, 2)) / 127
    kernel = np.round(folded / step) * step
    shift = np.array(layer.norm.beta) - np.array(layer.norm.statistics.mean) * scale
    exact = np.asarray(causal_convolution(x.astype(np.float64), kernel)) + shift
    step = (float(layer.range.high) - float(layer.range.low)) / 255
    inside = (exact > float(layer.range.low)) & (exact < float(layer.range.high))
    assert inside[:, :4].mean() > 0.9
    assert np.abs(np.asarray(layer(x, REAL)) - exact)[inside].max() < 0.51 * step


def test_rounding_does_not_depend_on_the_scale_of_a_channel(x):
    """Why no correction for jittering statistics of batches is needed."""
    layer = Linear(5, bias=False, quantize="keras")
    layer.build(x.shape)
    scale = np.array([0.01, 1.0, 7.0, 300.0, 0.5], np.float32)
    rounded = np.asarray(layer._rounding.kernel(np.asarray(layer.kernel)))
    np.testing.assert_allclose(
        layer._rounding.kernel(np.asarray(layer.kernel) * scale), rounded * scale, rtol=1e-5
    )


@pytest.mark.parametrize("bias", [True, False])
def test_linear(x, bias):
    layer = Linear(4, bias=bias, l2=0.5, seed=2)
    layer.build(x.shape)
    spread(layer)
    kernel = np.asarray(layer.kernel)[0, 0]
    expected = x @ kernel + (np.asarray(layer.bias) if bias else 0)
    np.testing.assert_allclose(layer(x), expected, atol=1e-5)
    np.testing.assert_allclose(sum(layer.losses), 0.5 * (kernel**2).sum(), rtol=1e-5)


@pytest.mark.parametrize("kind", [Linear, NormalizedConvolution])
def test_config_round_trip(kind):
    layer = kind(3, l2=0.1, quantize="keras", seed=4, name="x")
    assert kind.from_config(layer.get_config()).get_config() == layer.get_config()
