"""The hash families ``affix8``, ``affix16`` and ``affix32``: bits of prefixes and of suffixes."""

from __future__ import annotations

import numpy as np

from tfdistil.text.projection.byte_strings import ByteStrings
from tfdistil.text.projection.murmur import MULTIPLIER, SECOND_MULTIPLIER

_ROWS = 4096  # strings at once: the intermediate arrays stay in the cache
_BYTE = np.uint64(8)


def affix_codes(strings: ByteStrings, count: int, bits: int) -> np.ndarray:
    """Codes of which every second one follows the string from its start, the others from its end.

    The family of the projection operator that "preserves information on suffixes and prefixes"
    (Kaliamoorthi et al. 2021, section 4.1). Modulo 2^64, with the constants A and B of ``murmur``:
    l = length * A, m = length * B, r = A, q = B, i = 0. For every pair of codes repeat 64 / bits
    times, for the first pair once less:

    - r = ((r << 8) | byte[i]) A, q = ((q << 8) | byte[length - 1 - i]) B
    - l = (l << bits) | (r mod 2^bits), m = (m << bits) | (q mod 2^bits)
    - i = (i + 1) mod length

    and append l, m. Everything carries on from pair to pair.

    Args:
        strings: at least one byte each.
        count: codes of each string.
        bits: of each step: 8, 16 or 32. More bits remember more of the bytes before.

    Returns:
        uint64 ``[strings, count]``.
    """
    codes = np.empty((len(strings), count), np.uint64)
    for first in range(0, len(strings), _ROWS):
        part = strings.rows(first, first + _ROWS)
        codes[first : first + _ROWS] = _draw(part, count, bits).T
    return codes


def _draw(strings: ByteStrings, count: int, bits: int) -> np.ndarray:
    lengths = strings.lengths
    ends = strings.starts + lengths - 1
    r = np.full(len(strings), MULTIPLIER)
    q = np.full(len(strings), SECOND_MULTIPLIER)
    low, high = (lengths.astype(np.uint64) * factor for factor in (r, q))
    at = np.zeros(len(strings), np.int64)
    step, mask = np.uint64(bits), np.uint64((1 << bits) - 1)
    codes = np.empty((count + count % 2, len(strings)), np.uint64)
    for pair in range(0, count, 2):
        for _ in range(64 // bits - (pair == 0)):
            r = ((r << _BYTE) | strings.data[strings.starts + at]) * MULTIPLIER
            q = ((q << _BYTE) | strings.data[ends - at]) * SECOND_MULTIPLIER
            low = (low << step) | (r & mask)
            high = (high << step) | (q & mask)
            at += 1
            at[at == lengths] = 0
        codes[pair], codes[pair + 1] = low, high
    return codes[:count]
