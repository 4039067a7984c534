"""The hash family ``ngram``: words that share pieces have features in common (SimHash)."""

from __future__ import annotations

import numpy as np

from tfdistil.text.projection.byte_strings import ByteStrings
from tfdistil.text.projection.murmur import murmur_codes

# Bytes that occur in no UTF-8 text, and that look like the first byte of a character.
BEFORE, AFTER = 0xFE, 0xFF
SIZES = (2, 3, 4)

_PLUS_BITS = np.uint64(0x5555555555555555)
_ONE = np.uint64(1)
_GRAMS = 2048  # n-grams at once: their codes stay in the cache


def ngram_codes(strings: ByteStrings, count: int) -> np.ndarray:
    """Signs of the sum of the ternary ``murmur`` features of a word's character n-grams.

    A word is its characters (code points in UTF-8) between a byte FE and a byte FF, which count as
    a character each. Its n-grams are all runs of 2, 3 and 4 of these, repetitions counted. In the
    codes of each the bit pair 01 counts +1, 10 counts -1; the word's pair is 01 where the sum over
    the n-grams is positive, 10 where it is negative, 00 where it is 0 (Charikar 2002, for ternary
    vectors). The result is in this notation whichever map the projection uses.

    Args:
        strings: at least one, valid UTF-8, a character or more each, without gaps in their buffer.
        count: codes of each string.

    Returns:
        uint64 ``[strings, count]``.
    """
    codes = np.empty((len(strings), count), np.uint64)
    data = _marked(strings)
    borders = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))
    marked = ByteStrings.joined(data, strings.lengths + 2)
    first = np.searchsorted(borders, marked.starts)  # each word's first character
    characters = np.diff(np.append(first, len(borders) - 1))
    order = np.argsort(characters, kind="stable")
    for rows in _chunks(order, characters):
        codes[rows] = _signs(_grams(marked.data, borders, first[rows], characters[rows], count))
    return codes


def _chunks(order: np.ndarray, characters: np.ndarray) -> list[np.ndarray]:
    """Words from short to long, as many at once as have ``_GRAMS`` n-grams or little more.

    Those of a chunk are of about one length, so few of its places stay empty; and the words of one
    text are one chunk, which is what a new text waits for.
    """
    size = (len(SIZES) * characters[order]).cumsum()
    cuts = np.flatnonzero(np.diff(size // _GRAMS)) + 1
    return np.split(order, cuts)


def _marked(strings: ByteStrings) -> np.ndarray:
    """The strings' bytes with the marks around each, uint8 ``[bytes + 2 strings]``."""
    count, total = len(strings), int(strings.lengths.sum())
    data = np.empty(total + 2 * count, np.uint8)
    ends = np.cumsum(strings.lengths + 2)
    data[ends - strings.lengths - 2] = BEFORE
    data[ends - 1] = AFTER
    shift = np.repeat(2 * np.arange(count) + 1, strings.lengths)
    data[np.arange(total) + shift] = strings.data[:total]
    return data


def _grams(
    data: np.ndarray, borders: np.ndarray, first: np.ndarray, characters: np.ndarray, count: int
) -> np.ndarray:
    """Codes of all n-grams, uint64 ``[words, n-grams of the longest word, count]``; others are 0.

    Args:
        data: the buffer.
        borders: where each character in it begins, and its end.
        first: each word's first character.
        characters: of each word, marks included.
        count: codes of each n-gram.
    """
    longest = int(characters.max())
    sizes = np.concatenate([np.full(longest - n + 1, n) for n in SIZES if n <= longest])
    at = np.concatenate([np.arange(longest - n + 1) for n in SIZES if n <= longest])
    present = at + sizes <= characters[:, None]
    word, gram = np.nonzero(present)
    start = first[word] + at[gram]
    begins, ends = borders[start], borders[start + sizes[gram]]
    codes = np.zeros((*present.shape, count), np.uint64)
    codes[word, gram] = murmur_codes(ByteStrings(data, begins, ends - begins), count)
    return codes


def _signs(codes: np.ndarray) -> np.ndarray:
    """Sum bit by bit over the n-grams, then compare the counts of the two bits of each pair.

    The numbers are bit planes: bit i of ``planes[k]`` is bit k of the count at bit i, so that one
    instruction adds 64 counts.
    """
    planes = [codes]
    while (grams := planes[0].shape[1]) > 1:
        half = grams // 2
        one, two = planes[0][:, :half], planes[0][:, half : 2 * half]
        sums, carry = [one ^ two], one & two
        for plane in planes[1:]:
            one, two = plane[:, :half], plane[:, half : 2 * half]
            differ = one ^ two
            sums.append(differ ^ carry)
            carry = (one & two) | (carry & differ)
        sums.append(carry)
        if grams % 2:
            rest = [plane[:, -1:] for plane in planes]
            rest.append(np.zeros_like(rest[0]))
            sums = [np.concatenate(both, axis=1) for both in zip(sums, rest, strict=True)]
        planes = sums
    positive = np.zeros_like(planes[0][:, 0])
    negative = np.zeros_like(positive)
    for plane in reversed(planes):
        plus, minus = plane[:, 0] & _PLUS_BITS, (plane[:, 0] >> _ONE) & _PLUS_BITS
        decided = positive | negative
        positive |= plus & ~minus & ~decided
        negative |= minus & ~plus & ~decided
    return positive | (negative << _ONE)
