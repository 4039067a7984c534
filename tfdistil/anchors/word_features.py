"""What a feature-based CRF sees of a word: affixes, shape and the words around it."""

from __future__ import annotations

import re
from collections.abc import Sequence

AFFIX = 4
"""Characters of the longest prefix and suffix."""
AROUND = 2
"""Words on each side that are seen, too."""

_RUNS = re.compile(r"(.)\1+")


def shape(word: str) -> str:
    """``X`` for capitals, ``x`` for other letters, ``0`` for digits, all else as it is.

    Runs are written once: ``McDonald's`` is ``XxXx'x``, ``2021`` is ``0``.
    """
    kinds = (
        "X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word
    )
    return _RUNS.sub(r"\1", "".join(kinds))


def word_features(words: Sequence[str]) -> list[list[str]]:
    """Features of each word of a sentence.

    These are the word in lower case, its prefixes and suffixes of up to `AFFIX` characters, its
    shape, and lower case and shape of the `AROUND` words before and after it.
    """
    lower, shapes = [word.lower() for word in words], [shape(word) for word in words]
    found = []
    for i, word in enumerate(words):
        features = ["bias", f"w={lower[i]}", f"s={shapes[i]}"]
        for size in range(1, min(AFFIX, len(word)) + 1):
            features += [f"p={word[:size]}", f"e={word[-size:]}"]
        for offset in range(-AROUND, AROUND + 1):
            if offset == 0:
                continue
            there = i + offset
            if 0 <= there < len(words):
                features += [f"{offset}w={lower[there]}", f"{offset}s={shapes[there]}"]
            else:
                features.append(f"{offset}none")
        found.append(features)
    return found
