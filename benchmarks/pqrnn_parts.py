"""A pQRNN with and without its mask and its intent condition, and its expansion alone.

``python -m tfdistil.benchmarks.pqrnn_parts parts`` writes ``.tflite`` files with random weights to
be timed side by side: what does each part of the full graph cost?
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from tfdistil.benchmarks.student_shape import convert_shape
from tfdistil.files import write_bytes
from tfdistil.heads.spec import Level
from tfdistil.printable import byte_size
from tfdistil.students.pqrnn import PqrnnStudent


class _Unmasked(PqrnnStudent):
    """Takes every position for a real one: the multiplications by the mask fold away."""

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        return super().input_specs(length, batch)[:1]

    def _whole(self, table: np.ndarray, indices: Any) -> Any:
        if len(table) > 2:
            return super()._whole(table, indices)
        return ops.ones((*indices.shape, 1))


class _Unconditioned(PqrnnStudent):
    """Slots that do not depend on the intent."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.conditions = {}


class _Expansion(PqrnnStudent):
    """Gives the features of its words and goes no further."""

    def export_function(
        self, length: int, batch: int, head: str = "labels", word_mask: str | None = None
    ) -> Any:
        del head, word_mask
        specs = self.input_specs(length, batch)[:1]
        return lambda fingerprint: {"features": self._expand(fingerprint)}, specs


def pqrnn_parts(
    slots: int = 79, intents: int = 7, *, length: int = 32, batch: int = 32, **sizes: Any
) -> dict[str, bytes]:
    """Files by name: ``full``, ``no-mask``, ``no-condition`` and ``expansion``, which is alone.

    Args:
        slots, intents: labels of the heads; the defaults are those of SNIPS.
        length: T.
        batch: rows of the signature ``batch``.
        sizes: of the student, see `tfdistil.students.pqrnn.PqrnnStudent`.

    Raises:
        ExportError: a conversion that failed.
    """
    outputs: dict[str, tuple[Level, int]] = {
        "slots": ("word", slots),
        "intent": ("sequence", intents),
    }
    kinds = {
        "full": PqrnnStudent,
        "no-mask": _Unmasked,
        "no-condition": _Unconditioned,
        "expansion": _Expansion,
    }
    files = {}
    for name, kind in kinds.items():
        student = kind(outputs, quantize="keras", seed=0, name="pqrnn", **sizes)
        rows = _rows(student.features, length)
        student(rows, training=True)  # sets the ranges
        files[name] = convert_shape(student, rows, length, batch, "int8")
    return files


def _rows(features: int, length: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "fingerprint": rng.integers(256, size=(64, length, features // 4), dtype=np.uint8),
        "attention_mask": np.ones((64, length), np.int32),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(
        prog="python -m tfdistil.benchmarks.pqrnn_parts",
        description="Parts of a pQRNN with random weights, to be timed side by side.",
    )
    parser.add_argument("out", type=Path, help="folder for the .tflite files")
    parser.add_argument("--length", type=int, default=32, help="positions per call (default 32)")
    parser.add_argument("--batch", type=int, default=32, help="rows of a batch (default 32)")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    for name, flatbuffer in pqrnn_parts(length=given.length, batch=given.batch).items():
        write_bytes(given.out / f"{name}.tflite", flatbuffer)
        print(f"{given.out / name}.tflite: {byte_size(len(flatbuffer))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
