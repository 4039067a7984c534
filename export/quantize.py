"""The ways to quantize, as settings of the TensorFlow Lite converter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import tensorflow as tf

QUANTIZE = ("int8", "dynamic", "float16", "none")
"""``int8``: weights (per channel), activations and outputs are int8, after ranges seen on
calibration data; integer arithmetic only. ``dynamic``: int8 weights, activations quantized at each
matrix product. ``float16``: half-size weights, float arithmetic. ``none``: float32."""


def configure(
    converter: tf.lite.TFLiteConverter,
    quantize: str,
    representative: Callable[[], Iterable[Any]] | None,
) -> None:
    """Set a converter up for one of `QUANTIZE`.

    Args:
        converter: changed in place.
        quantize: one of `QUANTIZE`.
        representative: for ``int8``: makes an iterator of ``(signature, inputs)``.
    """
    import tensorflow as tf

    # Built-in operators only: what the stock runtime has no kernel for must fail, not become Flex.
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if quantize != "none":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantize == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if quantize == "int8":
        converter.representative_dataset = representative
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_output_type = tf.int8


def calibration_batches(
    rows: Mapping[str, np.ndarray], batches: Mapping[str, int]
) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Calibration rows cut to the batch size of each signature.

    Every signature sees the same rows, so that all get the same ranges and give the same answers.
    The last batch is filled up with rows from the beginning.

    Args:
        rows: input name to ``[N, T]``.
        batches: signature name to batch size.

    Returns:
        ``(signature, inputs)`` in order.
    """
    count = len(next(iter(rows.values())))
    found = []
    for signature, size in batches.items():
        order = np.resize(np.arange(count), -(-count // size) * size)
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            found.append((signature, {name: array[chosen] for name, array in rows.items()}))
    return found
