"""A student of any size with random weights as a ``.tflite``, for latency and bytes only.

``python -m tfdistil.benchmarks.student_shape bilstm.tflite --vocabulary 119547`` makes the student
of XtremeDistil's table 16 (E=50, H=200) at the vocabulary of multilingual BERT, to be timed beside
the reference ``mbert-shape``; with ``--layers 2`` it is a transformer of that width and depth.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.files import write_bytes
from tfdistil.printable import byte_size


def student_shape(
    vocabulary: int,
    embedding: int,
    hidden_dim: int,
    layers: int | None = None,
    *,
    labels: int = 9,
    length: int = 32,
    batch: int = 32,
    quantize: str = "int8",
    seed: int = 0,
) -> bytes:
    """Convert a student with a word-level head.

    Args:
        vocabulary, embedding, hidden_dim: V, E and H.
        layers: blocks of a `tfdistil.students.transformer.TransformerStudent`; None: a
            `tfdistil.students.bilstm.BiLSTMStudent`.
        labels: size of the head.
        length: positions per call.
        batch: rows of the signature ``batch``.
        quantize: see `tfdistil.exporting.convert.convert`; calibrated on random ids.
        seed: of weights and ids.

    Raises:
        ExportError: a conversion that failed.
        ValueError: sizes that make no student.
    """
    from tfdistil.students import build_student

    of_kind = (
        {"kind": "bilstm"}
        if layers is None
        else {"kind": "transformer", "layers": layers, "max_positions": length}
    )
    student = build_student(
        vocabulary=vocabulary,
        embedding=embedding,
        hidden_dim=hidden_dim,
        outputs={"tags": ("word", labels)},
        seed=seed,
        **of_kind,
    )
    ids = np.random.default_rng(seed).integers(vocabulary, size=(64, length), dtype=np.int32)
    rows = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return convert_shape(student, rows, length, batch, quantize)


def convert_shape(
    student: Any, rows: Mapping[str, np.ndarray], length: int, batch: int, quantize: str
) -> bytes:
    """A student's ``online`` and ``batch``, calibrated on those of the rows that it takes."""
    from tfdistil.exporting.convert import convert, entries_of

    entries = entries_of(student, length, batch, "labels")
    wanted = {spec.name for spec in entries["online"].specs}
    calibration = {name: array for name, array in rows.items() if name in wanted}
    return convert(student, entries, quantize, calibration)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write one such file."""
    parser = argparse.ArgumentParser(
        prog="python -m tfdistil.benchmarks.student_shape",
        description="A student with random weights, for latency and bytes only.",
    )
    parser.add_argument("out", type=Path, help="the .tflite file")
    parser.add_argument("--vocabulary", type=int, default=30_522, help="V (default 30522)")
    parser.add_argument("--embedding", type=int, default=50, help="E (default 50)")
    parser.add_argument("--hidden-dim", type=int, default=200, help="H (default 200)")
    parser.add_argument("--layers", type=int, help="blocks of a transformer (default: a BiLSTM)")
    parser.add_argument("--length", type=int, default=32, help="positions per call (default 32)")
    parser.add_argument("--batch", type=int, default=32, help="rows of a batch (default 32)")
    parser.add_argument("--quantize", default="int8", help="mode (default int8)")
    given = parser.parse_args(arguments)
    flatbuffer = student_shape(
        given.vocabulary,
        given.embedding,
        given.hidden_dim,
        given.layers,
        length=given.length,
        batch=given.batch,
        quantize=given.quantize,
    )
    write_bytes(given.out, flatbuffer)
    print(f"{given.out}: {byte_size(len(flatbuffer))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
