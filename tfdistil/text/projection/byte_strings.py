"""Byte strings of different lengths, one after the other in one array."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

_WORD = 8


@dataclass(frozen=True, eq=False, slots=True)
class ByteStrings:
    """Byte strings in one buffer.

    Attributes:
        data: uint8 ``[bytes + 8]``; the last 8 bytes are 0, so that a word of 8 bytes can be read
            at every byte of a string.
        starts: where each string begins, int64 ``[strings]``.
        lengths: bytes of each, int64 ``[strings]``.
    """

    data: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def joined(cls, data: bytes | np.ndarray, lengths: np.ndarray) -> ByteStrings:
        """Strings that lie in ``data`` without gaps, in order."""
        flat = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
        padded = np.concatenate([flat, np.zeros(_WORD, np.uint8)])
        return cls(padded, np.cumsum(lengths) - lengths, lengths)

    @classmethod
    def of(cls, strings: Iterable[bytes]) -> ByteStrings:
        """Strings given one by one."""
        strings = list(strings)
        return cls.joined(b"".join(strings), np.array([len(s) for s in strings], np.int64))

    def __len__(self) -> int:
        return len(self.starts)

    def rows(self, first: int, end: int) -> ByteStrings:
        """Strings ``first`` to ``end - 1``, in the same buffer."""
        return ByteStrings(self.data, self.starts[first:end], self.lengths[first:end])

    def words(self) -> np.ndarray:
        """Little-endian uint64 at every byte of the buffer, ``[bytes + 1]``: a view."""
        return np.ndarray((len(self.data) - _WORD + 1,), "<u8", self.data, strides=(1,))
