"""Accuracy, scores per label and macro F1 of single labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tfdistil.metrics.counts import LabelScores, check_lengths, percent


@dataclass(frozen=True, slots=True)
class ClassificationScores:
    """Scores in percent; all 0 without examples.

    Attributes:
        accuracy: share of right labels.
        macro_f1: mean F1 over the labels that occur in gold or predictions.
        support: number of examples.
        per_label: the scores of each of these labels, sorted by label.
        confusion: gold label to predicted label to number of examples, zeros left out.
    """

    accuracy: float
    macro_f1: float
    support: int
    per_label: Mapping[str, LabelScores]
    confusion: Mapping[str, Mapping[str, int]]


def classification_scores(gold: Sequence[str], predicted: Sequence[str]) -> ClassificationScores:
    """Score one label per example.

    Raises:
        DataError: other numbers of gold and predicted labels.
    """
    check_lengths("labels", gold, predicted)
    pairs = Counter(zip(gold, predicted, strict=True))
    gold_counts, predicted_counts = Counter(gold), Counter(predicted)
    labels = sorted(gold_counts.keys() | predicted_counts.keys())
    per_label = {
        label: LabelScores.of_counts(
            pairs[label, label], predicted_counts[label], gold_counts[label]
        )
        for label in labels
    }
    confusion: dict[str, dict[str, int]] = {}
    for (actual, guess), count in sorted(pairs.items()):
        confusion.setdefault(actual, {})[guess] = count
    return ClassificationScores(
        accuracy=percent(sum(pairs[label, label] for label in labels), len(gold)),
        macro_f1=sum(scores.f1 for scores in per_label.values()) / len(labels) if labels else 0.0,
        support=len(gold),
        per_label=MappingProxyType(per_label),
        confusion=MappingProxyType(confusion),
    )
