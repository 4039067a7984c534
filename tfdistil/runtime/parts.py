"""Where the bytes of a model are: in what it reads, in its body, in the graph itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tfdistil.errors import ModelFileError
from tfdistil.runtime.tflite import ELEMENT_BITS, Model, Subgraph, Tensor

_CUTS = frozenset({"SLICE", "STRIDED_SLICE"})


class _Reader(NamedTuple):
    """What is read from an input.

    Attributes:
        input: of the graph.
        ends: operators that end the reading.
        cut: whether it begins with some bytes of the input, and not with all.
    """

    input: str
    ends: frozenset[str]
    cut: bool = False


READERS = {
    "pieces": _Reader("input_ids", frozenset({"GATHER"})),
    "words": _Reader("fingerprint", frozenset({"GATHER"}), cut=True),
    "hashes": _Reader("fingerprint", frozenset({"FULLY_CONNECTED", "CONV_2D", "BATCH_MATMUL"})),
}
"""What is read, each from its input."""


def part_bytes(model: Model, size: int) -> dict[str, int]:
    """Bytes of a flatbuffer by what they are for.

    Args:
        model: with a signature whose inputs are named as tfdistil names them.
        size: bytes of its flatbuffer.

    Returns:
        ``pieces``: the table of word pieces, with the codes and codebooks that stand for one;
        ``words``: that of whole words, which are found by their hashes; ``hashes``: the first
        product of these, with the table that makes them numbers; each where it is read.
        ``body``: all other constants, heads among them. ``operators``: what is no constant. They
        sum up to ``size``.

    Raises:
        ModelFileError: constants that overlap, so that together they are larger than the file.
    """
    sizes = {buffer: len(model.buffers[buffer]) for buffer in model.constants()}
    if sum(sizes.values()) > size:
        raise ModelFileError(
            f"the graph has {sum(sizes.values()):,} bytes of constants in {size:,} bytes: they "
            "overlap, which no converter does; export the model again"
        )
    parts = {}
    for signature in model.signatures[:1]:  # constants are shared
        graph = model.subgraphs[signature.subgraph]
        inputs = dict(signature.inputs)
        for part, reader in READERS.items():
            if reader.input in inputs:
                met = _first_weights(graph, inputs[reader.input], reader, sizes)
                if met:
                    parts[part] = sum(sizes.pop(buffer) for buffer in met)
    body = sum(sizes.values())
    return parts | {"body": body, "operators": size - body - sum(parts.values())}


def _first_weights(
    graph: Subgraph, start: int, reader: _Reader, sizes: Mapping[int, int]
) -> set[int]:
    """Buffers of the weights on the way from an input to the first operators of those names.

    A lookup that gives ids, as that of codes does, is not the end.
    """
    weights = {
        n: tensor.buffer
        for n, tensor in enumerate(graph.tensors)
        if _is_weight(tensor, sizes.get(tensor.buffer, 0))
    }
    reached, met = {start}, set[int]()
    for operator in graph.operators:
        read = [weights[i] for i in operator.inputs if i in weights]
        if operator.name == "DEQUANTIZE" and read:  # what float16 keeps
            weights |= dict.fromkeys(operator.outputs, read[0])
        elif start in operator.inputs and (operator.name in _CUTS) != reader.cut:
            continue  # another reader's
        elif reached & {*operator.inputs}:
            met |= {*read}
            for i in operator.outputs:
                if operator.name not in reader.ends or _holds_ids(graph.tensors[i]):
                    reached.add(i)
    return met


def _is_weight(tensor: Tensor, size: int) -> bool:
    """Other integers without a scale are shapes, axes and offsets; bytes are codes of a table."""
    known = tensor.type in ("float32", "float16", "uint8") or _is_scaled(tensor)
    return known and 8 * size > ELEMENT_BITS[tensor.type]  # more than one number


def _holds_ids(tensor: Tensor) -> bool:
    return "int" in tensor.type and not _is_scaled(tensor)


def _is_scaled(tensor: Tensor) -> bool:
    return tensor.quantization is not None and bool(tensor.quantization.scales)
