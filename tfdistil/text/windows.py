"""Cutting a text that is longer than the model into overlapping stretches of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Stretch:
    """Words a window shows to the model, and those of them it answers for.

    Attributes:
        shown: the range ``(first, last + 1)`` of words in the window.
        owned: the range of words scored there, inside ``shown``.
    """

    shown: tuple[int, int]
    owned: tuple[int, int]


def stretches(lengths: Sequence[int], budget: int, overlap: int) -> list[Stretch]:
    """Cut words into stretches of at most ``budget`` pieces; each word has one owner.

    Every stretch but the first begins with words the one before it shows too: as many as fit into
    ``overlap`` pieces and leave room for one new word. The last one reaches back as far as it can.
    A word is owned by the stretch where the smaller of its contexts, pieces to its left and pieces
    to its right, is largest; the earlier one if equal. As stretches move to the right, so does
    ownership: owned ranges are contiguous and in order. A stretch that owns nothing is left out.

    Args:
        lengths: pieces of each word, each from 1 to ``budget``.
        budget: pieces a stretch can hold.
        overlap: pieces two neighbours share, less than ``budget``.
    """
    words = len(lengths)
    before = [0, *accumulate(lengths)]  # pieces before each word
    if before[-1] <= budget:
        return [Stretch((0, words), (0, words))]
    shown: list[tuple[int, int]] = []
    first = end = 0
    while end < words:
        end = first
        while end < words and before[end + 1] - before[first] <= budget:
            end += 1
        if end == words:
            while before[end] - before[first - 1] <= budget:
                first -= 1
        shown.append((first, end))
        if end < words:
            after = first + 1
            while before[end] - before[after] > overlap or before[end + 1] - before[after] > budget:
                after += 1
            first = after
    return _with_owners(shown, before)


def _with_owners(shown: list[tuple[int, int]], before: list[int]) -> list[Stretch]:
    owners: list[int] = []
    earliest = 0
    for word in range(len(before) - 1):
        while shown[earliest][1] <= word:
            earliest += 1
        best, most = earliest, -1
        for at in range(earliest, len(shown)):
            first, end = shown[at]
            if first > word:
                break
            context = min(before[word] - before[first], before[end] - before[word + 1])
            if context > most:
                best, most = at, context
        owners.append(best)
    found = []
    word = 0
    for at, stretch in enumerate(shown):
        start = word
        while word < len(owners) and owners[word] == at:
            word += 1
        if word > start:
            found.append(Stretch(stretch, (start, word)))
    return found


def truncate_pair(first: int, second: int, budget: int) -> tuple[int, int]:
    """How many pieces of each of two texts to keep: the longer one loses first.

    The split of Hugging Face tokenizers' ``longest_first``: if both are longer than half, each
    keeps half, the second of equal ones the odd piece.
    """
    if first + second <= budget:
        return first, second
    short, long = sorted((first, second))
    long = max(short, budget - short)
    if short + long > budget:
        short, long = budget // 2, budget // 2 + budget % 2
    return (long, short) if first > second else (short, long)
