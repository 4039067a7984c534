"""Word embeddings of one byte for every few columns: product quantization of their table."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from tfdistil.arguments import check_sizes
from tfdistil.students.embeddings import checked_table, principal_axes, rotation

ENTRIES = 256
"""Of a codebook: what one byte tells apart."""
_ROUNDS = 15


class ProductCodes(NamedTuple):
    """A table as codes and what they stand for.

    Attributes:
        codes: uint8 ``[V, M]``.
        codebooks: float32 ``[M, ENTRIES, E / M]``; row v of the table is near
            ``codebooks[0, codes[v, 0]], ..., codebooks[M - 1, codes[v, M - 1]]`` put together.
    """

    codes: np.ndarray
    codebooks: np.ndarray


def product_codes(table: np.ndarray, codes: int, seed: int = 0) -> ProductCodes:
    """Cut the columns into parts, and give the rows of each part to the nearest of 256 means.

    Jégou et al. 2011, *Product Quantization for Nearest Neighbor Search*. Which columns make a part
    is chosen as Ge et al. 2013 (*Optimized Product Quantization*, section 3.3.2) have it: the
    principal components of the table, the strongest first, go each to the part that has the least
    product of variances so far. Inside a part they are turned by a random rotation, so that its
    columns share one int8 scale. So the table comes back in other coordinates, without its mean;
    distances are kept but for what is lost.

    Args:
        table: ``[V, E]``.
        codes: M, which divides E.
        seed: of the rows that the means begin at.

    Raises:
        ValueError: a table that is no matrix of finite numbers, or codes that do not divide its
            width.
    """
    from scipy.cluster.vq import kmeans2  # a student without codes does without it

    table = checked_table(table, np.shape(table)[-1]).astype(np.float32)
    check_codes(table.shape[1], codes)
    width = table.shape[1] // codes
    mean = table.mean(axis=0, dtype=np.float64)
    table = table - mean.astype(np.float32)
    axes, turn = principal_axes(table, np.zeros_like(mean)), rotation(width)
    order = _allocation((table @ axes.astype(np.float32)).var(axis=0, dtype=np.float64), codes)
    draw = np.random.default_rng(seed)
    found = np.zeros((len(table), codes), np.uint8)
    books = np.zeros((codes, ENTRIES, width), np.float32)
    for at in range(codes):
        columns = axes[:, order[at * width : (at + 1) * width]] @ turn
        part = table @ columns.astype(np.float32)
        rows = np.unique(part, axis=0)
        begin = rows[draw.permutation(len(rows))[:ENTRIES]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mean that no row is nearest to stays where it is
            means, nearest = kmeans2(part, begin, iter=_ROUNDS, minit="matrix")
        books[at, : len(means)] = means
        found[:, at] = nearest
    return ProductCodes(found, books)


def check_codes(width: int, codes: int) -> None:
    """Codes share the columns of a table out among them without a remainder.

    Raises:
        ValueError: they do not divide the width.
    """
    check_sizes(embedding_codes=codes)
    if width % codes:
        fit = [parts for parts in range(1, width + 1) if width % parts == 0]
        near = sorted(fit, key=lambda parts: abs(parts - codes))[:2]
        raise ValueError(
            f"{codes} codes do not divide the {width} columns of the embeddings; "
            f"{' and '.join(map(str, sorted(near)))} do"
        )


def _allocation(variances: np.ndarray, parts: int) -> np.ndarray:
    """The columns of all parts, one part after another, each of as many."""
    size = len(variances) // parts
    logs = np.log(np.maximum(variances, 1e-12 * max(variances.max(), np.finfo(float).tiny)))
    logs -= logs.min()  # no factor below 1, so that a column makes a part's product no smaller
    columns: list[list[int]] = [[] for _ in range(parts)]
    products = np.zeros(parts)
    for column in np.argsort(-variances, kind="stable"):
        free = [part for part in range(parts) if len(columns[part]) < size]
        part = min(free, key=products.__getitem__)
        columns[part].append(int(column))
        products[part] += logs[column]
    return np.concatenate(columns)


@keras.saving.register_keras_serializable("tfdistil")
class ProductEmbedding(keras.layers.Layer):
    """An embedding layer whose table is codes and codebooks.

    The codes stay as they are; the codebooks can be trained, which moves all pieces that share an
    entry together.

    Args:
        vocabulary: V.
        dim: E.
        codes: M, bytes for a piece, which divides E.
        seed: of random codes and codebooks, until `assign`.

    Raises:
        ValueError: no sizes, or codes that do not divide E.
    """

    def __init__(
        self, vocabulary: int, dim: int, codes: int, seed: int | None = None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        check_codes(dim, codes)
        self.vocabulary, self.dim, self.parts, self.seed = vocabulary, dim, codes, seed

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        del input_shape
        draw = np.random.default_rng(self.seed)
        codes = draw.integers(0, ENTRIES, (self.vocabulary, self.parts), np.uint8)
        self.codes = self.add_weight(
            name="codes",
            shape=codes.shape,
            dtype="uint8",
            initializer=lambda shape, dtype: ops.convert_to_tensor(codes, dtype),
            trainable=False,
        )
        self.codebooks = self.add_weight(
            name="codebooks",
            shape=(self.parts * ENTRIES, self.dim // self.parts),
            initializer=keras.initializers.RandomNormal(stddev=self.dim**-0.5, seed=self.seed),
        )
        self.built = True

    def assign(self, table: np.ndarray) -> None:
        """Begin from a table ``[V, E]``, in coordinates of its own, see `product_codes`."""
        codes, books = product_codes(table, self.parts)
        self.codes.assign(codes)
        self.codebooks.assign(books.reshape(self.codebooks.shape))

    def call(self, ids: Any) -> Any:
        """Embeddings ``[..., E]`` of ids, int ``[...]``."""
        first = np.arange(self.parts, dtype=np.int32) * ENTRIES
        entries = ops.cast(ops.take(self.codes, ids, axis=0), "int32") + first
        parts = ops.take(self.codebooks, entries, axis=0)
        embedding = ops.reshape(parts, (*ops.shape(ids), self.dim))
        return ops.cast(embedding, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "vocabulary": self.vocabulary,
            "dim": self.dim,
            "codes": self.parts,
            "seed": self.seed,
        }
