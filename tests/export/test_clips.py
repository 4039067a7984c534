"""Clips that int8 keeps by itself go, and nothing else does."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from keras import ops

from tests.export.flatbuffers import converted
from tfdistil.exporting.clips import drop_clips
from tfdistil.exporting.slim import slim

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of the converter itself
ROWS = np.random.default_rng(0).normal(scale=20, size=(16, 6)).astype(np.float32)


def clipped(folder, low, high, after=lambda x: x, rows: np.ndarray | None = ROWS) -> bytes:
    keras.utils.set_random_seed(0)
    inputs = keras.Input((6,), name="x")
    hidden = keras.layers.Dense(4)(inputs)
    model = keras.Model(inputs, after(ops.clip(hidden + 2 * hidden, low, high)))
    return converted(model, {"online": 1, "batch": 4}, folder / "model", rows)


def bounds(content: bytes) -> int:
    """How many MINIMUM and MAXIMUM there are."""
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    wanted = {schema.BuiltinOperator.MINIMUM, schema.BuiltinOperator.MAXIMUM}
    kinds = [max(code.builtinCode, code.deprecatedBuiltinCode) for code in tree.operatorCodes]
    return sum(kinds[o.opcodeIndex] in wanted for g in tree.subgraphs for o in g.operators)


def assert_same_answers(one: bytes, other: bytes) -> None:
    first, second = (Interpreter(model_content=content) for content in (one, other))
    assert first.get_signature_list() == second.get_signature_list()
    for name, count in (("online", 1), ("batch", 4)):
        old, new = first.get_signature_runner(name), second.get_signature_runner(name)
        for at in range(0, len(ROWS), count):
            row = ROWS[at : at + count]
            np.testing.assert_array_equal(old(x=row)["y"], new(x=row)["y"])


AFTER = {
    "inner": lambda x: keras.layers.Dense(3)(ops.tanh(x)),
    "output": lambda x: x,
    "twice": lambda x: ops.concatenate([ops.tanh(x), x], axis=-1),
}


@pytest.mark.parametrize("after", AFTER)
def test_a_clip_at_the_ends_of_int8_goes(tmp_path, after):
    before = clipped(tmp_path, -8.0, 7.9375, AFTER[after])
    small = drop_clips(before)
    assert bounds(before) == 4
    assert bounds(small) == 0
    assert_same_answers(before, small)
    assert_same_answers(before, slim(small))
    assert len(small) < len(before)
    assert drop_clips(small) == small


def test_no_tensor_is_left_that_nothing_names(tmp_path):
    small = drop_clips(clipped(tmp_path, -8.0, 7.9375, AFTER["inner"]))
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(small, 0))
    for graph in tree.subgraphs:
        named = {*map(int, graph.inputs), *map(int, graph.outputs)}
        for operator in graph.operators:
            named |= {*map(int, operator.inputs), *map(int, operator.outputs)}
        assert named - {-1} == set(range(len(graph.tensors)))


def test_float_clips_stay(tmp_path):
    before = clipped(tmp_path, -8.0, 7.9375, rows=None)
    assert bounds(drop_clips(before)) == bounds(before) == 4
    assert_same_answers(before, drop_clips(before))


def test_a_clip_within_the_range_stays(tmp_path):
    """Its constant is no end of int8: of two clips, the inner one has the range of the outer."""

    def after(x):
        return ops.minimum(ops.maximum(x, -1.0), keras.layers.Dense(4)(x))

    before = clipped(tmp_path, -8.0, 7.9375, after)
    small = drop_clips(before)
    assert bounds(small) > 0
    assert_same_answers(before, small)
