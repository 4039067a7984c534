"""Sentences that are nearly those that came before: MinHash finds them, word pairs decide."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tfdistil.data.example import Example

BANDS, BAND = 16, 4
"""Sentences that share 80 % of their word pairs have one of 16 bands of 4 minima in common with a
probability of 99.98 %; 70 %: 98.8 %; 50 %: 64 %."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
_DIGIT = re.compile(r"\d")


def drop_near_duplicates(examples: Sequence[Example], share: float) -> tuple[list[Example], int]:
    """Leave out each sentence that is nearly one before it that was kept.

    Two are nearly the same if, of all pairs of neighbouring words that either has, they share at
    least so many (Jaccard). Case, punctuation and which digits are there do not count, so
    "It is 5 o'clock." is "it is 7 o'clock"; the first and the last word are pairs with the border.

    Args:
        examples: in order; of a pair of texts both count.
        share: above 0, up to 1.

    Returns:
        Those that stay, in order, and how many do not.
    """
    pairs = [_word_pairs(example) for example in examples]
    kept: list[Example] = []
    found: dict[int, list[int]] = defaultdict(list)
    for number, keys in enumerate(_shared_bands(pairs)):
        others = {other for key in keys for other in found[key]}
        if any(_jaccard(pairs[number], pairs[other]) >= share for other in others):
            continue
        kept.append(examples[number])
        for key in keys:  # what is dropped is compared with nothing
            found[key].append(number)
    return kept, len(examples) - len(kept)


def _word_pairs(example: Example) -> frozenset[int]:
    """Numbers of the pairs of neighbouring words of a sentence, at least one."""
    pairs = []
    for text in filter(None, example.key()):
        words = [_DIGIT.sub("0", word.casefold()) for word in text if any(map(str.isalnum, word))]
        # Of signs alone: what it is, since nothing is left that could be compared.
        words = ["", *(words or text), ""]
        pairs += [f"{one} {other}" for one, other in pairwise(words)]
    return frozenset(zlib.crc32(pair.encode()) for pair in pairs or [""])


def _jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    return len(one & other) / len(one | other)


def _shared_bands(pairs: Sequence[frozenset[int]]) -> list[list[int]]:
    """Of each sentence, numbers of the bands that it has in common with any other."""
    if not pairs:
        return []
    flat = np.array([pair for of_text in pairs for pair in of_text], np.uint64)
    starts = np.cumsum([0, *map(len, pairs[:-1])])
    generator = np.random.default_rng(0)
    found: list[list[int]] = [[] for _ in pairs]
    first = 0
    for _ in range(BANDS):
        band = np.zeros(len(pairs), np.uint64)
        for factor, start in generator.integers(1 << 62, 1 << 63, (BAND, 2), np.uint64):
            hashed = (flat * (factor | np.uint64(1)) + start) >> np.uint64(24)  # multiply, shift
            band = band * _MIX + np.minimum.reduceat(hashed, starts)  # wraps around, which mixes
        _, number, times = np.unique(band, return_inverse=True, return_counts=True)
        for text in np.flatnonzero(times[number] > 1):
            found[text].append(first + int(number[text]))
        first += len(times)
    return found
