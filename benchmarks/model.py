"""A ``.tflite`` file as something to time: its signatures, and inputs for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.console.native_notes import without_notes
from tfdistil.errors import ModelFileError


@dataclass(frozen=True)
class Shape:
    """A signature of a fixed shape.

    Attributes:
        signature: its key.
        batch: rows of every input.
        length: positions of every input; 0 where inputs have no second axis.
        inputs: name to ``(shape, dtype)``.
    """

    signature: str
    batch: int
    length: int
    inputs: dict[str, tuple[tuple[int, ...], np.dtype]]


def open_interpreter(path: Path, threads: int = 1) -> Any:
    """The stock interpreter with its default delegate (XNNPACK).

    Raises:
        ModelFileError: the file is missing or no model.
    """
    from tfdistil.runtime.interpreter import Interpreter

    if not path.is_file():
        raise ModelFileError(f"{path}: no such file; give .tflite files")
    try:
        with without_notes():
            return Interpreter(model_path=str(path), num_threads=threads)
    except (ValueError, RuntimeError) as error:
        raise ModelFileError(f"{path} cannot be loaded: {error}") from error


def shapes(interpreter: Any, path: Path) -> list[Shape]:
    """The model's signatures, smallest batch first.

    Raises:
        ModelFileError: no signatures, or inputs without a static shape.
    """
    found = []
    for key in interpreter.get_signature_list():
        details = interpreter.get_signature_runner(key).get_input_details()
        inputs = {
            name: (tuple(int(n) for n in d["shape"]), np.dtype(d["dtype"]))
            for name, d in details.items()
        }
        first = next(iter(inputs.values()))[0]
        if any((d["shape_signature"] < 0).any() for d in details.values()) or not first:
            raise ModelFileError(f"{path}: signature {key!r} has no static shapes to time")
        found.append(Shape(key, first[0], first[1] if len(first) > 1 else 0, inputs))
    if not found:
        raise ModelFileError(f"{path} has no signatures; convert it with some to time it")
    return sorted(found, key=lambda shape: shape.batch)


def random_inputs(
    shape: Shape, vocabulary: int, generator: np.random.Generator
) -> dict[str, np.ndarray]:
    """Full-length rows: random ids, no padding, so that no model is spared work.

    Args:
        shape: the signature.
        vocabulary: ids are below it; bytes, as of fingerprints, are not.
        generator: of the ids, and of float inputs (normal).
    """
    found = {}
    for name, (size, dtype) in shape.inputs.items():
        if "mask" in name:
            found[name] = np.ones(size, dtype)
        elif "type" in name:
            found[name] = np.zeros(size, dtype)
        elif dtype == np.uint8:
            found[name] = generator.integers(1, 256, size).astype(dtype)
        elif np.issubdtype(dtype, np.integer):
            found[name] = generator.integers(1, vocabulary, size).astype(dtype)
        else:
            found[name] = generator.standard_normal(size).astype(dtype)
    return found


def vocabulary_size(path: Path) -> int:
    """Rows of the largest table that a model looks ids up in, not bytes; 2 if it has none."""
    from tfdistil.runtime.tflite import read_model

    model = read_model(path.read_bytes())
    rows = 2
    for graph in model.subgraphs:
        unpacked: dict[int, int] = {}  # what a float16 table is turned into, to the table
        of_bytes: set[int] = set()  # what is computed from bytes, which name other rows than ids do
        for operator in graph.operators:
            if operator.name == "DEQUANTIZE":
                unpacked[operator.outputs[0]] = operator.inputs[0]
            if operator.name == "CAST" and graph.tensors[operator.inputs[0]].type == "uint8":
                of_bytes.add(operator.outputs[0])
            if operator.name not in ("GATHER", "EMBEDDING_LOOKUP"):
                if not of_bytes.isdisjoint(operator.inputs):
                    of_bytes.update(operator.outputs)
                continue
            source, indices = operator.inputs[:2]
            if operator.name == "EMBEDDING_LOOKUP":
                source, indices = indices, source
            if indices in of_bytes:
                continue
            table = graph.tensors[unpacked.get(source, source)]
            if len(model.buffers[table.buffer]) and len(table.shape) == 2:
                rows = max(rows, table.shape[0])
    return rows
