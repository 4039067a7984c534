"""A flatbuffer as a tree of objects that can be changed."""

from __future__ import annotations

import flatbuffers
from ai_edge_litert import schema_py_generated as schema


def read_tree(model: bytes) -> schema.ModelT:
    """The tree of a TensorFlow Lite flatbuffer."""
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))


def operator_kinds(tree: schema.ModelT) -> list[int]:
    """The `schema.BuiltinOperator` of each operator code; old files have it in another field."""
    return [max(code.builtinCode, code.deprecatedBuiltinCode) for code in tree.operatorCodes]


def write_tree(tree: schema.ModelT, builder: flatbuffers.Builder) -> bytes:
    """The flatbuffer of a tree, as a builder writes it."""
    builder.Finish(tree.Pack(builder), b"TFL3")
    return bytes(builder.Output())
