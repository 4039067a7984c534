"""The hash family ``murmur``: a 128-bit state of the Murmur kind, drawn out as far as needed."""

from __future__ import annotations

import numpy as np

from tfdistil.text.projection.byte_strings import ByteStrings

MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)  # A
SECOND_MULTIPLIER = np.uint64(0x9E3779B97F4A7835)  # B

_SHIFT = np.uint64(47)
_ROWS = 4096  # strings at once: the intermediate arrays stay in the cache


def murmur_codes(strings: ByteStrings, count: int) -> np.ndarray:
    """Hash codes of strings, those of the published projection operator on unsigned bytes.

    All arithmetic is modulo 2^64. With s(v) = v ^ (v >> 47):

    - h = length * A, g = 0
    - each full little-endian word d of 8 bytes: h = (h ^ s(d A) A) A, g = g ^ h
    - the tail d of 1 to 7 bytes, if there is one: h = (h ^ d) A, g = g ^ h
    - end: h = s(h) A, g = g ^ h, h = s(h), g = s(g B) B; the first codes are h, g
    - each further pair from the pair (l, m) before it: h = s(l) A, g = m ^ h; codes s(g B) B, s(h)

    Args:
        strings: at least one byte each, or the hash of no bytes.
        count: codes of each string.

    Returns:
        uint64 ``[strings, count]``.
    """
    codes = np.empty((len(strings), count), np.uint64)
    for first in range(0, len(strings), _ROWS):
        part = strings.rows(first, first + _ROWS)
        drawn = _draw(*_state(part), count)
        codes[first : first + _ROWS] = drawn.T
    return codes


def _mix(value: np.ndarray) -> np.ndarray:
    return value ^ (value >> _SHIFT)


def _state(strings: ByteStrings) -> tuple[np.ndarray, np.ndarray]:
    words, starts, lengths = strings.words(), strings.starts, strings.lengths
    h = lengths.astype(np.uint64) * MULTIPLIER
    g = np.zeros_like(h)
    full = lengths >> 3
    for at in range(int(full.max(initial=0))):
        rows = np.flatnonzero(full > at)
        word = words[starts[rows] + 8 * at]
        h[rows] = (h[rows] ^ (_mix(word * MULTIPLIER) * MULTIPLIER)) * MULTIPLIER
        g[rows] ^= h[rows]
    rows = np.flatnonzero(lengths & 7)
    tail = words[starts[rows] + 8 * full[rows]]
    bits = ((lengths[rows] & 7) << 3).astype(np.uint64)
    tail = tail & ((np.uint64(1) << bits) - np.uint64(1))
    h[rows] = (h[rows] ^ tail) * MULTIPLIER
    g[rows] ^= h[rows]
    h = _mix(h) * MULTIPLIER
    g ^= h
    return _mix(h), _mix(g * SECOND_MULTIPLIER) * SECOND_MULTIPLIER


def _draw(low: np.ndarray, high: np.ndarray, count: int) -> np.ndarray:
    """Codes ``[count, strings]``: the first pair, then pair after pair."""
    codes = np.empty((count + count % 2, len(low)), np.uint64)
    codes[0], codes[1] = low, high
    for at in range(2, count, 2):
        h = _mix(low) * MULTIPLIER
        g = high ^ h
        low, high = _mix(g * SECOND_MULTIPLIER) * SECOND_MULTIPLIER, _mix(h)
        codes[at], codes[at + 1] = low, high
    return codes[:count]
