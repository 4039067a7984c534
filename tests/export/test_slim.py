"""Slimming keeps what a runtime reads, whatever the graph."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from tests.export.flatbuffers import converted
from tfdistil.exporting.inspect import inspect_model
from tfdistil.exporting.slim import slim

# The converter calibrates with an interpreter that TensorFlow warns of, whichever test asks first.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ROWS = np.random.default_rng(0).normal(size=(8, 6, 4)).astype(np.float32)


@pytest.fixture(scope="module", params=["float", "int8", "loop"])
def flatbuffer(request, tmp_path_factory) -> bytes:
    """As the converter leaves it; ``loop`` has subgraphs and state between steps."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((6, 4), batch_size=1, name="x")
    layer = keras.layers.LSTM(3) if request.param == "loop" else keras.layers.Conv1D(3, 2)
    model = keras.Model(inputs, layer(inputs))
    folder = tmp_path_factory.mktemp(request.param) / "model"
    rows = ROWS if request.param == "int8" else None
    return converted(model, {"online": 1, "again": 1}, folder, rows)


def test_nothing_a_runtime_reads_is_lost(flatbuffer):
    small = slim(flatbuffer)
    assert len(small) < len(flatbuffer)
    before, after = inspect_model(flatbuffer), inspect_model(small)
    assert after.operators == before.operators
    assert after.parameters == before.parameters
    assert after.constants == before.constants
    assert after.min_runtime == before.min_runtime != ""
    one, two = (Interpreter(model_content=content) for content in (flatbuffer, small))
    assert one.get_signature_list() == two.get_signature_list()
    for name in ("online", "again"):
        old, new = one.get_signature_runner(name), two.get_signature_runner(name)
        for row in ROWS[:3]:
            np.testing.assert_array_equal(old(x=row[None])["y"], new(x=row[None])["y"])


def test_every_tensor_finds_its_buffer(flatbuffer):
    small = slim(flatbuffer)
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(small, 0))
    used = {tensor.buffer for graph in tree.subgraphs for tensor in graph.tensors}
    used |= {entry.buffer for entry in tree.metadata}
    assert used | {0} == set(range(len(tree.buffers)))
    assert tree.buffers[0].data is None
    assert not any(tensor.name for graph in tree.subgraphs for tensor in graph.tensors)
    assert slim(small) == small


def test_equal_quantizations_are_written_once(flatbuffer):
    def tables(content: bytes) -> list[tuple[int, tuple]]:
        model = schema.Model.GetRootAs(content, 0)
        found = []
        for at in range(model.SubgraphsLength()):
            graph = model.Subgraphs(at)
            for n in range(graph.TensorsLength()):
                table = graph.Tensors(n).Quantization()
                if table is not None:
                    fields = vars(schema.QuantizationParametersT.InitFromObj(table)).values()
                    plain = tuple(
                        tuple(v.tolist()) if isinstance(v, np.ndarray) else v for v in fields
                    )
                    found.append((table._tab.Pos, plain))
        return found

    before, after = tables(flatbuffer), tables(slim(flatbuffer))
    assert [content for _, content in after] == [content for _, content in before]
    assert len({place for place, _ in after}) == len({content for _, content in after})
