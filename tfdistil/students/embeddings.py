"""Word embeddings of a student, from its teacher's or from word vectors (XtremeDistil, table 7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfdistil.errors import DataError
from tfdistil.files import check_regular

_LONGEST_LINE = 1 << 20

MARKS = ("##", "\u2581", "\u0120")
"""What tokenizers put in front of a piece: WordPiece inside a word, SentencePiece and byte-level
byte-pair encoding at the start of one."""


def svd_embedding(table: np.ndarray, dim: int) -> np.ndarray:
    """The teacher's embeddings in the best ``dim`` dimensions.

    With ``table = U S V^T``, the rows of ``table V_E`` are the coordinates of the words in the
    subspace that minimizes the summed squared error of all rows (Eckart & Young 1936). They are
    then turned inside that subspace: the columns of ``U S`` have very different ranges, an int8
    table has one scale, and turned by a random rotation all columns share it fairly (at D = E = 384
    of MiniLM the squared rounding error is a third). Distances and inner products stay as they are.

    Args:
        table: ``[V, D]``.
        dim: E, at most D.

    Returns:
        float32 ``[V, E]``.

    Raises:
        ValueError: a table that is no matrix of finite numbers, or a width outside ``1 .. D``.
    """
    table = checked_table(table, dim)
    basis = principal_axes(table, np.zeros(table.shape[1]))[:, :dim] @ rotation(dim)
    return (table.astype(np.float32) @ basis.astype(np.float32)).astype(np.float32)


def pca_ppa_embedding(table: np.ndarray, dim: int, directions: int) -> np.ndarray:
    """The teacher's embeddings by PCA between two post-processings (Raunak et al. 2019).

    Post-processing (PPA, Mu & Viswanath 2018) takes off the mean and the components along the top
    ``directions`` principal axes, which frequency dominates; it is done before and after the PCA to
    ``dim``. XtremeDistil has 14 and 17 directions (table 7).

    With the principal axes ``u_1 .. u_D`` of the centred table, the first post-processing leaves
    ``u_(d+1)`` and on, the PCA keeps those up to ``u_(d+E)``, and as they are the principal axes of
    what is left, the second one takes the first d of them: the rows are the centred coordinates
    along ``u_(2d+1) .. u_(d+E)``, of rank at most E - d. Like those of `svd_embedding` they are
    then turned, so that all columns share one int8 scale.

    Args:
        table: ``[V, D]``.
        dim: E, at most D.
        directions: d.

    Returns:
        float32 ``[V, E]``.

    Raises:
        ValueError: a table that is no matrix of finite numbers, a width outside ``1 .. D``, or
            directions that leave nothing.
    """
    table = checked_table(table, dim)
    most = min(dim, -(-table.shape[1] // 2)) - 1
    if not 0 <= directions <= most:
        raise ValueError(
            f"{directions} directions: at most {most} can be taken off twice at a width of {dim} "
            f"and a table of width {table.shape[1]}; use fewer, or a larger width"
        )
    mean = table.mean(axis=0, dtype=np.float64)
    axes = principal_axes(table, mean)[:, 2 * directions : directions + dim]
    basis = axes @ rotation(dim)[: axes.shape[1]]
    centred = table.astype(np.float32) - mean.astype(np.float32)
    return (centred @ basis.astype(np.float32)).astype(np.float32)


def checked_table(table: np.ndarray, dim: int) -> np.ndarray:
    """The table as an array.

    Raises:
        ValueError: no matrix of finite numbers, or a width outside ``1 .. D``.
    """
    table = np.asarray(table)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError(f"expected a matrix of finite numbers, got shape {table.shape}")
    if not 1 <= dim <= table.shape[1]:
        raise ValueError(
            f"embedding dimension {dim} is outside 1 .. {table.shape[1]}, the width of the table"
        )
    return table


def principal_axes(table: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Right singular vectors ``[D, D]`` of ``table - mean``, the strongest first."""
    # The eigenvectors of the [D, D] Gram matrix: no decomposition of the long matrix, which is only
    # visited in blocks.
    gram = np.zeros((table.shape[1],) * 2)
    for start in range(0, len(table), 4096):
        block = table[start : start + 4096].astype(np.float64) - mean
        gram += block.T @ block
    basis = np.linalg.eigh(gram)[1][:, ::-1]
    # Eigenvectors have either sign; this makes the result the same on every machine.
    strongest = np.abs(basis).argmax(axis=0)
    return basis * np.sign(basis[strongest, np.arange(basis.shape[1])])


def rotation(dim: int) -> np.ndarray:
    """A random orthogonal matrix ``[E, E]``, the same for each width."""
    q, r = np.linalg.qr(np.random.default_rng(dim).normal(size=(dim, dim)))
    return q * np.sign(np.diag(r))


