"""The one shape of a data point, whatever file it came from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """One sentence (or sentence pair) with whatever labels its file gave it.

    Attributes:
        words: the words in order; may be empty for an empty text.
        tags: one IOB2 tag per word (``O``, ``B-x``, ``I-x``), or None if unlabelled.
        label: the intent or class, or None.
        second: the words of the second sentence of a pair, or None.
        language: BCP 47 code, ``und`` if unknown.
        text: the original text, or None if the file only has words.
        offsets: ``(start, end)`` of each word in ``text``, in code points; None without ``text``.
        source: ``path:line`` the example came from, for messages.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    label: str | None = None
    second: tuple[str, ...] | None = None
    language: str = "und"
    text: str | None = None
    offsets: tuple[tuple[int, int], ...] | None = None
    source: str = ""

    def key(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What makes two examples the same sentence: their words, whatever the labels."""
        return self.words, self.second or ()
