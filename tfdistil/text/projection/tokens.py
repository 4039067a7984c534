"""Words to the bytes that are hashed: normalization, lower case, UTF-8."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np

from tfdistil.text.projection.byte_strings import ByteStrings
from tfdistil.text.projection.unicode_tables import NORMALIZED, lowercase_map
from tfdistil.text.words import replace_surrogates

END = "<EOS>"
"""What stands at the end of a text, and between the two texts of a pair."""

NULL = "<null>"
"""What an empty word is, and the only position of a text without words."""

_UPPER_TO_LOWER = lowercase_map()
_UPPER = np.array(sorted(_UPPER_TO_LOWER), np.uint32)
_LOWER = np.unique(np.array([*_UPPER_TO_LOWER.values()], np.uint32))
_NOT_FROZEN = re.compile(
    "[^" + re.sub(r"([0-9A-F]+)\s*", lambda m: f"\\U{m[1]:0>8}", NORMALIZED.strip()) + "]"
)


def normalized(words: Sequence[str], normalization: str) -> list[str]:
    """Words without lone surrogates (U+FFFD stands for each) and, with ``nfc``, composed.

    A word with a code point outside `NORMALIZED` is not composed: what it would become depends on
    the platform's version of Unicode.
    """
    together = "".join(words)
    if together.isascii():
        return list(words)
    replaced = replace_surrogates(together)
    if replaced != together:
        words = [replace_surrogates(word) for word in words]
    # What is inside a normalized text is normalized.
    if normalization == "none" or unicodedata.is_normalized("NFC", replaced):
        return list(words)
    return [
        word if _NOT_FROZEN.search(word) else unicodedata.normalize("NFC", word) for word in words
    ]


def lowered(text: str) -> str:
    """Each code point by itself in lower case, by the frozen table; the length stays."""
    return text.lower() if text.isascii() else text.translate(_UPPER_TO_LOWER)


def encoded(words: Sequence[str], *, lowercase: bool) -> ByteStrings:
    """UTF-8 of words without surrogates, none of them empty."""
    together = "".join(words)
    text = lowered(together) if lowercase else together
    data = np.frombuffer(text.encode(), np.uint8)
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    if len(data) > len(text):
        # From lengths in code points to lengths in bytes.
        starts = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))
        lengths = np.diff(starts[np.cumsum(lengths)], prepend=0)
    return ByteStrings.joined(data, lengths)


def capitals(words: Sequence[str]) -> np.ndarray:
    """Whether the first letter of each word is a capital, and whether all its letters are.

    A capital is a code point that has a lower case in the table; the other letters are those that
    are a lower case in it. Words without either are neither.

    Args:
        words: without surrogates, before lower-casing, none of them empty.

    Returns:
        bool ``[words, 2]``.
    """
    found = np.zeros((len(words), 2), bool)
    for at, word in enumerate(words):
        letters = letter_cases(word)
        found[at] = bool(letters) and letters[0], bool(letters) and all(letters)
    return found


def letter_cases(word: str) -> list[bool]:
    """Of each letter of a word that has a case, whether it is a capital."""
    return [_is_capital()[c] for c in word if c in _is_capital()]


@cache
def _is_capital() -> dict[str, bool]:
    return {chr(c): False for c in _LOWER.tolist()} | {chr(c): True for c in _UPPER.tolist()}
