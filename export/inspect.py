"""What is inside a flatbuffer: operators, constants, and the runtime it needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tfdistil.errors import ExportError

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
    """

    operators: dict[str, dict[str, int]]
    flex: tuple[str, ...]
    custom: tuple[str, ...]
    float_operators: dict[str, dict[str, int]]
    constants: dict[str, int]
    parameters: int
    size: int
    min_runtime: str

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
            "parameters": self.parameters,
            "bytes": self.size,
            "min_runtime": self.min_runtime,
        }


def inspect_model(model: bytes) -> Inspection:
    """Look into a TensorFlow Lite flatbuffer, with or without associated files at its end.

    Raises:
        ExportError: no flatbuffer.
    """
    if model[4:8] != b"TFL3":
        raise ExportError("this is no TensorFlow Lite flatbuffer: no TFL3 at byte 4")
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
    names = _operator_names(tree)
    customs = {name.removeprefix("custom:") for name in names if name.startswith("custom:")}
    operators, floats = {}, {}
    for label, graph in _labelled_graphs(tree):
        counts: Counter[str] = Counter()
        float_counts: Counter[str] = Counter()
        for operator in graph.operators or []:
            name = names[operator.opcodeIndex]
            counts[name] += 1
            float_counts[name] += _is_float(name, operator, graph.tensors)
        operators[label] = dict(counts.most_common())
        floats[label] = {name: count for name, count in float_counts.most_common() if count}
    constants, parameters = _constants(tree)
    return Inspection(
        operators=operators,
        flex=tuple(sorted(name for name in customs if name.startswith(FLEX))),
        custom=tuple(sorted(name for name in customs if not name.startswith(FLEX))),
        float_operators=floats,
        constants=constants,
        parameters=parameters,
        size=len(model),
        min_runtime=_min_runtime(tree),
    )


def _operator_names(tree: Any) -> list[str]:
    builtin = {code: name for name, code in vars(schema.BuiltinOperator).items() if name.isupper()}
    names = []
    for code in tree.operatorCodes or []:
        name = builtin[max(code.builtinCode, code.deprecatedBuiltinCode)]
        custom = (code.customCode or b"").decode(errors="replace")
        names.append(f"custom:{custom}" if name == "CUSTOM" else name)
    return names


def _labelled_graphs(tree: Any) -> list[tuple[str, Any]]:
    """Subgraphs by signature; those of loops and branches, and unnamed ones, by number."""
    labels = {s.subgraphIndex: s.signatureKey.decode() for s in tree.signatureDefs or []}
    return [(labels.get(n, f"subgraph {n}"), graph) for n, graph in enumerate(tree.subgraphs)]


def _is_float(name: str, operator: Any, tensors: Any) -> bool:
    """Whether an operator makes or reads float32; one that only turns it into integers does not."""
    sides = [operator.outputs, None if name == "QUANTIZE" else operator.inputs]
    indices = [i for side in sides if side is not None for i in side if i >= 0]
    return any(tensors[i].type == schema.TensorType.FLOAT32 for i in indices)


def _constants(tree: Any) -> tuple[dict[str, int], int]:
    """Bytes per element type, and the number of weights and biases, by buffer."""
    types = {code: name.lower() for name, code in vars(schema.TensorType).items() if name.isupper()}
    floats = (schema.TensorType.FLOAT32, schema.TensorType.FLOAT16)
    found: dict[int, tuple[str, int, int]] = {}
    for graph in tree.subgraphs:
        for tensor in graph.tensors:
            data = tree.buffers[tensor.buffer].data
            if data is None or not np.size(data):
                continue
            shape = () if tensor.shape is None else tuple(tensor.shape)
            quantization = tensor.quantization
            # Integers without a scale are shapes, axes and indices.
            weight = tensor.type in floats or (
                quantization is not None and quantization.scale is not None
            )
            count = int(np.prod(shape)) if weight else 0
            found[tensor.buffer] = types[tensor.type], int(np.size(data)), count
    sizes: Counter[str] = Counter()
    for kind, size, _ in found.values():
        sizes[kind] += size
    return dict(sizes.most_common()), sum(count for *_, count in found.values())


def _min_runtime(tree: Any) -> str:
    for entry in tree.metadata or []:
        if entry.name == b"min_runtime_version":
            data = tree.buffers[entry.buffer].data
            return "" if data is None else bytes(data).rstrip(b"\0").decode()
    return ""
