"""Graphs that no converter writes: refused before the interpreter's native code sees them."""

from __future__ import annotations

import struct

import pytest
from ai_edge_litert import schema_py_generated as schema

from tests.fuzz.mutated_graphs import Field, fields
from tfdistil.errors import ModelFileError
from tfdistil.runtime.check_graph import check_graph
from tfdistil.runtime.flatbuffer import DamagedFlatbuffer, Flatbuffer
from tfdistil.runtime.operator_rules import RULES
from tfdistil.runtime.tflite import ELEMENT_BITS, OPERATORS, read_model


def test_names_are_those_of_the_schema():
    codes = {name: code for name, code in vars(schema.BuiltinOperator).items() if name.isupper()}
    assert codes == {name: code for code, name in enumerate(OPERATORS)}
    types = {name: code for name, code in vars(schema.TensorType).items() if name.isupper()}
    assert types == {name.upper(): code for code, name in enumerate(ELEMENT_BITS)}
    assert {*RULES} <= {*OPERATORS}


def test_options_of_rules_are_those_of_the_schema():
    for name, options in {
        "SPLIT": "SplitOptions",
        "UNPACK": "UnpackOptions",
        "CONV_2D": "Conv2DOptions",
        "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
        "AVERAGE_POOL_2D": "Pool2DOptions",
        "MAX_POOL_2D": "Pool2DOptions",
        "FULLY_CONNECTED": "FullyConnectedOptions",
        "BATCH_MATMUL": "BatchMatMulOptions",
    }.items():
        assert RULES[name].options == getattr(schema.BuiltinOptions, options)


def test_what_is_read_is_what_the_schemas_own_code_reads(tags_int8):
    model = read_model(tags_int8.flatbuffer)
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(tags_int8.flatbuffer, 0))
    assert len(model.subgraphs) == len(tree.subgraphs)
    for graph, other in zip(model.subgraphs, tree.subgraphs, strict=True):
        assert graph.inputs == tuple(other.inputs)
        assert graph.outputs == tuple(other.outputs)
        for operator, one in zip(graph.operators, other.operators, strict=True):
            code = tree.operatorCodes[one.opcodeIndex]
            assert OPERATORS.index(operator.name) == code.builtinCode
            assert (operator.inputs, operator.outputs) == (tuple(one.inputs), tuple(one.outputs))
        for tensor, one in zip(graph.tensors, other.tensors, strict=True):
            assert tensor.shape == (() if one.shape is None else tuple(one.shape))
            assert tensor.type.upper() == [*ELEMENT_BITS][one.type].upper()
            if one.quantization is not None and one.quantization.scale is not None:
                assert tensor.quantization.scales == tuple(one.quantization.scale)
                assert tensor.quantization.zero_points == tuple(one.quantization.zeroPoint)
    assert [bytes(b) for b in model.buffers] == [
        b"" if b.data is None else b.data.tobytes() for b in tree.buffers
    ]
    found = {s.key: (dict(s.inputs), dict(s.outputs)) for s in model.signatures}
    for one in tree.signatureDefs:
        sides = (
            {m.name.decode(): m.tensorIndex for m in side} for side in (one.inputs, one.outputs)
        )
        assert found[one.signatureKey.decode()] == tuple(sides)
    check_graph(model)


def patched(model: bytes, field: Field, letter: str, value: float, element: int = 0) -> bytes:
    """The model with another number, in a field or in an element of its vector."""
    damaged = bytearray(model)
    at = field.place
    if field.kind.startswith("["):
        at += struct.unpack_from("<I", model, at)[0] + 4 + struct.calcsize(letter) * element
    struct.pack_into(f"<{letter}", damaged, at, value)
    return bytes(damaged)


def fields_of(model: bytes, table: str, number: int) -> list[Field]:
    return [field for field in fields(model)[table] if field.number == number]


@pytest.mark.parametrize(
    ("table", "number", "letter", "value", "message"),
    [
        ("operator", 0, "I", 999, "names operator code 999; there are"),
        ("operator", 1, "i", 5000, "names tensor 5000; there are"),
        ("operator", 1, "i", -1, "has no input 0|reads tensor"),
        ("operator", 2, "i", 0, "writes tensor 0, which is a constant, an input, or made already"),
        ("tensor", 2, "I", 700, "names buffer 700; there are"),
        ("tensor", 1, "b", 77, "has the element type 77"),
        ("tensor", 0, "i", -4, "has the shape"),
        ("tensor", 0, "i", 2**30, "has the shape"),
        ("quantization", 2, "f", float("nan"), "has scales from"),
        ("quantization", 2, "f", 0.0, "has scales from"),
        ("quantization", 3, "q", 4000, "has zero points from"),
        ("signature", 4, "I", 9, "names subgraph 9; there are 2"),
        ("map", 1, "I", 9999, "names tensor 9999; there are"),
        ("graph", 1, "i", 9999, "names tensor 9999; there are"),
    ],
)
def test_fields_that_cannot_be(tags_int8, table, number, letter, value, message):
    model = tags_int8.flatbuffer
    field = fields_of(model, table, number)[-1]
    with pytest.raises(ModelFileError, match=message):
        check_graph(read_model(patched(model, field, letter, value)))


def test_a_constant_is_as_long_as_its_shape_says(tags_int8):
    model = tags_int8.flatbuffer
    field = max(fields_of(model, "buffer", 0), key=lambda f: f.place)
    size = struct.unpack_from(
        "<I", model, field.place + struct.unpack_from("<I", model, field.place)[0]
    )
    with pytest.raises(ModelFileError, match=f"has a constant of {size[0] - 1} bytes"):
        check_graph(read_model(patched(model, field, "I", size[0] - 1, element=-1)))


def test_endless_data_in_a_small_file():
    """Vectors that all lie in the same place; and places that are not there."""
    flatbuffer = Flatbuffer(bytes(4096))
    for _ in range(8):
        assert flatbuffer.vector("i", 0, 1000) == (0,) * 1000
    with pytest.raises(DamagedFlatbuffer, match="more than the file is long"):
        flatbuffer.vector("i", 0, 1000)
    for at in (4095, 5000, 2**31):
        with pytest.raises(DamagedFlatbuffer):
            flatbuffer.follow(at)
    with pytest.raises(DamagedFlatbuffer):
        flatbuffer.vector("i", 4000, 100)


def test_subgraphs_that_run_each_other(tags_int8):
    model = read_model(tags_int8.flatbuffer)
    graph = model.subgraphs[0]
    loop = graph.operators[0]._replace(name="IF", options=None)
    looping = graph._replace(operators=[loop, *graph.operators[1:]])
    with pytest.raises(ModelFileError, match=r"subgraphs \[0\] run each other without an end"):
        check_graph(model._replace(subgraphs=[looping, *model.subgraphs[1:]]))


def test_an_operator_of_a_later_schema_is_left_to_the_interpreter(tags_int8):
    model = read_model(tags_int8.flatbuffer)
    graph = model.subgraphs[0]
    later = [operator._replace(name="OPERATOR_999") for operator in graph.operators]
    check_graph(model._replace(subgraphs=[graph._replace(operators=later), *model.subgraphs[1:]]))
