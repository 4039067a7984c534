"""Fake quantization against integers."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tfdistil.quantization.engines import ENGINES, SIGMOID, TANH, TERNARY, find_engine, untied

ROOT = Path(__file__).parents[2]
PACKAGES = ("tfdistil", "export", "benchmarks")

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


def gated(gates, values):
    """Products of k/256 and n steps in whole steps, halves away from 0."""
    products = gates * values
    return np.sign(products) * ((np.abs(products) + 128) // 256)


@every_engine
def test_no_product_with_a_gate_is_a_tie(name):
    """All 65,536 products of two int8, and their sums with a third one."""
    activation = find_engine(name).activation
    gates, steps = np.arange(256)[:, None], np.arange(-128, 128)
    products = activation((gates * steps / 2**15).astype(np.float32), *untied(*TANH))
    expected = gated(gates, steps)
    np.testing.assert_allclose(np.asarray(products) * 128, expected, atol=2e-3)
    others = (steps * 7 + gates) % 256 - 128
    sums = activation(products + others.astype(np.float32) / 128, *TANH)
    np.testing.assert_array_equal(sums * 128, np.clip(expected + others, -128, 127))


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
    with pytest.raises(ValueError, match="unknown quantization engine 'x'; there are keras, tfmot"):
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


BESIDE_TFMOT = """
import os
import keras, numpy as np, tensorflow as tf
from tfdistil.quantization import find_engine
from tfdistil.students.pqrnn import PqrnnStudent

find_engine("tfmot").activation(np.ones(3, "float32"), -1.0, 1.0)
print(os.environ.get("TF_USE_LEGACY_KERAS"))


class Trap:
    def __getattr__(self, name):
        raise AssertionError(f"tf.keras.{name}")


tf.keras = Trap()
outputs = {"slots": ("word", 5), "intent": ("sequence", 3)}
student = PqrnnStudent(outputs, 32, bottleneck=8, layers=1, state=6, quantize="tfmot", seed=1)
batch = {"fingerprint": np.ones((2, 4, 8), "uint8"), "attention_mask": np.ones((2, 4), "int32")}
with tf.GradientTape() as tape:
    loss = sum(tf.reduce_sum(signal**2) for signal in student(batch, training=True).values())
weights = student.trainable_variables
keras.optimizers.Adam().apply_gradients(zip(tape.gradient(loss, weights), weights))
student.recalibrate([batch])
function, specs = student.export_function(4, 1)
tf.function(function).get_concrete_function(*(tf.TensorSpec(s.shape, s.dtype) for s in specs))
print(all(type(weight).__module__.startswith("keras.") for weight in weights))
"""


def test_tfmot_changes_neither_the_environment_nor_keras():
    """It asks for another Keras, which is then that of ``tf.keras``; nothing here looks at it."""
    environment = {k: v for k, v in os.environ.items() if k != "TF_USE_LEGACY_KERAS"}
    command = [sys.executable, "-c", BESIDE_TFMOT]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["None", "True"]


def inner_keras(source: str) -> list[str]:
    """Where a program uses the Keras inside of TensorFlow, or the one that tfmot needs."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [f"{node.value.id}.{node.attr}"]
        else:
            names = []
        inner = re.compile(r"(tf|tensorflow|tensorflow\.python)\.keras\b|tf_keras\b")
        found += [name for name in names if inner.match(name)]
    return found


@pytest.mark.parametrize(
    "source",
    [
        "tf.keras.layers.Dense(3)",
        "x = tensorflow.keras",
        "import tensorflow.keras as k",
        "from tensorflow import keras",
        "from tensorflow.keras.layers import Dense",
        "from tensorflow.python.keras import backend",
        "import tf_keras",
        "from tf_keras.layers import Dense",
    ],
)
def test_the_inner_keras_is_recognised(source):
    assert inner_keras(source)


def test_no_module_uses_the_inner_keras():
    modules = [path for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    assert len(modules) > 150
    used = {str(path): inner_keras(path.read_text("utf-8")) for path in modules}
    assert {path: names for path, names in used.items() if names} == {}
