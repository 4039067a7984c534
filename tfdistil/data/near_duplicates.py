"""Sentences that are nearly those that came before, by the pairs of words that they share."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from tfdistil.data.example import Example

_DIGIT = re.compile(r"\d")
_Pairs = tuple[int, ...]
"""Numbers of the pairs of a sentence, the rarest first: a pair has the number of its rank."""


def drop_near_duplicates(
    examples: Sequence[Example],
    share: float,
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[list[Example], int]:
    """Leave out each sentence that is nearly one before it that was kept.

    Two are nearly the same if, of all pairs of neighbouring words that either has, both have at
    least this share (Jaccard). Case, punctuation and which digits are there do not count, so "It is
    5 o'clock." is "it is 7 o'clock"; the first and the last word are pairs with the border. All
    such sentences are found: those that can be near are looked up by their rarest pairs (the prefix
    and positional filters of Xiao et al. 2008, *Efficient Similarity Joins for Near Duplicate
    Detection*), and counted.

    Args:
        examples: in order; of a pair of texts both count.
        share: above 0, up to 1.
        progress: told how many examples are done.

    Returns:
        Those that stay, in order, and how many do not.
    """
    found = _Index(share)
    kept = []
    for number, (example, pairs) in enumerate(zip(examples, _ranked(examples), strict=True), 1):
        if not found.has_near(pairs):
            found.add(pairs)
            kept.append(example)
        progress(number)
    return kept, len(examples) - len(kept)


class _Index:
    """Sentences by the rarest of their pairs.

    Two of n and m pairs are near if they share o(n, m) = ceil(s / (1 + s) (n + m)) or more. Let
    the rarest pair that both have stand at p in the one and at q in the other, counted from 0. What
    they share stands there and behind it, so n - p >= o and m - q >= o.
    """

    def __init__(self, share: float):
        self.share = share
        self.sentences: set[_Pairs] = set()
        # Pair to the size of a sentence and the pair's place in it to the sentences.
        self._at: dict[int, dict[tuple[int, int], list[_Pairs]]] = defaultdict(
            lambda: defaultdict(list)
        )

    def add(self, pairs: _Pairs) -> None:
        """Look sentences up beside this one from now on."""
        self.sentences.add(pairs)
        for place in range(self._prefix(len(pairs))):
            self._at[pairs[place]][len(pairs), place].append(pairs)

    def has_near(self, pairs: _Pairs) -> bool:
        """Whether one of those that were added is nearly this one."""
        if pairs in self.sentences:
            return True
        size, own = len(pairs), set(pairs)
        for place in range(self._prefix(size)):
            for (other, there), sentences in self._at.get(pairs[place], {}).items():
                least = self._overlap(size + other)
                if size - place >= least and other - there >= least:
                    near = (len(own.intersection(one)) >= least for one in sentences)
                    if any(near):
                        return True
        return False

    def _overlap(self, sizes: int) -> int:
        return math.ceil(self.share / (1 + self.share) * sizes - 1e-9)

    def _prefix(self, size: int) -> int:
        """Places at which the rarest common pair may stand, whatever the size of the other one."""
        return size - math.ceil(self.share * size - 1e-9) + 1


def _ranked(examples: Sequence[Example]) -> Iterator[_Pairs]:
    """The pairs of each sentence, as numbers in order from the rarest of all examples."""
    numbers: dict[tuple[str, str], int] = {}
    numbered = [
        [numbers.setdefault(pair, len(numbers)) for pair in _word_pairs(example)]
        for example in examples
    ]
    # Pairs that are as rare as each other may stand in any order: what is found is the same.
    times = Counter(pair for pairs in numbered for pair in pairs)
    rank = {pair: place for place, pair in enumerate(sorted(times, key=lambda p: (times[p], p)))}
    return (tuple(sorted(rank[pair] for pair in pairs)) for pairs in numbered)


def _word_pairs(example: Example) -> set[tuple[str, str]]:
    """The pairs of neighbouring words of a sentence, at least one."""
    pairs: set[tuple[str, str]] = set()
    for text in filter(None, example.key()):
        words = [_DIGIT.sub("0", word.casefold()) for word in text if any(map(str.isalnum, word))]
        # Of signs alone: what it is, since nothing is left that could be compared.
        pairs.update(pairwise(["", *(words or text), ""]))
    return pairs or {("", "")}
