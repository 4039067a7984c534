"""From raw text to words with their places in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from tfdistil.errors import ModelFileError
from tfdistil.text import unicode_classes as ranges

LETTER, DIGIT, SYMBOL, MARK, FORMAT, SPACE, CONTROL, UNSPACED = range(8)

# The first class whose ranges hold a character wins: a Thai digit is a digit, not a Thai letter.
_PRIORITY = (
    (ranges.SPACES, SPACE),
    (ranges.CONTROLS, CONTROL),
    (ranges.FORMATS, FORMAT),
    (ranges.MARKS, MARK),
    (ranges.SYMBOLS, SYMBOL),
    (ranges.DIGITS, DIGIT),
    (ranges.UNSPACED, UNSPACED),
)

_OF_RUNS = frozenset((LETTER, DIGIT))
_INSIDE_WORDS = frozenset("'’·‧׳״")
_INSIDE_NUMBERS = frozenset(".,:٫٬")
_GERSHAYIM = '"'
_ZERO_WIDTH_JOINER = "\u200d"
_STACKERS = frozenset("\u17d2\u1039")

_SURROGATES = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which UTF-8 cannot hold."""
    return _SURROGATES.sub("\ufffd", text)


class CharacterClasses(dict[str, int]):
    """Character to class; a character is looked up in the ranges once."""

    def __init__(self) -> None:
        super().__init__()
        self._tables = []
        for text, kind in _PRIORITY:
            pairs = [part.split("-") for part in text.split()]
            firsts = [int(pair[0], 16) for pair in pairs]
            lasts = [int(pair[-1], 16) for pair in pairs]
            self._tables.append((firsts, lasts, kind))

    def __missing__(self, character: str) -> int:
        code = ord(character)
        found = LETTER
        for firsts, lasts, kind in self._tables:
            at = bisect_right(firsts, code) - 1
            if at >= 0 and code <= lasts[at]:
                found = kind
                break
        self[character] = found
        return found


class WordSplitter:
    """Splits text into words, the same way in training, at run time and on other platforms.

    ``whitespace``: the words are the maximal runs of characters that are no white space.

    ``unicode``: characters have classes (``unicode_classes``: spaces, controls, formats, marks,
    symbols, digits, unspaced; in this order, the first that holds a character; any other, also a
    surrogate or an unassigned code point, is a letter). Going from left to right, a character
    *continues* the current word if

    1. it is a mark or a format character, and there is a current word;
    2. it is a letter or digit, and the current word is a run;
    3. it is one of ``' ’ · ‧ ׳ ״``, the current word is a run, and a letter or digit comes next;
    4. it is one of ``. , : ٫ ٬``, the last character of the current run that is neither mark nor
       format is a digit, and a digit comes next;
    5. it is ``"`` directly between two Hebrew letters (U+05D0 to U+05EA), in a run;
    6. it is a symbol directly after U+200D, and the current word is a symbol (emoji sequences);
    7. it is an unspaced character directly after U+17D2 or U+1039, and the current word is one
       (Khmer and Myanmar stacked consonants).

    Any other character ends the current word. A space or control then belongs to no word, nor does
    a format character without a word before it; a letter, digit or mark starts a run, a symbol
    starts a symbol, an unspaced character starts a word of its own kind. So punctuation and each
    character of the scripts written without spaces are words of their own, and ``don't``,
    ``10:30`` and ``3.5`` are one word each.

    Args:
        kind: ``unicode`` or ``whitespace``.

    Raises:
        ModelFileError: another kind.
    """

    def __init__(self, kind: Literal["unicode", "whitespace"] = "unicode"):
        if kind not in ("unicode", "whitespace"):
            raise ModelFileError(
                f"unknown word splitter {kind!r:.40}; this version knows 'unicode' and "
                "'whitespace'. Upgrade tfdistil, or correct the name"
            )
        self.kind = kind
        self._classes = CharacterClasses()

    def split(self, text: str) -> list[tuple[str, int, int]]:
        """The words of a text as ``(word, start, end)``, with ``text[start:end] == word``.

        Offsets count code points. Never raises, whatever the characters.
        """
        borders = self._runs(text) if self.kind == "unicode" else self._non_spaces(text)
        return [(text[start:end], start, end) for start, end in borders]

    def to_json(self) -> dict[str, Any]:
        """What `from_json` needs."""
        return {"kind": self.kind}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> WordSplitter:
        """The splitter that `to_json` wrote."""
        return cls(data.get("kind", ""))

    def _non_spaces(self, text: str) -> Iterator[tuple[int, int]]:
        start = -1
        for at, character in enumerate(text):
            if self._classes[character] == SPACE:
                if start >= 0:
                    yield start, at
                start = -1
            elif start < 0:
                start = at
        if start >= 0:
            yield start, len(text)

    def _runs(self, text: str) -> Iterator[tuple[int, int]]:
        classes = self._classes
        start = -1  # of the current word, -1 if there is none
        word = LETTER  # its kind: LETTER (a run), SYMBOL or UNSPACED
        base = LETTER  # class of its last character that is neither mark nor format
        for at, character in enumerate(text):
            kind = classes[character]
            if start >= 0:
                if word == LETTER and kind in _OF_RUNS:  # most characters of most texts
                    base = kind
                    continue
                if kind in (MARK, FORMAT):
                    continue
                if word == LETTER:
                    goes_on = kind == SYMBOL and self._joins(text, at, base)
                elif word == SYMBOL:
                    goes_on = kind == SYMBOL and text[at - 1] == _ZERO_WIDTH_JOINER
                else:
                    goes_on = kind == UNSPACED and text[at - 1] in _STACKERS
                if goes_on:
                    base = kind
                    continue
                yield start, at
            if kind in (SPACE, CONTROL, FORMAT):
                start = -1
            else:
                start, base = at, kind
                word = kind if kind in (SYMBOL, UNSPACED) else LETTER
        if start >= 0:
            yield start, len(text)

    def _joins(self, text: str, at: int, base: int) -> bool:
        """Whether the symbol at ``at`` connects the run before it with what comes next."""
        if at + 1 == len(text):
            return False
        character, after = text[at], text[at + 1]
        if character in _INSIDE_WORDS:
            return self._classes[after] in (LETTER, DIGIT)
        if character in _INSIDE_NUMBERS:
            return base == DIGIT and self._classes[after] == DIGIT
        return character == _GERSHAYIM and "א" <= text[at - 1] <= "ת" and "א" <= after <= "ת"
