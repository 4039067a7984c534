"""Span precision, recall and F1: strict IOB2, and the rules of conlleval.

**strict** (seqeval's ``mode="strict", scheme=IOB2``): a span is ``B-x`` and the run of ``I-x``
after it. An ``I-x`` that continues nothing belongs to no span.

**conll** (conlleval, seqeval's default mode): as strict, and an ``I-x`` that follows ``O``,
another type or nothing starts a span too (Tjong Kim Sang and De Meulder, 2003). On legal IOB2 the
two agree.

A predicted span counts as correct if start, end and label are those of a gold span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from tfdistil.errors import DataError
from tfdistil.metrics.counts import LabelScores, check_sentences

Mode = Literal["strict", "conll"]
Tags = Sequence[str]

_OUTSIDE, _BEGIN, _INSIDE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """How many spans each sentence has, per sentence and label.

    Attributes:
        labels: the labels found in gold or predictions, sorted.
        correct: int64 ``[sentences, labels]``, spans in both.
        predicted: int64 ``[sentences, labels]``.
        gold: int64 ``[sentences, labels]``.
    """

    labels: tuple[str, ...]
    correct: np.ndarray
    predicted: np.ndarray
    gold: np.ndarray


@dataclass(frozen=True, slots=True)
class SpanScores:
    """Micro-averaged span scores in percent; without any span all of them are 0.

    Attributes:
        precision: over all labels; ``recall`` and ``f1`` alike.
        support: number of gold spans; ``predicted`` and ``correct`` are the other two counts.
        per_label: the scores of each label in gold or predictions, sorted by label.
    """

    precision: float
    recall: float
    f1: float
    support: int
    predicted: int
    correct: int
    per_label: Mapping[str, LabelScores]


def strict_spans(tags: Tags) -> list[tuple[int, int, str]]:
    """The spans of one sentence under strict IOB2, as ``(start, end, label)``, ``end`` exclusive.

    Raises:
        DataError: a tag that is not ``O``, ``B-x`` or ``I-x``.
    """
    return _spans(tags, "strict")


def conll_spans(tags: Tags) -> list[tuple[int, int, str]]:
    """The spans of one sentence under conlleval's rules, as ``(start, end, label)``.

    Raises:
        DataError: a tag that is not ``O``, ``B-x`` or ``I-x``.
    """
    return _spans(tags, "conll")


def span_scores(
    gold: Sequence[Tags], predicted: Sequence[Tags], mode: Mode = "strict"
) -> SpanScores:
    """Score tags against gold tags, one list per sentence.

    Args:
        gold: IOB2 tags of each sentence.
        predicted: as many for the same sentences.
        mode: ``strict`` or ``conll``, see the module.

    Raises:
        DataError: other numbers of sentences or tags, a tag that is no IOB2 tag, unknown mode.
    """
    counts = span_counts(gold, predicted, mode)
    correct, found, support = (
        table.sum(axis=0).tolist() for table in (counts.correct, counts.predicted, counts.gold)
    )
    micro = LabelScores.of_counts(sum(correct), sum(found), sum(support))
    per_label = {
        label: LabelScores.of_counts(*row)
        for label, *row in zip(counts.labels, correct, found, support, strict=True)
    }
    return SpanScores(
        micro.precision,
        micro.recall,
        micro.f1,
        micro.support,
        sum(found),
        sum(correct),
        MappingProxyType(per_label),
    )


def span_counts(
    gold: Sequence[Tags], predicted: Sequence[Tags], mode: Mode = "strict"
) -> SpanCounts:
    """The counts behind `span_scores`, per sentence: what a bootstrap resamples.

    Raises:
        DataError: as `span_scores`.
    """
    _check_mode(mode)
    check_sentences(gold, predicted)
    sentences = len(gold)
    # An O before each sentence keeps spans from running from one into the next.
    lengths = np.fromiter((len(tags) + 1 for tags in gold), dtype=np.int64, count=sentences)
    owner = np.repeat(np.arange(sentences), lengths)
    table = _TagTable()
    gold_prefix, gold_type = table.encode(gold)
    predicted_prefix, predicted_type = table.encode(predicted)
    labels = sorted(table.labels)
    order = np.array([labels.index(label) for label in table.labels], dtype=np.int64)
    gold_start, gold_end, gold_label = _find(gold_prefix, gold_type, mode)
    found_start, found_end, found_label = _find(predicted_prefix, predicted_type, mode)
    # Spans of one side never share a start, so the gold span to compare with is looked up by it.
    end_at, label_at = np.full((2, len(owner)), -1)
    end_at[gold_start], label_at[gold_start] = gold_end, gold_label
    hit = (end_at[found_start] == found_end) & (label_at[found_start] == found_label)

    def tally(starts: np.ndarray, types: np.ndarray) -> np.ndarray:
        cells = owner[starts] * len(labels) + order[types]
        tallied = np.bincount(cells, minlength=sentences * len(labels))
        return tallied.reshape(sentences, len(labels))

    correct = tally(found_start[hit], found_label[hit])
    all_found, all_gold = tally(found_start, found_label), tally(gold_start, gold_label)
    used = (all_found + all_gold).any(axis=0)
    return SpanCounts(
        tuple(compress(labels, used)), correct[:, used], all_found[:, used], all_gold[:, used]
    )


class _TagTable:
    """Tags to (prefix, label id), each distinct tag parsed once."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {"O": 0}
        self._parsed: list[tuple[int, int]] = [(_OUTSIDE, -1)]
        self.labels: dict[str, int] = {}

    def encode(self, sentences: Sequence[Tags]) -> tuple[np.ndarray, np.ndarray]:
        """Prefixes and label ids ``[words + sentences]``, with an ``O`` before each sentence."""
        for tag in set(chain.from_iterable(sentences)) - self._codes.keys():
            self._codes[tag] = len(self._parsed)
            self._parsed.append(self._parse(tag))
        length = sum(map(len, sentences)) + len(sentences)
        flat = chain.from_iterable(chain(("O",), tags) for tags in sentences)
        codes = np.fromiter(map(self._codes.__getitem__, flat), dtype=np.int64, count=length)
        prefix, label = np.array(self._parsed, dtype=np.int64).T
        return prefix[codes], label[codes]

    def _parse(self, tag: str) -> tuple[int, int]:
        if len(tag) < 3 or tag[:2] not in ("B-", "I-"):
            raise DataError(f"tag {tag!r} is not IOB2; expected O, B-label or I-label")
        label = self.labels.setdefault(tag[2:], len(self.labels))
        return (_BEGIN if tag[0] == "B" else _INSIDE), label


def _find(prefix: np.ndarray, label: np.ndarray, mode: Mode) -> tuple[np.ndarray, ...]:
    """Starts, exclusive ends and label ids of the spans in a flat sequence that starts with O."""
    after_same = np.zeros(len(prefix), dtype=bool)
    after_same[1:] = label[1:] == label[:-1]
    inside = (prefix == _INSIDE) & after_same  # the word before has the same label, B or I
    start = prefix == _BEGIN if mode == "strict" else (prefix != _OUTSIDE) & ~inside
    breaks = np.append(np.flatnonzero(~inside), len(prefix))
    starts = np.flatnonzero(start)
    ends = breaks[np.searchsorted(breaks, starts, side="right")]
    return starts, ends, label[starts]


def _spans(tags: Tags, mode: Mode) -> list[tuple[int, int, str]]:
    table = _TagTable()
    prefix, types = table.encode([tags])
    labels = list(table.labels)
    found = zip(*(part.tolist() for part in _find(prefix, types, mode)), strict=True)
    return [(start - 1, end - 1, labels[label]) for start, end, label in found]


def _check_mode(mode: str) -> None:
    if mode not in get_args(Mode):
        raise DataError(f"unknown span mode {mode!r}; choose strict or conll")
