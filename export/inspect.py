"""What is inside a flatbuffer: operators, constants, and the runtime it needs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tfdistil.errors import ExportError, ModelFileError
from tfdistil.runtime.parts import part_bytes
from tfdistil.runtime.tflite import Model, Operator, Subgraph, read_model

FLEX = "Flex"
"""TensorFlow operators that need the Flex delegate are custom operators whose names start so."""


@dataclass(frozen=True)
class Inspection:
    """The contents of a flatbuffer.

    Attributes:
        operators: per signature, operator to count; custom ones as ``custom:NAME``.
        flex: names of the TensorFlow operators that need the Flex delegate.
        custom: names of the other custom operators.
        float_operators: per signature, the operators that compute in float32, with counts.
        constants: bytes of the constants per element type, those that signatures share once.
        parameters: numbers in the weights and biases.
        size: bytes of the flatbuffer.
        min_runtime: the oldest TensorFlow Lite version that has all the kernels; "" if unknown.
        parts: bytes of the flatbuffer by what they are for, see `tfdistil.runtime.parts`.
    """

    operators: dict[str, dict[str, int]]
    flex: tuple[str, ...]
    custom: tuple[str, ...]
    float_operators: dict[str, dict[str, int]]
    constants: dict[str, int]
    parameters: int
    size: int
    min_runtime: str
    parts: dict[str, int] = field(default_factory=dict)

    @property
    def float_operator_count(self) -> int:
        """Of all signatures."""
        return sum(sum(counts.values()) for counts in self.float_operators.values())

    def to_json(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {
            "ops": self.operators,
            "flex": len(self.flex),
            "custom": len(self.custom),
            "float_ops": self.float_operator_count,
            "float_operators": self.float_operators,
            "constants": self.constants,
            "parts": self.parts,
            "parameters": self.parameters,
            "bytes": self.size,
            "min_runtime": self.min_runtime,
        }


def inspect_model(model: bytes) -> Inspection:
    """Look into a TensorFlow Lite flatbuffer, with or without associated files at its end.

    Raises:
        ExportError: no flatbuffer.
    """
    try:
        read = read_model(model)
    except ModelFileError as error:
        raise ExportError(str(error)) from error
    operators, floats = {}, {}
    for label, graph in _labelled_graphs(read):
        operators[label] = graph.operator_counts()
        counts = Counter(o.name for o in graph.operators if _is_float(o, graph))
        floats[label] = dict(counts.most_common())
    customs = {
        operator.name.removeprefix("custom:")
        for graph in read.subgraphs
        for operator in graph.operators
        if operator.name.startswith("custom:")
    }
    return Inspection(
        operators=operators,
        flex=tuple(sorted(name for name in customs if name.startswith(FLEX))),
        custom=tuple(sorted(name for name in customs if not name.startswith(FLEX))),
        float_operators=floats,
        constants=read.constant_bytes(),
        parameters=_parameters(read),
        size=len(model),
        min_runtime=read.metadata.get("min_runtime_version", b"").rstrip(b"\0").decode(),
        parts=part_bytes(read, len(model)),
    )


def _labelled_graphs(model: Model) -> list[tuple[str, Subgraph]]:
    """Subgraphs by signature; those of loops and branches, and unnamed ones, by number."""
    labels = {signature.subgraph: signature.key for signature in model.signatures}
    return [(labels.get(n, f"subgraph {n}"), graph) for n, graph in enumerate(model.subgraphs)]


def _is_float(operator: Operator, graph: Subgraph) -> bool:
    """Whether an operator makes or reads float32; one that only turns it into integers does not."""
    read = () if operator.name == "QUANTIZE" else operator.inputs
    indices = [i for i in (*operator.outputs, *read) if i >= 0]
    return any(graph.tensors[i].type == "float32" for i in indices)


def _parameters(model: Model) -> int:
    """Numbers in weights and biases, without the zeros of `tfdistil.exporting.biases`.

    Integers without a scale are shapes, axes and indices, but for bytes, which are the codes of a
    word table; single numbers are bounds and factors.
    """
    return sum(
        math.prod(tensor.shape)
        for buffer, tensor in model.constants().items()
        if len(tensor.shape)
        if tensor.type in ("float32", "float16", "uint8")
        or (tensor.quantization is not None and tensor.quantization.scales)
        if tensor.type != "int32" or any(model.buffers[buffer])
    )
