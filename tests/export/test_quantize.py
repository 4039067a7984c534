"""The converter's settings for each way to quantize."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tfdistil.exporting.quantize import QUANTIZE, calibration_batches, configure

BUILTINS, INT8 = tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.TFLITE_BUILTINS_INT8


@pytest.fixture
def converter() -> tf.lite.TFLiteConverter:
    function = tf.function(lambda x: x, input_signature=[tf.TensorSpec((1, 2))])
    return tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])


def rows():
    return iter([("online", {"x": np.zeros((1, 2), np.float32)})])


@pytest.mark.parametrize(
    ("quantize", "operators", "optimized", "types", "output"),
    [
        ("int8", [INT8], True, [], tf.int8),
        ("dynamic", [BUILTINS], True, [], tf.float32),
        ("float16", [BUILTINS], True, [tf.float16], tf.float32),
        ("none", [BUILTINS], False, [], tf.float32),
    ],
)
def test_settings(converter, quantize, operators, optimized, types, output):
    """Never an operator set with Flex: what has no kernel must fail the conversion."""
    configure(converter, quantize, rows)
    assert list(converter.target_spec.supported_ops) == operators
    assert bool(converter.optimizations) == optimized
    assert list(converter.target_spec.supported_types) == types
    assert converter.inference_output_type == output
    assert (converter.representative_dataset is rows) == (quantize == "int8")


def test_every_way_is_listed():
    assert QUANTIZE == ("int8", "dynamic", "float16", "none")


def test_more_rows_in_a_batch_than_there_are():
    found = calibration_batches({"x": np.arange(3)[:, None]}, {"batch": 8})
    ((name, inputs),) = found
    assert name == "batch"
    assert inputs["x"].ravel().tolist() == [0, 1, 2, 0, 1, 2, 0, 1]


def test_inputs_stay_in_step():
    ids = np.arange(10).reshape(5, 2)
    for _, inputs in calibration_batches({"a": ids, "b": ids + 100}, {"one": 1, "two": 2}):
        np.testing.assert_array_equal(inputs["a"] + 100, inputs["b"])
