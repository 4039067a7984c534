"""What word pieces of a student's own begin with: the vectors of its teacher's pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.linalg import LinearOperator, cg

from tfdistil.students.embeddings import MARKS
from tfdistil.text.subwords import SubwordFeaturizer
from tfdistil.text.words import replace_surrogates

RIDGE = 1.0
"""λ of `fitted_to_words`."""
_STEPS = 200
"""Some 20 are enough."""
_INSIDE = "##"
_ROLES = ("cls", "sep", "pad", "unk", "mask")


def vectors_of_pieces(
    table: np.ndarray, source: SubwordFeaturizer, target: SubwordFeaturizer
) -> np.ndarray:
    """Vectors for the pieces of another tokenizer, from those of the pieces that spell them.

    Special pieces have those of their roles. A piece that ``source`` has too keeps its vector (one
    that begins no word that of such a one); any other gets the mean over the pieces ``source``
    makes of its characters. What it cannot spell, as the letters of another script, is drawn from
    the normal distribution with the mean and deviation of the table, so that no two pieces begin
    alike as the one for unknown words would have them.

    Args:
        table: ``[V, D]``, a row per piece of ``source``.
        source: makes word pieces with any tokenizer.
        target: makes WordPiece's, where ``##`` is inside of a word.

    Returns:
        float32 ``[V', D]``, a row per piece of ``target``.
    """
    vocabulary = target.tokenizer.get_vocab()
    draw = np.random.default_rng(0).normal(size=(target.tokenizer.get_vocab_size(), table.shape[1]))
    vectors = (table.mean(axis=0) + draw * table.std(axis=0)).astype(np.float32)
    spelled = source.pieces([piece.removeprefix(_INSIDE) for piece in vocabulary])
    known = source.tokenizer.get_vocab()
    normalizer = source.tokenizer.normalizer
    # Others than WordPiece mark where a word begins.
    inside = _INSIDE if any(piece.startswith(_INSIDE) for piece in known) else ""
    silent = {source.unk, *(known[mark] for mark in MARKS if mark in known)}
    for piece, row in vocabulary.items():
        text = piece.removeprefix(_INSIDE)
        same = None
        if text != piece:
            folded = text if normalizer is None else normalizer.normalize_str(text)
            same = known.get(inside + text, known.get(inside + folded))
        ids = [i for i in spelled[text] if i not in silent] if same is None else [same]
        if ids:
            vectors[row] = table[ids].mean(axis=0)
    for role in _ROLES:
        if getattr(source, role) is not None and getattr(target, role) is not None:
            vectors[getattr(target, role)] = table[getattr(source, role)]
    return vectors


def fitted_to_words(
    vectors: np.ndarray,
    table: np.ndarray,
    source: SubwordFeaturizer,
    target: SubwordFeaturizer,
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
        source, target: make word pieces, ``target`` WordPiece's.
        words: how often each occurs; one with a piece that either does not know is left out.

    Returns:
        float32 ``[V', D]``.
    """
    counts = Counter[str]()
    for word, count in words.items():
        for part in parts_of(target, word):
            counts[part] += count
    old, new = source.pieces(counts), target.pieces(counts)
    fitted = [
        part
        for part in sorted(counts)
        if source.unk not in old[part] and target.unk not in new[part]
    ]
    if not fitted:
        return vectors
    means = _means([new[part] for part in fitted], len(vectors))
    wanted = _means([old[part] for part in fitted], len(table)) @ table.astype(np.float64)
    weights = np.sqrt([counts[part] for part in fitted])

    weighted = means.T @ diags_array(weights)
    matrix = (weighted @ means + RIDGE * eye_array(len(vectors))).tocsr()
    right = weighted @ wanted + RIDGE * vectors
    return _solution(matrix, right, vectors).astype(np.float32)


def parts_of(featurizer: SubwordFeaturizer, text: str) -> list[str]:
    """Words and punctuation marks of a text, as WordPiece keeps them apart; their case stays."""
    splitter = featurizer.tokenizer.pre_tokenizer
    return [part for part, _ in splitter.pre_tokenize_str(replace_surrogates(text))]


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
    begin = begin.astype(float).ravel()
    found, _ = cg(product, right.ravel(), x0=begin, rtol=1e-5, maxiter=_STEPS, M=inverse)
    return found.reshape(shape)
