"""Flatbuffers as the converter leaves them, before anything of ours has touched them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf


def converted(
    model: keras.Model, signatures: Mapping[str, int], folder: Path, rows: np.ndarray | None = None
) -> bytes:
    """A model from ``x`` to ``y``, with a signature of so many rows for each name.

    ``rows`` to calibrate on make it int8.
    """
    archive = keras.export.ExportArchive()
    archive.track(model)
    for name, count in signatures.items():
        shape = (count, *model.inputs[0].shape[1:])
        spec = keras.InputSpec(shape=shape, dtype="float32", name="x")
        archive.add_endpoint(name, lambda x: {"y": model(x)}, input_signature=[spec])
    archive.write_out(str(folder), verbose=False)
    converter = tf.lite.TFLiteConverter.from_saved_model(
        str(folder), signature_keys=list(signatures)
    )
    if rows is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: (
            (name, {"x": rows[at : at + count]})
            for name, count in signatures.items()
            for at in range(0, len(rows), count)
        )
    return converter.convert()
