"""Products without a bias get zeros that change nothing; all others stay as they are."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from tests.export.flatbuffers import converted
from tfdistil.exporting.biases import add_biases

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of the converter itself
ROWS = np.random.default_rng(0).normal(size=(16, 5, 4)).astype(np.float32)


@pytest.fixture(scope="module", params=["float", "int8"])
def flatbuffer(request, tmp_path_factory) -> bytes:
    """Two entry points to a recurrence of five steps, a layer without a bias and one with."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((5, 4), name="x")
    states = keras.layers.LSTM(3, unroll=True)(inputs)
    hidden = keras.layers.Dense(3, "tanh", use_bias=False)(states)
    model = keras.Model(inputs, keras.layers.Dense(2, bias_initializer="ones")(hidden))
    folder = tmp_path_factory.mktemp(request.param) / "model"
    rows = ROWS if request.param == "int8" else None
    return converted(model, {"online": 1, "batch": 4}, folder, rows)


def biases(content: bytes) -> list[np.ndarray | None]:
    """Of every FULLY_CONNECTED, in units of its input times its weights where it is int8."""
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    found = []
    for graph in tree.subgraphs:
        for operator in graph.operators:
            kind = tree.operatorCodes[operator.opcodeIndex].builtinCode
            if kind == schema.BuiltinOperator.FULLY_CONNECTED:
                tensors = [graph.tensors[at] if at >= 0 else None for at in operator.inputs]
                if len(tensors) < 3 or tensors[2] is None:
                    found.append(None)
                    continue
                x, weights, bias = tensors
                values = np.frombuffer(bytes(tree.buffers[bias.buffer].data), np.int32)
                assert list(bias.shape) == [len(values)] == [weights.shape[0]]
                if x.type == schema.TensorType.INT8:
                    expected = np.float32(x.quantization.scale[0]) * weights.quantization.scale
                    np.testing.assert_allclose(bias.quantization.scale, expected, rtol=1e-6)
                    assert len(bias.quantization.zeroPoint) == len(expected)
                found.append(values)
    return found


def test_every_int8_product_has_a_bias_and_trained_ones_are_kept(flatbuffer, request):
    before, after = biases(flatbuffer), biases(add_biases(flatbuffer))
    assert any(values is None for values in before)
    if "float" in request.node.name:
        assert [v is None for v in after] == [v is None for v in before]
        return
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        if old is None:
            assert not new.any()
        else:
            np.testing.assert_array_equal(old, new)
    assert any(old is not None and old.any() for old in before)


def test_no_answer_changes(flatbuffer):
    one, two = (
        Interpreter(model_content=content) for content in (flatbuffer, add_biases(flatbuffer))
    )
    assert one.get_signature_list() == two.get_signature_list()
    for name, rows in (("online", 1), ("batch", 4)):
        old, new = one.get_signature_runner(name), two.get_signature_runner(name)
        for at in range(0, 16, 4):
            x = ROWS[at : at + rows]
            np.testing.assert_array_equal(old(x=x)["y"], new(x=x)["y"])


def test_zeros_are_shared_and_added_once(flatbuffer, request):
    given = add_biases(flatbuffer)
    assert add_biases(given) == given
    if "int8" in request.node.name:
        buffers = schema.Model.GetRootAs(given, 0).BuffersLength()
        assert buffers - schema.Model.GetRootAs(flatbuffer, 0).BuffersLength() == 2  # 12 and 3 long
