"""Intent and slots together: exact match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tfdistil.metrics.classification import ClassificationScores, classification_scores
from tfdistil.metrics.counts import check_lengths, percent
from tfdistil.metrics.spans import Mode, SpanScores, Tags, span_scores


@dataclass(frozen=True, slots=True)
class JointScores:
    """Scores of utterances with an intent and slots, in percent; all 0 without utterances.

    Attributes:
        exact_match: share of utterances whose intent and tags are all right.
        slots: span scores of the slots.
        intents: classification scores of the intents.
    """

    exact_match: float
    slots: SpanScores
    intents: ClassificationScores

    @property
    def slot_f1(self) -> float:
        """Micro-averaged span F1 of the slots."""
        return self.slots.f1

    @property
    def intent_accuracy(self) -> float:
        """Share of right intents."""
        return self.intents.accuracy


def joint_scores(
    gold_intents: Sequence[str],
    gold_tags: Sequence[Tags],
    predicted_intents: Sequence[str],
    predicted_tags: Sequence[Tags],
    mode: Mode = "strict",
) -> JointScores:
    """Score intents and tags of the same utterances.

    Args:
        gold_intents: one per utterance.
        gold_tags: IOB2 tags of each utterance, one per word.
        predicted_intents: one per utterance.
        predicted_tags: one per word.
        mode: how slots are read off the tags, see `span_scores`.

    Raises:
        DataError: other numbers of intents, utterances or tags, or a tag that is no IOB2 tag.
    """
    check_lengths("intents", gold_intents, predicted_intents)
    check_lengths("tag sequences for the intents", gold_intents, gold_tags)
    slots = span_scores(gold_tags, predicted_tags, mode)
    right = exact_matches(gold_intents, gold_tags, predicted_intents, predicted_tags)
    return JointScores(
        percent(sum(right), len(right)),
        slots,
        classification_scores(gold_intents, predicted_intents),
    )


def exact_matches(
    gold_intents: Sequence[str],
    gold_tags: Sequence[Tags],
    predicted_intents: Sequence[str],
    predicted_tags: Sequence[Tags],
) -> list[bool]:
    """Which utterances have the right intent and all tags right; see `joint_scores`."""
    return [
        intent == guess and tuple(tags) == tuple(guesses)
        for intent, tags, guess, guesses in zip(
            gold_intents, gold_tags, predicted_intents, predicted_tags, strict=True
        )
    ]
