"""What is found in graphs with loops, custom operators and the Flex delegate."""

from __future__ import annotations

import warnings

import pytest
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema

from tfdistil.errors import ExportError
from tfdistil.exporting.inspect import inspect_model
from tfdistil.exporting.verify import check_operators

TABLE = tf.reshape(tf.range(40.0), (10, 4))


def graph(function, shape=(1, 4), sets=(), custom=False) -> bytes:
    """A function of one float tensor, converted."""
    module = tf.Module()
    module.call = tf.function(
        function, input_signature=[tf.TensorSpec(shape, tf.float32, name="x")]
    )
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [module.call.get_concrete_function()], module
    )
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, *sets]
    converter.allow_custom_ops = custom
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return converter.convert()


@pytest.fixture(scope="module")
def loop() -> bytes:
    def function(x):
        (y,) = tf.while_loop(lambda v: tf.reduce_sum(v) < 9.0, lambda v: [v + TABLE[:1]], [x])
        return {"y": y}

    return graph(function)


def test_a_loop_is_a_subgraph_of_its_own(loop):
    found = inspect_model(loop)
    assert found.operators["serving_default"]["WHILE"] == 1
    inner = [name for name in found.operators if name != "serving_default"]
    assert len(inner) == 2
    assert all(name.startswith("subgraph ") for name in inner)
    assert any("ADD" in found.operators[name] for name in inner)
    # A comparison of float numbers gives none, and is a float operator all the same.
    assert any("LESS" in found.float_operators[name] for name in inner)
    assert (
        sum(sum(f.values()) for f in found.float_operators.values()) == found.float_operator_count
    )


def test_flex_operators_are_named_and_refused():
    found = inspect_model(
        graph(
            lambda x: {"y": tf.linalg.det(tf.matmul(x, TABLE, transpose_b=True)[:, :1][None])},
            sets=[tf.lite.OpsSet.SELECT_TF_OPS],
        )
    )
    assert found.flex == ("FlexMatrixDeterminant",)
    assert found.custom == ()
    assert found.operators["serving_default"]["custom:FlexMatrixDeterminant"] == 1
    assert found.to_json()["flex"] == 1
    with pytest.raises(ExportError, match="no kernel for: FlexMatrixDeterminant"):
        check_operators(found)


def test_custom_operators_are_named_and_refused():
    found = inspect_model(graph(lambda x: {"y": tf.linalg.det(x[None])}, shape=(3, 3), custom=True))
    assert (found.flex, found.custom) == ((), ("MatrixDeterminant",))
    with pytest.raises(ExportError, match="no kernel for: MatrixDeterminant"):
        check_operators(found)


def test_constants_that_are_no_weights_do_not_count_as_parameters():
    """A table is looked up with a fixed list of rows; the list is no parameter."""
    found = inspect_model(graph(lambda x: {"y": tf.gather(x, [2, 0, 2], axis=1)}))
    assert found.parameters == 0
    assert found.constants["int32"] >= 12


def test_the_oldest_runtime_is_that_of_the_metadata(loop):
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(loop, 0))
    assert inspect_model(loop).min_runtime.count(".") == 2
    import flatbuffers

    tree.metadata = None
    builder = flatbuffers.Builder()
    builder.Finish(tree.Pack(builder), b"TFL3")
    assert inspect_model(bytes(builder.Output())).min_runtime == ""
