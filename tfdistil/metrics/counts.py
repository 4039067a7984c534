"""Precision, recall and F1 from counts, and the check that two lists go together."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass

from tfdistil.errors import DataError


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Scores of one label (or of all together), in percent.

    Attributes:
        precision: 100 · correct / predicted; 0 if nothing was predicted.
        recall: 100 · correct / support; 0 if there is nothing to find.
        f1: harmonic mean of both; 0 if both are 0.
        support: number of gold items.
    """

    precision: float
    recall: float
    f1: float
    support: int

    @classmethod
    def of_counts(cls, correct: int, predicted: int, gold: int) -> LabelScores:
        """The scores of counts; 0 / 0 is 0, as seqeval and scikit-learn do by default."""
        precision = 100.0 * correct / predicted if predicted else 0.0
        recall = 100.0 * correct / gold if gold else 0.0
        # equal to the harmonic mean, and exact where precision and recall are rounded
        f1 = 200.0 * correct / (predicted + gold) if predicted + gold else 0.0
        return cls(precision, recall, f1, int(gold))


def percent(part: int, whole: int) -> float:
    """100 · part / whole, and 0 of nothing."""
    return 100.0 * part / whole if whole else 0.0


def check_lengths(what: str, gold: Sized, predicted: Sized) -> None:
    """Raises `DataError` unless there is one prediction per gold item."""
    if len(gold) != len(predicted):
        raise DataError(
            f"{len(gold)} gold {what} but {len(predicted)} predicted ones; "
            "score predictions for exactly the examples that carry the gold labels"
        )


def check_sentences(gold: Sequence[Sized], predicted: Sequence[Sized]) -> None:
    """Raises `DataError` unless both have the same sentences with as many tags each."""
    check_lengths("sentences", gold, predicted)
    for row, (left, right) in enumerate(zip(gold, predicted, strict=True)):
        if len(left) != len(right):
            raise DataError(
                f"sentence {row + 1} has {len(left)} gold tags but {len(right)} predicted ones; "
                "expected one tag per word in both"
            )
