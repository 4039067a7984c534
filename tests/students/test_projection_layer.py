"""The projection in tf.data: the featurizer's bytes, padding, saving."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from tfdistil.students.projection_layer import ProjectionLayer
from tfdistil.text.projection import (
    ProjectionFeaturizer,
    ProjectionSpec,
    expand,
    fingerprints,
    ternary_table,
)
from tfdistil.text.words import WordSplitter

SPEC = ProjectionSpec((("murmur", 24), ("ngram", 8)), "paper", eos=True)
TEXTS = ["Play some jazz!", "", "東京へ行く", "one two three four five six seven eight nine"]
LENGTH = 7


def expected(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    featurizer = ProjectionFeaturizer(SPEC, LENGTH)
    rows = np.full((len(texts), LENGTH, SPEC.token_bytes), 0x55, np.uint8)
    mask = np.zeros((len(texts), LENGTH), np.int32)
    for at, text in enumerate(texts):
        words = [word for word, _, _ in WordSplitter().split(text)]
        window = featurizer.encode(words[: LENGTH - 1])[0]
        rows[at, : window.length] = window.inputs["fingerprint"]
        mask[at, : window.length] = 1
    return rows, mask


@pytest.fixture
def layer() -> ProjectionLayer:
    return ProjectionLayer(SPEC, LENGTH)


def check(found, texts):
    rows, mask = expected(texts)
    np.testing.assert_array_equal(found["fingerprint"], rows)
    np.testing.assert_array_equal(found["attention_mask"], mask)
    assert (found["fingerprint"].dtype, found["attention_mask"].dtype) == (tf.uint8, tf.int32)


def test_bytes_are_the_featurizers(layer):
    check(layer(tf.constant(TEXTS)), TEXTS)


def test_in_a_dataset_with_known_shapes(layer):
    batches = tf.data.Dataset.from_tensor_slices(TEXTS).batch(2, drop_remainder=True).map(layer)
    shape = batches.element_spec["fingerprint"].shape
    assert shape.as_list() == [2, LENGTH, SPEC.token_bytes]
    for at, found in enumerate(batches):
        check(found, TEXTS[2 * at : 2 * at + 2])


def test_broken_utf_8_is_replaced(layer):
    check(
        layer(tf.constant([b"ab\xff\xe6\x9d c", b"\xed\xa0\x80"])),
        ["ab\ufffd\ufffd c", "\ufffd" * 3],
    )


def test_features_are_looked_up(layer):
    found = layer(tf.constant(TEXTS))["fingerprint"]
    features = tf.gather(tf.constant(ternary_table("paper")), tf.cast(found, tf.int32))
    assert features.shape == (4, LENGTH, SPEC.token_bytes, 4)
    assert not features.numpy()[found.numpy() == 0x55].any()


def test_config_round_trip(layer):
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert isinstance(again, ProjectionLayer)
    assert again.get_config() == layer.get_config()
    check(again(tf.constant(TEXTS)), TEXTS)
    assert layer.weights == []


@pytest.mark.parametrize("map_name", ["operator", "paper"])
def test_a_converted_graph_expands_the_bytes(map_name, tmp_path):
    """One GATHER on the stock runtime has the features that NumPy has."""
    spec = ProjectionSpec((("murmur", 64),), map_name)
    given = fingerprints(["play", "some", "jazz"], spec)[None]

    @tf.function(input_signature=[tf.TensorSpec(given.shape, tf.uint8, name="fingerprint")])
    def serve(fingerprint):
        table = tf.constant(ternary_table(map_name))
        features = tf.gather(table, tf.cast(fingerprint, tf.int32))
        return {"features": tf.reshape(features, (1, 3, spec.features))}

    module = tf.Module()
    module.serve = serve
    tf.saved_model.save(module, tmp_path, signatures={"serve": serve})
    converter = tf.lite.TFLiteConverter.from_saved_model(str(tmp_path))
    interpreter = Interpreter(model_content=converter.convert())
    assert "GATHER" in {op["op_name"] for op in interpreter._get_ops_details()}
    found = interpreter.get_signature_runner("serve")(fingerprint=given)
    np.testing.assert_array_equal(found["features"], expand(given, map_name))
