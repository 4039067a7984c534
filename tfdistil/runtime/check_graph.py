"""Is a graph one that an interpreter can run? Its native code trusts what a file says, and dies.

The checksum of a model file finds damage on the way. A file whose checksum fits can still hold a
graph that no converter writes, and the interpreter, which compiles and runs it without a second
look, may end the process. What is checked here is what it takes for granted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tfdistil.errors import ModelFileError
from tfdistil.runtime.operator_rules import called_subgraphs, check_operator
from tfdistil.runtime.tflite import ELEMENT_BITS, Model, Quantization, Signature, Subgraph, Tensor

MOST_DIMENSIONS = 8
MOST_ELEMENTS = 2**31 - 1
"""Of a tensor: sizes and places are counted in int32."""

MOST_BYTES = 2**30
"""Of a tensor that is no constant: memory that is taken although the file is small."""

_RANGES = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int4": (-8, 7),
    "int2": (-2, 1),
    "uint4": (0, 15),
}
_LEAST_SCALE, _MOST_SCALE = 1e-30, 1e30


def check_graph(model: Model) -> None:
    """Check tensors, the order of the operators, their operands, and the signatures.

    Raises:
        ModelFileError: says which part is not as it must be.
    """
    if not model.subgraphs or not model.signatures:
        raise ModelFileError("the graph has no operators, or no signatures")
    if model.outside:
        raise ModelFileError("the graph has constants outside the flatbuffer")
    for number, graph in enumerate(model.subgraphs):
        where = f"of subgraph {number}"
        for index, tensor in enumerate(graph.tensors):
            size = len(model.buffers[tensor.buffer])
            _check_tensor(tensor, size, f"tensor {index} {where}")
        _check_order(graph, model, where)
        for index, operator in enumerate(graph.operators):
            try:
                check_operator(operator, graph, model)
            except ModelFileError as error:
                raise ModelFileError(
                    f"operator {index} {where}, {operator.name[:40]}, {error}"
                ) from None
    _check_nesting(model)
    keys = [signature.key for signature in model.signatures]
    _check_once(keys, "the graph", "signature")
    for signature in model.signatures:
        _check_signature(signature, model.subgraphs[signature.subgraph])


def _check_tensor(tensor: Tensor, constant: int, where: str) -> None:
    """Sizes, and a constant that is as long as its shape says."""
    bits, shape = ELEMENT_BITS[tensor.type], tensor.shape
    if not bits or tensor.sparse:
        raise ModelFileError(f"{where} is {tensor.type}, sparse or not; numbers are expected")
    if len(shape) > MOST_DIMENSIONS or any(n < 0 for n in shape):
        raise ModelFileError(f"{where} has the shape {shape[:20]}")
    count = math.prod(shape)
    if count > MOST_ELEMENTS or (not constant and count * bits > 8 * MOST_BYTES):
        raise ModelFileError(f"{where} has the shape {shape}, which is too large")
    if constant and constant != -(-count * bits // 8):
        raise ModelFileError(f"{where}, {tensor.type} {shape}, has a constant of {constant} bytes")
    if tensor.variable and constant:
        raise ModelFileError(f"{where} is a variable and has a constant")
    if tensor.quantization is not None:
        _check_quantization(tensor.quantization, tensor, where)


def _check_quantization(quantization: Quantization, tensor: Tensor, where: str) -> None:
    scales, zero_points, axis, details = quantization
    if details:
        raise ModelFileError(f"{where} has a quantization that is no scale and zero point")
    if not scales:
        if zero_points and tensor.type in _RANGES:
            raise ModelFileError(f"{where} has zero points and no scales")
        return
    if len(zero_points) != len(scales):
        raise ModelFileError(f"{where} has {len(scales)} scales, {len(zero_points)} zero points")
    if len(scales) > 1 and not (
        0 <= axis < len(tensor.shape) and len(scales) == tensor.shape[axis]
    ):
        raise ModelFileError(f"{where}, {tensor.shape}, has {len(scales)} scales for axis {axis}")
    if not all(_LEAST_SCALE <= scale <= _MOST_SCALE for scale in scales):
        raise ModelFileError(f"{where} has scales from {min(scales)} to {max(scales)}")
    low, high = _RANGES.get(tensor.type, (0, 0))
    if not all(low <= zero <= high for zero in zero_points):
        raise ModelFileError(
            f"{where} has zero points from {min(zero_points)} to {max(zero_points)}"
        )


def _check_order(graph: Subgraph, model: Model, where: str) -> None:
    """Every tensor is written once at most, before it is read, and never a constant."""
    ready = {
        index
        for index, tensor in enumerate(graph.tensors)
        if tensor.variable or len(model.buffers[tensor.buffer]) or 0 in tensor.shape
    }
    constants = {i for i in ready if 0 not in graph.tensors[i].shape}
    _check_once(graph.inputs, f"the graph {where}", "input")
    if constants & {*graph.inputs}:
        raise ModelFileError(f"an input {where} is a constant")
    ready.update(graph.inputs)
    written = constants | {*graph.inputs}
    for number, operator in enumerate(graph.operators):
        for index in operator.inputs:
            if index >= 0 and index not in ready:
                raise ModelFileError(
                    f"operator {number} {where} reads tensor {index} before it is made"
                )
        for index in operator.outputs:
            if index in written:
                raise ModelFileError(
                    f"operator {number} {where} writes tensor {index}, which is a constant, an "
                    "input, or made already"
                )
            written.add(index)
        ready.update(operator.outputs)
    for index in graph.outputs:
        if index not in ready:
            raise ModelFileError(f"tensor {index}, an output {where}, is never made")


def _check_signature(signature: Signature, graph: Subgraph) -> None:
    """The names cover the inputs of the subgraph, and outputs that it has."""
    where = f"signature {signature.key[:40]!r}"
    for side in (signature.inputs, signature.outputs):
        _check_once([name for name, _ in side], where, "input or output")
    places = [index for _, index in signature.inputs]
    if sorted(places) != sorted(graph.inputs):
        raise ModelFileError(f"{where} names inputs {places}; its graph has {graph.inputs[:20]}")
    for _, index in signature.outputs:
        if index not in graph.outputs:
            raise ModelFileError(f"{where} names tensor {index}, which is no output of its graph")


def _check_nesting(model: Model) -> None:
    """Loops and branches run other subgraphs, and none runs itself."""
    inner = [
        {n for operator in graph.operators for n in called_subgraphs(operator)}
        for graph in model.subgraphs
    ]
    left = {*range(len(inner))}
    while left:
        leaves = {n for n in left if not inner[n] & left}
        if not leaves:
            raise ModelFileError(f"subgraphs {sorted(left)[:20]} run each other without an end")
        left -= leaves


def _check_once(values: Iterable[object], where: str, what: str) -> None:
    values = [*values]
    if len({*values}) < len(values):
        raise ModelFileError(f"{where} has an {what} twice")
