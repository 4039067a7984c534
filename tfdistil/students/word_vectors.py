"""Vectors of whole words that a student finds by hash, so that no device has to know the words."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from tfdistil.arguments import check_sizes
from tfdistil.device_ops import gather
from tfdistil.students.product_embedding import ENTRIES, check_codes, product_codes

MOST_ROWS = 1 << 16
"""Of a table of words: what two bytes tell apart."""
_LEAST_ROWS = 1 << 8
KEY_BYTES = 6
"""Of a word's hash: two for each of its two rows, two that tell it from other words there."""
NOBODY = 255
"""Both bytes of the check of a row without a word."""


def check_first_byte(first_byte: int, features: int) -> None:
    """Make sure that a fingerprint holds the bytes by which words are found.

    Raises:
        ValueError: it does not.
    """
    if type(first_byte) is not int or not 0 <= first_byte <= features // 4 - KEY_BYTES:
        raise ValueError(
            f"words are found by {KEY_BYTES} bytes from first_byte {first_byte!r} on, but a "
            f"fingerprint of {features} features has {features // 4}"
        )


def rows_of(keys: np.ndarray, rows: int) -> np.ndarray:
    """The two rows that each word may be in.

    Args:
        keys: uint8 ``[words, KEY_BYTES]``.
        rows: R, a power of two.

    Returns:
        int64 ``[words, 2]``: bytes 0 and 1, and 2 and 3, as little-endian numbers modulo R.
    """
    low, high = keys[:, 0:4:2].astype(np.int64), keys[:, 1:4:2].astype(np.int64)
    return (low + 256 * high) % rows


def places(keys: np.ndarray, rows: int) -> np.ndarray:
    """A row of its own for as many words as possible, the first ones before others.

    A word whose rows are both taken moves their words to their other rows, if that frees one
    (cuckoo hashing, Pagh & Rodler 2004). So no word is left out for the sake of a later one; of
    words with the same key the first one counts.

    Args:
        keys: uint8 ``[words, KEY_BYTES]``.
        rows: R, a power of two.

    Returns:
        The row of each word, int64 ``[words]``; -1 where there is none.
    """
    found = np.full(len(keys), -1, np.int64)
    if not len(keys):
        return found
    pairs, owner, room = rows_of(keys, rows).tolist(), dict[int, int](), _Room(rows)
    for word in np.sort(np.unique(keys, axis=0, return_index=True)[1]).tolist():
        if not room.take(*pairs[word]):
            continue
        for start in pairs[word]:
            chain, seen = [start], {start}
            while (there := owner.get(chain[-1])) is not None:
                other = sum(pairs[there]) - chain[-1]
                if other in seen:  # there is room, but not this way
                    break
                chain.append(other)
                seen.add(other)
            else:
                for free, taken in zip(chain[:0:-1], chain[-2::-1], strict=True):
                    owner[free] = owner[taken]
                owner[start] = word
                break
    found[[*owner.values()]] = [*owner]
    return found


class _Room:
    """Which words still find a row: as edges between their two, with a vertex for each edge.

    A connected part has room for as many words as it has rows; parts are kept by union-find.
    """

    def __init__(self, rows: int):
        self._parent, self._free = [*range(rows)], [1] * rows

    def take(self, one: int, other: int) -> bool:
        """Whether there is room for a word of these rows, which is then taken."""
        one, other = self._root(one), self._root(other)
        free = self._free[one] + (self._free[other] if other != one else 0)
        if free:
            self._parent[other], self._free[one] = one, free - 1
        return bool(free)

    def _root(self, row: int) -> int:
        parent = self._parent
        while parent[row] != row:
            parent[row] = row = parent[parent[row]]
        return row


