"""What is left of a checkpoint's word embeddings in how many bytes: columns against codes.

``python -m tfdistil.benchmarks.word_tables FOLDER`` keeps the best columns of the table, a byte
each, and as many codes (`tfdistil.students.product_embedding`), and prints the share of the
variance that either loses. What int8 rounds off is not in it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tfdistil.students.embeddings import svd_embedding
from tfdistil.students.product_embedding import product_codes

BYTES = (32, 48, 64, 96, 128)
HEAD = "| bytes for a piece | best columns lose | codes lose |"


def lost(table: np.ndarray, size: int) -> tuple[float, float]:
    """Percent of a table's variance that its best columns lose, and that codes do.

    Args:
        table: ``[V, E]``.
        size: how many there are of either; it divides E.
    """
    centred = table - table.mean(axis=0)
    codes, books = product_codes(table, size)
    kept = svd_embedding(centred, size), books[np.arange(size), codes]
    whole = (centred**2).sum(dtype=np.float64)
    columns, coded = (100 * (1 - (rows**2).sum(dtype=np.float64) / whole) for rows in kept)
    return float(columns), float(coded)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(
        prog="python -m tfdistil.benchmarks.word_tables", description=__doc__
    )
    parser.add_argument("checkpoint", type=Path, help="Hugging Face folder")
    parser.add_argument("--pieces", type=int, default=16000, help="as many, drawn with seed 0")
    given = parser.parse_args(arguments)
    from tfdistil.encoders import word_embeddings

    table = np.asarray(word_embeddings(given.checkpoint), np.float32)
    table = table[np.random.default_rng(0).permutation(len(table))[: given.pieces]]
    print(HEAD, "|---:|---:|---:|", sep="\n")
    for size in BYTES:
        if table.shape[1] % size == 0:
            columns, codes = lost(table, size)
            print(f"| {size} | {columns:.1f} % | {codes:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
