"""What labels of whole texts are read from: the first piece, a mean, or two means compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from tfdistil.device_ops import gather


def states_of_text(
    pooling: str, hidden: Any, mask: Any, segments: Any, exporting: bool = False
) -> Any:
    """States the first of which stands for a text.

    Args:
        pooling: one of `tfdistil.encoders.config.POOLINGS`.
        hidden: ``[B, T, D]``.
        mask: ``[B, T]``, 1 for real pieces; None: all are.
        segments: ``[B, T]``, 1 for pieces of the second text; None: there is none.
        exporting: see `mean_of_pieces`.

    Returns:
        In the dtype of ``hidden``: that itself, ``[B, 1, D]``, or ``[B, 1, 4 D]``.
    """
    if pooling == "cls":
        return hidden
    shape = ops.shape(hidden)[:2]
    real = ops.cast(ops.ones(shape) if mask is None else mask, "int32")
    if pooling == "mean":
        states = mean_of_pieces(hidden, real, exporting)
    else:
        second = ops.zeros(shape) if segments is None else segments
        states = compared(hidden, real, ops.cast(second, "int32"), exporting)
    return ops.cast(states, hidden.dtype)


def mean_of_pieces(hidden: Any, real: Any, exporting: bool = False) -> Any:
    """The mean of some pieces' states; of none it is zero.

    Args:
        hidden: ``[B, T, D]``.
        real: int32 ``[B, T]``, 1 for the pieces it is taken of.
        exporting: without casts, which are float operators, and with 1 / n as a product of two
            1 / sqrt(n), before and after the sum. With one scale for all lengths int8 gives
            1 / 100 an error of a fifth, its root 2 %.

    Returns:
        float32 ``[B, 1, D]``.
    """
    count = ops.sum(real, axis=-1, keepdims=True)
    if not exporting:
        weights = ops.cast(real, "float32") / ops.maximum(ops.cast(count, "float32"), 1)
        return ops.matmul(ops.expand_dims(weights, 1), ops.cast(hidden, "float32"))
    length = hidden.shape[1]
    table = 1 / np.sqrt(np.maximum(np.arange(length + 1, dtype=np.float32), 1))
    table[0] = 0
    # The converter gives a table the range of what calibration looks up: the last is its largest.
    places = [real * count, count, ops.ones_like(count)]
    roots = gather(table, ops.concatenate(places, axis=-1))
    of_sum = ops.matmul(ops.expand_dims(roots[:, :length], 1), hidden)
    return of_sum * ops.expand_dims(roots[:, length : length + 1], 1)


def compared(hidden: Any, real: Any, second: Any, exporting: bool = False) -> Any:
    """Two texts side by side: u, v, |u - v| and u v, u and v the means of their pieces.

    So InferSent compares them (Conneau et al. 2017), which reads each alone; here attention has
    read both.

    Args:
        hidden: ``[B, T, D]``.
        real: int32 ``[B, T]``, 1 for real pieces.
        second: int32 ``[B, T]``, 1 for those of the second text.
        exporting: see `mean_of_pieces`.

    Returns:
        float32 ``[B, 1, 4 D]``.
    """
    of_second = real * second
    u = mean_of_pieces(hidden, real - of_second, exporting)
    v = mean_of_pieces(hidden, of_second, exporting)
    return ops.concatenate([u, v, ops.absolute(u - v), u * v], axis=-1)
