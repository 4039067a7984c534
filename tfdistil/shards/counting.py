"""How often each piece occurs in rows of shards, counted once and kept beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tfdistil.console.progress import Counter
from tfdistil.files import new_file

if TYPE_CHECKING:
    from tfdistil.shards.reading import ShardedRows

_ROWS = 2**14
"""Rows that are looked at together: a few million pieces."""


def kept_counts(rows: ShardedRows, folder: Path, name: str, counter: Counter) -> np.ndarray:
    """The counts of a set, read from the folder of its shards, or made and written there.

    Args:
        rows: all of the set.
        folder: of the shards, whose name stands for the text and the tokenizer.
        name: of the set.
        counter: shows how far the counting is.

    Returns:
        int64 ``[vocabulary]``.
    """
    path = folder / f"{name}.counts.npy"
    total = int(rows.lengths.sum())
    counts = _read(path, rows.shards.vocabulary, total)
    if counts is None:
        counts = rows.piece_counts(counter(f"counts of the pieces of {name}", len(rows)))
        with new_file(path, ".npy") as partial:
            np.save(partial, counts)
    return counts


def _read(path: Path, vocabulary: int, total: int) -> np.ndarray | None:
    """The counts in a file; None where there is none, or those of other rows."""
    try:
        counts = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    fits = isinstance(counts, np.ndarray) and counts.dtype == np.int64
    if not fits or counts.shape != (vocabulary,) or (counts < 0).any() or counts.sum() != total:
        return None
    return counts


def count_rows(rows: ShardedRows, progress: Callable[[int], None]) -> np.ndarray:
    """How often each piece occurs, special ones included, int64 ``[vocabulary]``.

    Args:
        rows: some of those of their shards, in the order of the shards.
        progress: is told how many rows are done.
    """
    shards, counts = rows.shards, np.zeros(rows.shards.vocabulary, np.int64)
    for start in range(0, len(rows), _ROWS):
        chosen = rows.chosen[start : start + _ROWS]
        lengths, shard = rows.lengths[start : start + _ROWS], shards.shard[chosen]
        for number in np.unique(shard):
            here = shard == number
            first, length = shards.start[chosen[here]], lengths[here]
            # Each row's places: its first one, and those that follow.
            before = np.repeat(np.cumsum(length) - length, length)
            places = np.repeat(first, length) + np.arange(length.sum()) - before
            counts += np.bincount(shards.ids[number][places], minlength=len(counts))
        progress(min(start + _ROWS, len(rows)))
    return counts
