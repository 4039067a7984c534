"""A Keras model to a flatbuffer, in a process of its own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tfdistil.errors import ExportError
from tfdistil.exporting.biases import add_biases
from tfdistil.exporting.clips import drop_clips
from tfdistil.exporting.converter import Converter
from tfdistil.exporting.quantize import QUANTIZE
from tfdistil.exporting.slim import slim

_CONVERTER = Converter()


@dataclass(frozen=True)
class Entry:
    """An entry point of the converted graph.

    Attributes:
        function: takes the inputs in the order of ``specs``, returns a dict of tensors.
        specs: the inputs' names, dtypes and static shapes, batch first.
    """

    function: Callable[..., dict[str, Any]]
    specs: Sequence[keras.InputSpec]

    @property
    def batch(self) -> int:
        """Rows of every input."""
        return int(self.specs[0].shape[0])


def rows_of(batch: int) -> dict[str, int]:
    """The entry points of a file, and the rows that each takes; of one row alone there is one."""
    return {"online": 1, "batch": batch} if batch > 1 else {"online": 1}


def entries_of(
    model: Any, length: int, batch: int, head: str, word_mask: str | None = None
) -> dict[str, Entry]:
    """The entry points of a model's file: ``online`` with one row, and ``batch`` with several.

    Args:
        model: has ``export_function``, see
            `tfdistil.heads.model.HeadedModel.export_function`.
        length: positions of a row.
        batch: rows of ``batch``; 1: there is no such entry point.
        head: whose logits they give.
        word_mask: the input that says where words are; None: they do not decode.

    Raises:
        ExportError: no such head, or a length that the model does not take.
    """
    try:
        return {
            name: Entry(*model.export_function(length, rows, head, word_mask))
            for name, rows in rows_of(batch).items()
        }
    except ValueError as error:
        raise ExportError(f"the model cannot be exported: {error}") from error


def convert(
    model: keras.Model,
    entries: Mapping[str, Entry],
    quantize: str = "int8",
    calibration: Mapping[str, np.ndarray] | None = None,
) -> bytes:
    """Convert entry points of a model to one flatbuffer; they share the weights.

    Args:
        model: owns the weights the functions use.
        entries: signature name to entry point.
        quantize: one of `tfdistil.exporting.quantize.QUANTIZE`.
        calibration: for ``int8``, input name to rows ``[N, T]`` typical of what will be asked.

    Returns:
        The flatbuffer.

    Raises:
        ExportError: an unknown way to quantize, ``int8`` without calibration rows, or a conversion
            that failed; with the end of what the converter said.
    """
    if quantize not in QUANTIZE:
        raise ExportError(f"cannot quantize to {quantize!r}; use one of {', '.join(QUANTIZE)}")
    if quantize == "int8" and (not calibration or not len(next(iter(calibration.values())))):
        raise ExportError("int8 needs rows to calibrate on; give it dev examples, or use dynamic")
    with tempfile.TemporaryDirectory(prefix="tfdistil-convert-") as name:
        folder = Path(name)
        _save(model, entries, folder / "saved_model")
        if quantize == "int8" and calibration:
            np.savez(folder / "calibration.npz", **calibration)  # type: ignore[arg-type]
        job = {
            "saved_model": str(folder / "saved_model"),
            "signatures": {name: entry.batch for name, entry in entries.items()},
            "quantize": quantize,
            "calibration": str(folder / "calibration.npz") if quantize == "int8" else None,
            "output": str(folder / "model.tflite"),
        }
        (folder / "job.json").write_text(json.dumps(job), "utf-8")
        _CONVERTER.run(folder / "job.json")
        return slim(add_biases(drop_clips((folder / "model.tflite").read_bytes())))


def _save(model: keras.Model, entries: Mapping[str, Entry], folder: Path) -> None:
    archive = keras.export.ExportArchive()
    archive.track(model)
    for name, entry in entries.items():
        archive.add_endpoint(name, entry.function, input_signature=list(entry.specs))
    archive.write_out(str(folder), verbose=False)
