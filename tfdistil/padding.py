"""Lengths of padded arrays: few, so that few shapes occur."""

from __future__ import annotations

from typing import Any

MULTIPLE = 8
"""What lengths are rounded up to, where nothing asks for another one."""

_SMALLEST = 32
"""The first length on a backend that compiles for each."""


def padded_lengths(pieces: Any, tokens: Any, multiple: int, longest: int) -> tuple[int, int]:
    """The lengths ``(T, U)`` of a batch.

    TensorFlow's graph serves all lengths, so that they are only rounded up to a multiple. JAX
    compiles a program for every pair of them, and for all pairs where batches of several streams
    come together: there they are a multiple times a power of two, the same for both.

    Args:
        pieces: of the longest row, at most ``longest``.
        tokens: of the row with most, at most ``pieces``.
        multiple: as `tfdistil.distill.rows.Rows.inputs` takes it.
        longest: positions that the model reads.
    """
    import keras  # not needed to look at data, and slow

    if keras.backend.backend() == "tensorflow":
        return min(_round_up(pieces, multiple), longest), _round_up(tokens, multiple)
    length = max(multiple, _SMALLEST)
    while length < pieces:
        length *= 2
    return (min(length, longest),) * 2


def _round_up(length: Any, multiple: int) -> int:
    return max(multiple, -(-int(length) // multiple) * multiple)
