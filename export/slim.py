"""A flatbuffer without what no runtime reads."""

from __future__ import annotations

from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tfdistil.exporting.tree import read_tree, write_tree

ALIGNMENT = 16
"""Of the constants' data, as TensorFlow Lite's schema demands (``force_align: 16``)."""


class _AlignedBuffer(schema.BufferT):
    """A constant that is packed with the alignment the generated code forgets."""

    def Pack(self, builder: flatbuffers.Builder) -> int:
        data = None
        if self.data is not None:
            content = np.asarray(self.data, np.uint8).tobytes()
            builder.StartVector(1, len(content), ALIGNMENT)
            builder.head = builder.Head() - len(content)
            builder.Bytes[builder.Head() : builder.Head() + len(content)] = content
            builder.vectorNumElems = len(content)
            data = builder.EndVector()
        schema.BufferStart(builder)
        if data is not None:
            schema.BufferAddData(builder, data)
        return schema.BufferEnd(builder)


class _SharingBuilder(flatbuffers.Builder):
    """Writes equal shapes, lists of tensors, scales and zero points once."""

    def __init__(self, size: int):
        super().__init__(size)
        self._written: dict[tuple[str, bytes], int] = {}

    def CreateNumpyVector(self, x: np.ndarray) -> int:
        key = (x.dtype.str, x.tobytes())
        if key not in self._written:
            self._written[key] = super().CreateNumpyVector(x)
        return self._written[key]


class _SharedQuantization:
    """Scales and zero points that are written once, however many tensors have them."""

    def __init__(self, table: schema.QuantizationParametersT, written: dict[Any, int]):
        self.table, self.written = table, written

    def Pack(self, builder: flatbuffers.Builder) -> int:
        fields = vars(self.table).values()
        key = tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in fields)
        if key not in self.written:
            self.written[key] = self.table.Pack(builder)
        return self.written[key]


def slim(model: bytes) -> bytes:
    """Write a flatbuffer without what is in it twice or for nobody.

    An unrolled recurrence has thousands of tensors, each with a name, an empty buffer, a shape and
    a quantization of its own. Names of inner tensors and all empty buffers but one go; equal
    shapes, lists and quantizations are one. Signatures keep the names of their inputs and outputs,
    operators and constants are the same.

    Args:
        model: a TensorFlow Lite flatbuffer.
    """
    tree = read_tree(model)
    tensors = [tensor for graph in tree.subgraphs for tensor in graph.tensors]
    used = {0} | {m.buffer for m in tree.metadata or []}
    written: dict[Any, int] = {}
    for tensor in tensors:
        tensor.name = None
        if tensor.quantization is not None:
            tensor.quantization = _SharedQuantization(tensor.quantization, written)
        buffer = tree.buffers[tensor.buffer]
        if buffer.data is None:
            tensor.buffer = 0  # by convention the empty one
        used.add(tensor.buffer)
    place = {old: new for new, old in enumerate(sorted(used))}
    tree.buffers = [_AlignedBuffer(tree.buffers[old].data) for old in sorted(used)]
    for holder in (*tensors, *(tree.metadata or [])):
        holder.buffer = place[holder.buffer]
    return write_tree(tree, _SharingBuilder(len(model)))
