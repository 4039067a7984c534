"""What can be timed, and what it is called with."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema

from tfdistil.benchmarks.model import (
    Shape,
    open_interpreter,
    random_inputs,
    shapes,
    vocabulary_size,
)
from tfdistil.errors import ModelFileError
from tfdistil.exporting.inspect import inspect_model


def convert(function, *specs, types=()) -> bytes:
    module = tf.Module()
    module.call = tf.function(function, input_signature=list(specs))
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [module.call.get_concrete_function()], module
    )
    if types:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.target_spec.supported_types = list(types)
    return converter.convert()


def test_shapes_without_a_second_axis(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(convert(lambda x: {"y": x * 2.0}, tf.TensorSpec((3,), name="x")))
    (shape,) = shapes(open_interpreter(path), path)
    assert (shape.batch, shape.length) == (3, 0)
    assert shape.inputs == {"x": ((3,), np.dtype("float32"))}


def test_an_open_shape_is_refused(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(convert(lambda x: {"y": x * 2.0}, tf.TensorSpec((None, 3), name="x")))
    with pytest.raises(ModelFileError, match="'serving_default' has no static shapes to time"):
        shapes(open_interpreter(path), path)


def test_a_graph_without_signatures_is_refused(tmp_path):
    import flatbuffers

    content = convert(lambda x: {"y": x * 2.0}, tf.TensorSpec((1, 3), name="x"))
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    tree.signatureDefs = None
    builder = flatbuffers.Builder()
    builder.Finish(tree.Pack(builder), b"TFL3")
    path = tmp_path / "m.tflite"
    path.write_bytes(bytes(builder.Output()))
    with pytest.raises(ModelFileError, match="has no signatures"):
        shapes(open_interpreter(path), path)


def test_inputs_by_name_and_type():
    size = (2, 5)
    names = {"attention_mask": "int32", "token_type_ids": "int32", "ids": "uint8", "x": "float32"}
    shape = Shape("online", 2, 5, {name: (size, np.dtype(t)) for name, t in names.items()})
    found = random_inputs(shape, 256, np.random.default_rng(0))
    assert {name: str(array.dtype) for name, array in found.items()} == names
    assert all(array.shape == size for array in found.values())
    assert found["attention_mask"].all()
    assert not found["token_type_ids"].any()
    assert found["ids"].min() >= 1
    assert np.unique(found["x"]).size == 10


@pytest.mark.parametrize("types", [(), (tf.float16,)], ids=["float32", "float16"])
def test_the_vocabulary_is_the_longest_table(types, tmp_path):
    """A float16 table is looked up after it was unpacked."""
    rng = np.random.default_rng(0)
    words, kinds = (tf.constant(rng.normal(size=(n, 32)).astype(np.float32)) for n in (70, 9))

    def function(ids):
        return {"y": tf.gather(words, ids) + tf.gather(kinds, ids % 9)}

    path = tmp_path / "m.tflite"
    path.write_bytes(convert(function, tf.TensorSpec((1, 4), tf.int32, name="ids"), types=types))
    assert ("DEQUANTIZE" in inspect_model(path.read_bytes()).operators["serving_default"]) == (
        types != ()
    )
    assert vocabulary_size(path) == 70


def test_bytes_are_no_vocabulary(tmp_path):
    """A table of all bytes may be longer than a small vocabulary, and ids below it."""
    rng = np.random.default_rng(0)
    words, of_bytes = (tf.constant(rng.normal(size=(n, 4)).astype(np.float32)) for n in (70, 256))

    def function(ids, fingerprint):
        features = tf.gather(of_bytes, tf.cast(fingerprint, tf.int32))
        return {"y": tf.gather(words, ids) + features}

    path = tmp_path / "m.tflite"
    specs = (
        tf.TensorSpec((1, 40), tf.int32, name="ids"),
        tf.TensorSpec((1, 40), tf.uint8, name="fingerprint"),
    )
    path.write_bytes(convert(function, *specs))
    assert vocabulary_size(path) == 70
    (shape,) = shapes(open_interpreter(path), path)
    inputs = random_inputs(shape, 70, rng)
    assert inputs["ids"].max() < 70 < inputs["fingerprint"].max()


def test_a_graph_without_a_table_has_the_least_vocabulary(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(convert(lambda x: {"y": x * 2.0}, tf.TensorSpec((1, 3), name="x")))
    assert vocabulary_size(path) == 2
