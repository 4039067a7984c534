"""What a word looks like: a few facts about its characters, which no hash shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfdistil.text.projection.spec import SHAPE_FEATURES
from tfdistil.text.projection.tokens import capitals, letter_cases
from tfdistil.text.words import DIGIT, FORMAT, LETTER, MARK, SYMBOL, UNSPACED, CharacterClasses

HYPHENS = frozenset("-\u2010\u2011")
APOSTROPHES = frozenset("'\u2019")
_LENGTHS = (2, 4, 7)  # where the second length class begins, the third and the last

# The frozen ranges of the word splitter: what is a digit must not depend on a platform's Unicode.
_CLASSES = CharacterClasses()


def shapes(words: Sequence[str]) -> np.ndarray:
    """The facts of each word, in the order of the table in docs/projection.md, section 4.

    The first letter is a capital; all are; one after the first is and one is none; a digit;
    a digit and no letter; a hyphen inside; an apostrophe; another symbol; and of these exactly one:
    at most 1 character, 2 to 3, 4 to 6, at least 7. Marks and format characters do not count.

    Args:
        words: without surrogates, before lower-casing, none of them empty.

    Returns:
        bool ``[words, 12]``.
    """
    found = np.zeros((len(words), SHAPE_FEATURES), bool)
    found[:, :2] = capitals(words)
    for row, word in zip(found, words, strict=True):
        cases = letter_cases(word)
        kinds = [_CLASSES[c] for c in word]
        hyphens = sum(c in HYPHENS for c in word[1:-1])
        apostrophes = sum(c in APOSTROPHES for c in word)
        row[2] = any(cases[1:]) and not all(cases)
        row[3] = DIGIT in kinds
        row[4] = DIGIT in kinds and LETTER not in kinds and UNSPACED not in kinds
        row[5] = hyphens > 0
        row[6] = apostrophes > 0
        row[7] = kinds.count(SYMBOL) > hyphens + apostrophes
        length = sum(kind not in (MARK, FORMAT) for kind in kinds)
        row[8 + sum(length >= least for least in _LENGTHS)] = True
    return found