def read_vectors(
    path: str | Path, wanted: Collection[str] | None = None, first: int = 0
) -> dict[str, np.ndarray]:
    """Word vectors in the text format of fastText and GloVe: a word and its numbers on each line.

    A first line of two integers (words, width) is optional. Words may hold spaces, as some of
    GloVe's do. Of a word that comes twice the first vector counts.

    Args:
        path: a ``.vec`` or ``.txt`` file in UTF-8, unpacked.
        wanted: keep these words alone; of other lines only the number of fields is looked at, so
            that a file of millions of words needs little time and memory. None: all.
        first: keep as many of the first lines, too; such files have frequent words first.

    Returns:
        Word to float32 ``[dim]``, in the order of the file.

    Raises:
        DataError: no such file, no words, or a broken line; with file and line.
    """
    path = Path(path)
    vectors: dict[str, np.ndarray] = {}
    header: tuple[int, int] | None = None
    dim = count = number = 0
    try:
        check_regular(path)
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                fields = _fields(raw, path, number)
                if number == 1 and _is_header(fields):
                    header = (int(fields[0]), int(fields[1]))
                    dim = header[1]
                    continue
                dim = dim or len(fields) - 1
                word = _word(fields, dim, path, number)
                count += 1
                asked = wanted is None or word in wanted or count <= first
                if asked and word not in vectors:
                    vectors[word] = _vector(fields[-dim:], path, number)
    except OSError as error:
        raise DataError(f"cannot be opened: {error.strerror}", path) from None
    if not count:
        raise DataError("no word vectors; expected a word and its numbers on each line", path)
    if header and header[0] != count:
        raise DataError(
            f"the first line announces {header[0]} words, there are {count}; get the file again",
            path,
            number,
        )
    return vectors


def width_of_vectors(path: Path) -> int:
    """The width of the vectors of a file for `read_vectors`, by its first line.

    Raises:
        DataError: no such file, or no vectors on its first line.
    """
    try:
        check_regular(path)
        with path.open("rb") as file:
            fields = _fields(file.readline(_LONGEST_LINE), path, 1)
    except OSError as error:
        raise DataError(f"cannot be opened: {error.strerror}", path) from None
    if _is_header(fields):
        return int(fields[1])
    _word(fields, len(fields) - 1, path, 1)
    return len(_vector(fields[1:], path, 1))


def _is_header(fields: list[str]) -> bool:
    """Whether a first line announces how many words follow, and their width."""
    return len(fields) == 2 and all(f.isdecimal() and len(f) < 10 for f in fields)


def _fields(raw: bytes, path: Path, number: int) -> list[str]:
    try:
        return raw.decode("utf-8").rstrip(" \r\n").split(" ")
    except UnicodeDecodeError as error:
        raise DataError(
            f"broken UTF-8: byte 0x{raw[error.start]:02x}; expected the text format of fastText "
            "(.vec) or GloVe (.txt), unpacked",
            path,
            number,
        ) from None


def _word(fields: list[str], dim: int, path: Path, number: int) -> str:
    found = len(fields) - 1
    # A word with spaces has more fields; but more numbers are no word.
    if found < dim or dim < 1 or (found > dim and _is_number(fields[-dim - 1])):
        raise DataError(
            f"{found} fields behind the word, expected {dim or 'one or more'} numbers; "
            "every line has as many as the first",
            path,
            number,
        )
    word = " ".join(fields[:-dim])
    if not word:
        raise DataError("no word in front of the numbers", path, number)
    return word


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _vector(fields: list[str], path: Path, number: int) -> np.ndarray:
    for text in fields:
        if not _is_number(text):
            raise DataError(f"{text!r} is no number", path, number)
    with np.errstate(over="ignore"):  # reported below
        vector = np.array([float(text) for text in fields], np.float32)
    if not np.isfinite(vector).all():
        raise DataError("the numbers must be finite in float32", path, number)
    return vector


class VocabularyVectors(NamedTuple):
    """Vectors for a vocabulary: ``table`` float32 ``[V, width]``, ``known`` bool ``[V]``."""

    table: np.ndarray
    known: np.ndarray

    @property
    def overlap(self) -> float:
        """Share of the pieces that have a vector of their own."""
        return float(self.known.mean())


def vectors_for_vocabulary(
    pieces: Sequence[str], vectors: Mapping[str, np.ndarray], seed: int = 0
) -> VocabularyVectors:
    """A table for a vocabulary from word vectors, as XtremeDistil's rows FastText and Glove.

    A piece takes the vector of the word it spells (its mark left out, see `MARKS`), or of that word
    in lower case. All others are random, with the mean and deviation of those found.

    Args:
        pieces: V of them, in the order of their ids.
        vectors: word to ``[width]``, such as `read_vectors` gives.
        seed: of the random ones.

    Raises:
        ValueError: no pieces, no vectors, vectors of different widths, or no piece that has one.
    """
    widths = {len(vector) for vector in vectors.values()}
    if not pieces or len(widths) != 1:
        raise ValueError(
            f"expected pieces and vectors of one width, got {len(pieces)} pieces and the widths "
            f"{sorted(widths)}"
        )
    found = [_spelled(piece, vectors) for piece in pieces]
    known = np.array([vector is not None for vector in found])
    if not known.any():
        raise ValueError(
            f"none of {len(pieces)} pieces is among the {len(vectors)} words; are the vectors of "
            "the language of the vocabulary?"
        )
    values = np.stack([vector for vector in found if vector is not None])
    draw = np.random.default_rng(seed).normal(size=(len(pieces), widths.pop()))
    table = (values.mean(axis=0) + draw * values.std(axis=0)).astype(np.float32)
    table[known] = values
    return VocabularyVectors(table, known)


def _spelled(piece: str, vectors: Mapping[str, np.ndarray]) -> np.ndarray | None:
    word = piece
    for mark in MARKS:
        word = word.removeprefix(mark)
    for spelling in (word, word.lower()):
        if spelling in vectors:
            return vectors[spelling]
    return None
