"""Operations that Keras guards with others a device would pay for, or has no kernel for."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops


def gather(table: Any, indices: Any, axis: int = 0) -> Any:
    """``keras.ops.take`` for indices that are never negative: one GATHER.

    Keras first adds the size to negative ones, three operations over all indices.

    Args:
        table: any shape.
        indices: int32, at least 0.
        axis: of the table.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.gather(table, indices, axis=axis)
    return ops.take(table, indices, axis=axis)


def gather_along(x: Any, positions: Any) -> Any:
    """``x[b, positions[b, n]]`` as one GATHER, where ``keras.ops.take_along_axis`` takes many.

    Args:
        x: ``[B, T]``.
        positions: int32 ``[B, N]``, at least 0.

    Returns:
        ``[B, N]``.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.gather(x, positions, axis=1, batch_dims=1)
    return ops.take_along_axis(x, positions, axis=1)


def argmax(x: Any) -> Any:
    """Index of the largest number of the last axis, int32; the first of equal ones.

    Keras tells -0.0 from 0.0 by their bits, for which the stock runtime has no kernel.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.argmax(x, axis=-1, output_type=tf.int32)
    return ops.argmax(x, axis=-1)
