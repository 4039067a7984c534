"""The words of a demo sentence: those that ``WordSplitter("unicode")`` finds in it.

The data package stands below the text package, so the demo has its own, much smaller segmentation.
It knows only what the grammars contain (the tests compare the two on every sentence): words stand
between spaces, punctuation is a word of its own, and so is every character of kana and Han.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_UNSPACED = "\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u9fff"
_PUNCTUATION = r"!-/:-@\[-`{-~\u0964\u3001-\u3003\u3008-\u3020\u30fb"
_WORD = re.compile(rf"[{_UNSPACED}]|[{_PUNCTUATION}]|[^\s{_UNSPACED}{_PUNCTUATION}]+")

Segments = tuple[tuple[str, ...], tuple[tuple[int, int], ...], tuple[str, ...]]


def segment(text: str, spans: Sequence[tuple[int, int, str]]) -> Segments:
    """Words, their offsets and their IOB2 tags.

    Args:
        text: the sentence.
        spans: ``(start, end, label)`` in code points, in order, on word borders.

    Returns:
        ``(words, offsets, tags)``, each as long as there are words.
    """
    words, offsets, tags = [], [], []
    waiting = iter(spans)
    first, last, label = next(waiting, (len(text), len(text), ""))
    for match in _WORD.finditer(text):
        start, end = match.span()
        while start >= last and label:
            first, last, label = next(waiting, (len(text), len(text), ""))
        words.append(match[0])
        offsets.append((start, end))
        tags.append("O" if start < first else f"{'B' if start == first else 'I'}-{label}")
    return tuple(words), tuple(offsets), tuple(tags)