@keras.saving.register_keras_serializable("tfdistil")
class WordVectors(keras.layers.Layer):
    """The vector of a word by six bytes of its fingerprint; one vector for all other words.

    The bytes are of the hash family ``murmur``, so they are as good as random. Of the two rows that
    they name (`rows_of`) a word is in the first whose check, two bytes, is its own; two words in
    65,536 are taken for another one. A row is M codes, see
    `tfdistil.students.product_embedding`. They stay as they are; the codebooks, and the vector of
    other words, which begins as zeros, can be trained.

    Args:
        rows: R, a power of two from 256 to 65,536. Of as many words some four fifths find one.
        dim: E, width of the vectors.
        codes: M, bytes for a row beside its check, which divide E.
        first_byte: where the six bytes begin in a fingerprint.
        seed: of random codes and codebooks, until `assign`.

    Raises:
        ValueError: rows that are no such power, or sizes that do not fit.
    """

    def __init__(
        self,
        rows: int,
        dim: int,
        codes: int,
        first_byte: int = 0,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_sizes(MOST_ROWS, rows=rows)
        if rows < _LEAST_ROWS or rows & (rows - 1):
            raise ValueError(
                f"words.rows is a power of two from {_LEAST_ROWS:,} to {MOST_ROWS:,}, got {rows:,}"
            )
        check_sizes(dim=dim)
        check_codes(dim, codes)
        self.rows, self.dim, self.parts = rows, dim, codes
        self.first_byte, self.seed = first_byte, seed
        # What the higher byte of an address adds to the lower one.
        self._high = (np.arange(256, dtype=np.int32) * 256) % rows

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        del input_shape
        draw = np.random.default_rng(self.seed)
        codes = draw.integers(0, ENTRIES, (self.rows, self.parts), np.uint8)
        checks = np.full((self.rows, 2), NOBODY, np.uint8)
        self.checks, self.codes = (
            self.add_weight(
                name=name,
                shape=values.shape,
                dtype="uint8",
                initializer=lambda shape, dtype, v=values: ops.convert_to_tensor(v, dtype),
                trainable=False,
            )
            for name, values in (("checks", checks), ("codes", codes))
        )
        self.codebooks = self.add_weight(
            name="codebooks",
            shape=(self.parts * ENTRIES + 1, self.dim // self.parts),
            initializer=keras.initializers.RandomNormal(stddev=self.dim**-0.5, seed=self.seed),
        )
        self.built = True

    def assign(self, keys: np.ndarray, vectors: np.ndarray) -> int:
        """Begin with the vectors of some words.

        Their mean is taken off, and what is left is scaled to a mean square of 1 / E, as random
        vectors have it.

        Args:
            keys: six bytes of each word's fingerprint, uint8 ``[words, KEY_BYTES]``, the words
                that matter most first, see `places`.
            vectors: ``[words, E]``.

        Returns:
            How many words have found a row.

        Raises:
            ValueError: vectors of another width, or none at all.
        """
        if vectors.shape != (len(keys), self.dim):
            raise ValueError(f"{len(keys)} words of {self.dim} columns, got {vectors.shape}")
        row = places(keys, self.rows)
        keys, vectors, row = keys[row >= 0], vectors[row >= 0].astype(np.float64), row[row >= 0]
        if not len(row):
            raise ValueError("a table of words begins with one word at least, got none")
        vectors -= vectors.mean(axis=0)
        size = np.sqrt(np.mean(vectors**2) * self.dim)
        vectors /= size if size > 0 else 1.0  # of a single word nothing is left
        found = product_codes(vectors.astype(np.float32), self.parts)
        checks = np.full((self.rows, 2), NOBODY, np.uint8)
        codes = np.zeros((self.rows, self.parts), np.uint8)
        checks[row], codes[row] = keys[:, 4:], found.codes
        self.checks.assign(checks)
        self.codes.assign(codes)
        books = found.codebooks.reshape(-1, self.dim // self.parts)
        self.codebooks.assign(np.concatenate([books, np.zeros_like(books[:1])]))
        return len(row)

    def call(self, fingerprint: Any) -> Any:
        """Bytes uint8 ``[B, T, N / 4]`` to ``[B, T, E]``."""
        end = self.first_byte + KEY_BYTES
        key = ops.cast(fingerprint[..., self.first_byte : end], "int32")
        rows = key[..., 0:4:2] + gather(self._high, key[..., 1:4:2])
        # The first row that has the word's check, else the second; none of both is another word.
        wanted = ops.expand_dims(_number(key[..., 4:6]), -1)
        same = ops.equal(_number(ops.cast(gather(self.checks, rows), "int32")), wanted)
        row = ops.where(same[..., 0], rows[..., 0], rows[..., 1])
        known = ops.expand_dims(ops.logical_or(same[..., 0], same[..., 1]), -1)
        first = np.arange(self.parts, dtype=np.int32) * ENTRIES
        entries = ops.cast(gather(self.codes, row), "int32") + first
        other = np.int32(self.parts * ENTRIES)
        parts = gather(self.codebooks, ops.where(known, entries, other))
        vectors = ops.reshape(parts, (*ops.shape(row), self.dim))
        return ops.cast(vectors, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "rows": self.rows,
            "dim": self.dim,
            "codes": self.parts,
            "first_byte": self.first_byte,
            "seed": self.seed,
        }


def _number(pair: Any) -> Any:
    """Two bytes of the last axis, int32, as one number."""
    return pair[..., 0] + 256 * pair[..., 1]
