"""What word pieces of a student's own begin with: the vectors of its teacher's pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.linalg import LinearOperator, cg
from tokenizers import Tokenizer

RIDGE = 1.0
"""λ of `fitted_to_words`: on words left out of the fit, as good as a third of it or three times it
(docs/word_tables.md)."""


def vectors_of_pieces(table: np.ndarray, source: Tokenizer, target: Tokenizer) -> np.ndarray:
    """Vectors for the pieces of another tokenizer, from those of the pieces that spell them.

    A piece that ``source`` has too keeps its vector (a ``##`` piece one that begins no word); any
    other gets the mean over the pieces ``source`` makes of its characters. What it cannot spell, as
    the letters of another script, is drawn from the normal distribution with the mean and deviation
    of the table, so that no two pieces begin alike as the one for unknown words would have them.

    Args:
        table: ``[V, D]``, a row per piece of ``source``.
        source, target: WordPiece tokenizers, or others whose continuations begin with ``##``.

    Returns:
        float32 ``[V', D]``, a row per piece of ``target``.
    """
    known = source.get_vocab()
    fold = source.normalizer.normalize_str if source.normalizer is not None else str
    unknown = known.get(getattr(source.model, "unk_token", None) or "")
    size = (target.get_vocab_size(), table.shape[1])
    draw = np.random.default_rng(0).normal(size=size)
    vectors = (table.mean(axis=0) + draw * table.std(axis=0)).astype(np.float32)
    for piece, row in target.get_vocab().items():
        text = piece.removeprefix("##")
        same = piece if piece in known else piece[: len(piece) - len(text)] + fold(text)
        if same in known:
            vectors[row] = table[known[same]]
            continue
        ids = [i for i in source.encode(text, add_special_tokens=False).ids if i != unknown]
        if ids:
            vectors[row] = table[ids].mean(axis=0)
    return vectors


def fitted_to_words(
    vectors: np.ndarray,
    table: np.ndarray,
    source: Tokenizer,
    target: Tokenizer,
    words: Mapping[str, int],
) -> np.ndarray:
    """The vectors of pieces with which words come out as in the teacher's table.

    A word is the mean of its pieces, here and there. Of all vectors X those are taken that minimize
    ``Σ_w √n_w ‖mean of X over w's pieces - mean of the table over its pieces in source‖² +
    λ ‖X - vectors‖²``, n_w being how often w occurs: ridge regression, solved by conjugate
    gradients. Without it a piece that is no word begins as its letters do, of which a table of
    words knows nothing.

    Args:
        vectors: ``[V', D]``, a row per piece of ``target``: what is known without words, such as
            `vectors_of_pieces` gives. Pieces of no word keep them.
        table: ``[V, D]``, a row per piece of ``source``.
        source, target: tokenizers, ``target`` one of BERT's, whose words are fitted.
        words: how often each occurs; one with a piece that either does not know is left out.

    Returns:
        float32 ``[V', D]``.
    """
    counts = Counter[str]()
    for word, count in words.items():
        text = target.normalizer.normalize_str(word)
        for part, _ in target.pre_tokenizer.pre_tokenize_str(text):
            counts[part] += count
    parts = sorted(counts)
    old, new = (_spelled_by(tokenizer, parts) for tokenizer in (source, target))
    known = [n for n in range(len(parts)) if old[n] and new[n]]
    if not known:
        return vectors
    means = _means([new[n] for n in known], len(vectors))
    wanted = _means([old[n] for n in known], len(table)) @ table.astype(np.float64)
    weights = np.sqrt([counts[parts[n]] for n in known])

    weighted = means.T @ diags_array(weights)
    matrix = (weighted @ means + RIDGE * eye_array(len(vectors))).tocsr()
    right = weighted @ wanted + RIDGE * vectors
    return _solution(matrix, right, vectors).astype(np.float32)


def _spelled_by(tokenizer: Tokenizer, words: Sequence[str]) -> list[list[int]]:
    """The pieces of each word, none where it has an unknown one."""
    unknown = tokenizer.get_vocab().get(getattr(tokenizer.model, "unk_token", None) or "")
    spelled = tokenizer.encode_batch(list(words), add_special_tokens=False)
    return [[] if unknown in word.ids else word.ids for word in spelled]


def _means(spelled: Sequence[Sequence[int]], width: int) -> csr_array:
    """``[words, width]``: what a table is to be multiplied by for the mean of each word's rows."""
    lengths = np.array([len(ids) for ids in spelled])
    ends = np.concatenate([[0], np.cumsum(lengths)])
    columns = np.concatenate([np.asarray(ids) for ids in spelled])
    means = csr_array((np.repeat(1 / lengths, lengths), columns, ends), (len(spelled), width))
    means.sum_duplicates()
    return means


def _solution(matrix: csr_array, right: np.ndarray, begin: np.ndarray) -> np.ndarray:
    """X of ``matrix X = right``, all columns at once."""
    shape, diagonal = right.shape, matrix.diagonal()[:, None]
    size = (right.size, right.size)
    product = LinearOperator(size, lambda x: (matrix @ x.reshape(shape)).ravel(), dtype=float)
    inverse = LinearOperator(size, lambda x: (x.reshape(shape) / diagonal).ravel(), dtype=float)
    found, _ = cg(product, right.ravel(), x0=begin.astype(float).ravel(), rtol=1e-5, M=inverse)
    return found.reshape(shape)
