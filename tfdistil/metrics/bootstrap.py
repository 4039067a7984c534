"""Is the difference between two systems more than the luck of the test sentences?

The paired bootstrap (Efron and Tibshirani, 1993; for language technology Koehn, 2004): draw as many
test sentences as there are, with replacement, score both systems on the same draw, and repeat. The
middle 95 % of the differences are the interval. It needs only counts per sentence that add up, so
all draws are one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tfdistil.errors import DataError
from tfdistil.metrics.counts import check_lengths
from tfdistil.metrics.spans import Mode, Tags, span_counts

_CELLS_AT_ONCE = 4_000_000
"""Draws are made in blocks of this many numbers (32 MB), however large the test set is."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What each sentence adds to a metric.

    Attributes:
        metric: ``f1`` (columns correct, predicted, gold) or ``share`` (columns right, all).
        sums: float64 ``[sentences, columns]``; the score is a function of the column sums.
    """

    metric: Literal["f1", "share"]
    sums: np.ndarray

    @classmethod
    def of_spans(
        cls, gold: Sequence[Tags], predicted: Sequence[Tags], mode: Mode = "strict"
    ) -> Statistics:
        """Span F1; arguments and errors as `span_counts`."""
        counts = span_counts(gold, predicted, mode)
        tables = (counts.correct, counts.predicted, counts.gold)
        sums = np.stack([table.sum(axis=1) for table in tables], axis=1)
        return cls("f1", sums.astype(np.float64))

    @classmethod
    def of_matches(cls, right: Sequence[bool]) -> Statistics:
        """Accuracy or exact match: whether each example is right."""
        hits = np.asarray(right, dtype=np.float64).reshape(-1)
        return cls("share", np.stack([hits, np.ones_like(hits)], axis=1))

    def score(self, totals: np.ndarray) -> np.ndarray:
        """The metric in percent of column sums ``[..., columns]``; 0 / 0 is 0."""
        if self.metric == "f1":
            part, whole = 2 * totals[..., 0], totals[..., 1] + totals[..., 2]
        else:
            part, whole = totals[..., 0], totals[..., 1]
        return 100 * np.divide(part, whole, out=np.zeros_like(part), where=whole != 0)


@dataclass(frozen=True, slots=True)
class BootstrapResult:
    """Two systems on the same test sentences; scores in percent.

    Attributes:
        first: score of the first system; ``second`` that of the second.
        difference: second minus first, in points; ``low`` and ``high`` bound its interval.
        retention: second in percent of first, see `retention`; ``retention_low`` and
            ``retention_high`` bound its interval.
        second_better: share of the draws in which the second system scores higher, in [0, 1].
        confidence: of the intervals, in percent.
        resamples: number of draws, made with ``seed``.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    retention: float
    retention_low: float
    retention_high: float
    second_better: float
    confidence: float
    resamples: int
    seed: int


def retention(score: float, reference: float) -> float:
    """How much of a reference score is left, in percent; 0 if the reference is 0."""
    return 100.0 * score / reference if reference else 0.0


def paired_bootstrap(
    first: Statistics,
    second: Statistics,
    resamples: int = 1000,
    seed: int = 13,
    confidence: float = 95.0,
) -> BootstrapResult:
    """Compare two systems by resampling the test sentences.

    Args:
        first: what each sentence adds to the first system's metric, such as a teacher's.
        second: the same for the second system, for the same sentences in the same order.
        resamples: number of draws.
        seed: the same seed gives the same interval.
        confidence: percent of the draws within the interval.

    Raises:
        DataError: no sentences, other sentences or metrics, or settings out of range.
    """
    check_lengths("sentences", first.sums, second.sums)
    sentences = len(first.sums)
    if first.metric != second.metric or not sentences:
        raise DataError(
            f"cannot compare {first.metric} and {second.metric} on {sentences} sentences; "
            "expected the same metric on at least one sentence"
        )
    if resamples < 1 or not 0 < confidence < 100:
        raise DataError(
            f"{resamples} resamples at {confidence} % confidence; "
            "expected at least 1, and a confidence between 0 and 100"
        )
    columns = first.sums.shape[1]
    both = np.concatenate([first.sums, second.sums], axis=1)
    totals = _resampled_sums(both, resamples, np.random.default_rng(seed))
    draws_first = first.score(totals[:, :columns])
    draws_second = second.score(totals[:, columns:])
    draws = draws_second - draws_first
    kept = 100 * np.divide(
        draws_second, draws_first, out=np.zeros_like(draws), where=draws_first != 0
    )
    tail = (100 - confidence) / 2
    low, high = np.percentile(draws, [tail, 100 - tail])
    kept_low, kept_high = np.percentile(kept, [tail, 100 - tail])
    score_first = float(first.score(first.sums.sum(axis=0)))
    score_second = float(second.score(second.sums.sum(axis=0)))
    return BootstrapResult(
        first=score_first,
        second=score_second,
        difference=score_second - score_first,
        low=float(low),
        high=float(high),
        retention=retention(score_second, score_first),
        retention_low=float(kept_low),
        retention_high=float(kept_high),
        second_better=float((draws > 0).mean()),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )


def interval(
    one: Statistics, resamples: int = 1000, seed: int = 13, confidence: float = 95.0
) -> tuple[float, float]:
    """What the luck of the test sentences leaves open of one system's score: low and high.

    Arguments as `paired_bootstrap`.

    Raises:
        DataError: no sentences.
    """
    if not len(one.sums):
        raise DataError("no sentences, so there is no interval")
    draws = one.score(_resampled_sums(one.sums, resamples, np.random.default_rng(seed)))
    low, high = np.percentile(draws, [(100 - confidence) / 2, (100 + confidence) / 2])
    return float(low), float(high)


def _resampled_sums(sums: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Column sums ``[resamples, columns]`` over as many sentences, drawn with replacement."""
    sentences = len(sums)
    block = max(1, _CELLS_AT_ONCE // sentences)
    totals = []
    for done in range(0, resamples, block):
        size = min(block, resamples - done)
        drawn = rng.integers(sentences, size=(size, sentences))
        drawn += sentences * np.arange(size)[:, None]  # one histogram per draw, all at once
        times = np.bincount(drawn.ravel(), minlength=size * sentences).reshape(size, sentences)
        totals.append(times @ sums)
    return np.concatenate(totals)
