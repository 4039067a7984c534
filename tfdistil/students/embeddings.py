"""Word embeddings of a student from its teacher's (XtremeDistil, section 4.2)."""

from __future__ import annotations

import numpy as np
from tokenizers import Tokenizer


def svd_embedding(table: np.ndarray, width: int) -> np.ndarray:
    """The teacher's embeddings in the best ``width`` dimensions.

    With ``table = U S V^T``, the rows of ``table V_E`` are the coordinates of the words in the
    subspace that minimizes the summed squared error of all rows (Eckart & Young 1936). They are
    then turned inside that subspace: the columns of ``U S`` have very different ranges, an int8
    table has one scale, and turned by a random rotation all columns share it fairly (at D = E = 384
    of MiniLM the squared rounding error is a third). Distances and inner products stay as they are.

    Args:
        table: ``[V, D]``.
        width: E, at most D.

    Returns:
        float32 ``[V, E]``.

    Raises:
        ValueError: a table that is no matrix of finite numbers, or a width outside ``1 .. D``.
    """
    table = np.asarray(table)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError(f"expected a matrix of finite numbers, got shape {table.shape}")
    if not 1 <= width <= table.shape[1]:
        raise ValueError(
            f"embedding width {width} is outside 1 .. {table.shape[1]}, the width of the table"
        )
    # The eigenvectors of the [D, D] Gram matrix are V: no decomposition of the long matrix, which
    # is only visited in blocks.
    gram = np.zeros((table.shape[1],) * 2)
    for start in range(0, len(table), 4096):
        block = table[start : start + 4096].astype(np.float64)
        gram += block.T @ block
    basis = np.linalg.eigh(gram)[1][:, ::-1][:, :width]
    # Eigenvectors have either sign; this makes the result the same on every machine.
    strongest = np.abs(basis).argmax(axis=0)
    basis = basis * np.sign(basis[strongest, np.arange(width)])
    basis = basis @ _rotation(width)
    return (table.astype(np.float32) @ basis.astype(np.float32)).astype(np.float32)


def _rotation(width: int) -> np.ndarray:
    """A random orthogonal matrix ``[E, E]``, the same for each width."""
    q, r = np.linalg.qr(np.random.default_rng(width).normal(size=(width, width)))
    return q * np.sign(np.diag(r))


def vectors_of_pieces(table: np.ndarray, source: Tokenizer, target: Tokenizer) -> np.ndarray:
    """Vectors for the pieces of another tokenizer, from those of the pieces that spell them.

    A piece that ``source`` has too keeps its vector (a ``##`` piece one that begins no word); any
    other gets the mean over the pieces ``source`` makes of its characters.

    Args:
        table: ``[V, D]``, a row per piece of ``source``.
        source, target: WordPiece tokenizers, or others whose continuations begin with ``##``.

    Returns:
        float32 ``[V', D]``, a row per piece of ``target``.
    """
    known = source.get_vocab()
    fold = source.normalizer.normalize_str if source.normalizer is not None else str
    vectors = np.zeros((target.get_vocab_size(), table.shape[1]), np.float32)
    for piece, row in target.get_vocab().items():
        text = piece.removeprefix("##")
        same = piece if piece in known else piece[: len(piece) - len(text)] + fold(text)
        if same in known:
            vectors[row] = table[known[same]]
        elif ids := source.encode(text, add_special_tokens=False).ids:
            vectors[row] = table[ids].mean(axis=0)
    return vectors
