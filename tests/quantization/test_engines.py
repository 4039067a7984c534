"""Fake quantization against integers."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tfdistil.quantization.engines import ENGINES, SIGMOID, TANH, TERNARY, find_engine

every_engine = pytest.mark.parametrize("name", ENGINES)


def through_int8(x, low, high):
    """Quantized to int8 with a zero point, and back."""
    scale = (high - low) / 255
    zero = round(-128 - low / scale)
    return (np.clip(np.round(x / scale) + zero, -128, 127) - zero) * scale


@every_engine
@pytest.mark.parametrize(("low", "high"), [(-1.0, 3.0), (0.0, 6.0), (-0.3, 0.2), SIGMOID, TANH])
def test_activations_are_what_an_int8_can_be(name, low, high):
    x = np.random.default_rng(0).uniform(2 * low - 0.1, 2 * high, 3000).astype(np.float32)
    found = np.asarray(find_engine(name).activation(x, low, high))
    expected = through_int8(x.astype(np.float64), low, high)
    step = (high - low) / 255
    # Float32 may see the other side of a tie.
    assert (np.abs(found - expected) > 1e-3 * step).mean() < 0.002
    assert found[np.abs(x).argmin()] == pytest.approx(0, abs=step)
    assert 0.0 in find_engine(name).activation(np.zeros(1, np.float32), low, high)


@every_engine
def test_whole_numbers_are_exact(name):
    x = np.arange(-128, 128).astype(np.float32)
    np.testing.assert_array_equal(find_engine(name).activation(x, *TERNARY), x)


@every_engine
@pytest.mark.parametrize("per_channel", [True, False])
def test_kernels_are_symmetric(name, per_channel):
    w = np.random.default_rng(1).normal(size=(1, 2, 7, 4)).astype(np.float32)
    w *= np.array([1.0, 10.0, 0.01, 0.0], np.float32)
    limit = np.abs(w).max(axis=(0, 1, 2)) if per_channel else np.abs(w).max()
    step = np.maximum(limit, 1e-6) / 127
    found = np.asarray(find_engine(name).kernel(w, per_channel))
    np.testing.assert_allclose(found, np.round(w / step) * step, atol=1e-6)
    np.testing.assert_array_equal(find_engine(name).kernel(-w, per_channel), -found)


@every_engine
def test_gradients_pass_inside_of_the_range(name):
    x = tf.constant([-2.0, -0.5, 0.2, 0.9, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = find_engine(name).activation(x, -1.0, 1.0)
    np.testing.assert_array_equal(tape.gradient(y, x), [0, 1, 1, 1, 0])
    w = tf.constant(np.random.default_rng(1).normal(size=(1, 1, 7, 4)).astype(np.float32))
    with tf.GradientTape() as tape:
        tape.watch(w)
        y = find_engine(name).kernel(w)
    np.testing.assert_array_equal(tape.gradient(y, w), np.ones(w.shape))


def test_no_engine_is_float_arithmetic():
    engine, x = find_engine(None), np.ones(3)
    assert not engine.quantizes
    assert engine.activation(x, -1, 1) is x
    assert engine.kernel(x) is x
    with pytest.raises(
        ValueError, match="unknown quantization engine 'x'; use keras, tfmot, or None"
    ):
        find_engine("x")


@pytest.mark.parametrize("per_channel", [True, False])
def test_engines_agree_to_the_bit(per_channel):
    rng = np.random.default_rng(4)
    keras_engine, tfmot = find_engine("keras"), find_engine("tfmot")
    x = rng.normal(size=(2, 5, 7, 4)).astype(np.float32)
    np.testing.assert_array_equal(keras_engine.kernel(x, per_channel), tfmot.kernel(x, per_channel))
    np.testing.assert_array_equal(
        keras_engine.activation(x, -1.3, 2.1), tfmot.activation(x, -1.3, 2.1)
    )


def test_tfmot_leaves_the_environment_as_it_is():
    code = (
        "import os, numpy; from tfdistil.quantization import find_engine;"
        "find_engine('tfmot').activation(numpy.ones(3, 'float32'), -1.0, 1.0);"
        "print(os.environ.get('TF_USE_LEGACY_KERAS'))"
    )
    environment = {k: v for k, v in os.environ.items() if k != "TF_USE_LEGACY_KERAS"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.split() == ["None"]
