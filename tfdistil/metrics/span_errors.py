"""What became of gold spans, by kinds of spans: where a model of spans loses what it loses."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Span = tuple[int, int, str]
"""Start, exclusive end and label."""

FATES = ("right", "label", "boundary", "both", "missed")
"""Of a gold span, the first that holds: predicted as it is; its words with another label; its label
on other words, some of them its own; a prediction on some of its words; no prediction there."""

ALL, INVENTED = "all", "invented"
KNOWN, NEW, UNSEEN = "a span of train", "new, of words of train", "a word that train lacks"
CAPITAL, SMALL = "a capital first", "no capital first"


@dataclass(frozen=True)
class Seen:
    """What a training set has, in folded case: a model that reads no case knows `Rome` of `rome`.

    Letters are composed (NFC), so that it is the same word however an accent is written.

    Attributes:
        spans: the words of each labelled span.
        words: all words.
    """

    spans: frozenset[tuple[str, ...]]
    words: frozenset[str]

    @classmethod
    def of(cls, sentences: Iterable[tuple[Sequence[str], Sequence[Span]]]) -> Seen:
        """Words and spans of each training sentence."""
        spans: set[tuple[str, ...]] = set()
        words: set[str] = set()
        for text, found in sentences:
            folded = _folded(text)
            words.update(folded)
            spans.update(folded[start:end] for start, end, _ in found)
        return cls(frozenset(spans), frozenset(words))

    def kind(self, words: Sequence[str]) -> str:
        """`KNOWN`, `NEW` (another span of words that train has) or `UNSEEN`."""
        folded = _folded(words)
        if folded in self.spans:
            return KNOWN
        return NEW if self.words.issuperset(folded) else UNSEEN


def span_errors(
    sentences: Iterable[tuple[Sequence[str], Sequence[Span], Sequence[Span]]], seen: Seen | None
) -> dict[str, dict[str, int]]:
    """How many gold spans of each kind came to what.

    Args:
        sentences: words, gold spans and predicted spans of each.
        seen: of the training set; None: its kinds are left out.

    Returns:
        Kind to each of `FATES` and `INVENTED`, the predicted spans of the kind that touch no gold
        span. `ALL` is the first kind; kinds without any span are left out, and so is the first
        letter where only one of its kinds occurs, because it says nothing then.
    """
    table: dict[str, Counter[str]] = {}
    for words, gold, predicted in sentences:
        for span, fate in _fates(gold, predicted):
            for kind in _kinds(words[span[0] : span[1]], seen):
                table.setdefault(kind, Counter())[fate] += 1
    order = (ALL, KNOWN, NEW, UNSEEN, *((CAPITAL, SMALL) if {CAPITAL, SMALL} <= {*table} else ()))
    return {
        kind: {fate: table[kind][fate] for fate in (*FATES, INVENTED)}
        for kind in order
        if kind in table
    }


def support(row: Mapping[str, int]) -> int:
    """The gold spans of a kind."""
    return sum(row[fate] for fate in FATES)


def found(row: Mapping[str, int] | None) -> float | None:
    """Percent of a kind's gold spans that are right; None without any."""
    return 100 * row["right"] / support(row) if row and support(row) else None


def _fates(gold: Sequence[Span], predicted: Sequence[Span]) -> Iterator[tuple[Span, str]]:
    """Each gold span with its fate, then the invented ones."""
    said = _by_word(predicted)
    for span in gold:
        yield span, _fate(span, [other for word in range(*span[:2]) for other in said[word]])
    there = _by_word(gold)
    for span in predicted:
        if not any(there[word] for word in range(*span[:2])):
            yield span, INVENTED


def _by_word(spans: Sequence[Span]) -> defaultdict[int, list[Span]]:
    """The spans that each word is in."""
    found: defaultdict[int, list[Span]] = defaultdict(list)
    for span in spans:
        for word in range(*span[:2]):
            found[word].append(span)
    return found


def _fate(span: Span, touching: Sequence[Span]) -> str:
    if span in touching:
        return "right"
    if any(other[:2] == span[:2] for other in touching):
        return "label"
    if any(other[2] == span[2] for other in touching):
        return "boundary"
    return "both" if touching else "missed"


def _kinds(words: Sequence[str], seen: Seen | None) -> Iterator[str]:
    yield ALL
    if seen is not None:
        yield seen.kind(words)
    yield CAPITAL if words[0][:1].isupper() else SMALL


def _folded(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(unicodedata.normalize("NFC", word.casefold()) for word in words)
