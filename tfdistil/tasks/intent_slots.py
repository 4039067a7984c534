"""Intent and slots of an utterance, predicted together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfdistil.data.example import Example
from tfdistil.tasks.base import NO_PATHS, Output, Prediction, TagPath, Task, labels_in
from tfdistil.tasks.classes import LabelCodec
from tfdistil.tasks.tags import TagCodec, tags_in

if TYPE_CHECKING:
    from tfdistil.metrics.bootstrap import Statistics


class IntentSlots(Task):
    """One intent per text and one IOB2 slot tag per word.

    The metric is exact match: the intent and every slot tag of the utterance are right.
    """

    kind = "intent_slots"
    metric = "exact_match"
    learns_from = ("tags", "label")

    def __init__(self, slots: Sequence[str], intents: Sequence[str], continuation: bool = False):
        self.slots = TagCodec(slots, continuation)
        self.intents = LabelCodec(intents)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """``slots`` at word level and ``intent`` at sequence level."""
        return (
            Output("slots", "word", self.slots.labels),
            Output("intent", "sequence", self.intents.labels),
        )

    def targets(self, example: Example) -> dict[str, np.ndarray]:
        """See `Task.targets`."""
        found = {"slots": self.slots.encode(example), "intent": self.intents.encode(example)}
        return {name: ids for name, ids in found.items() if ids is not None}

    def decode(
        self,
        logits: Mapping[str, np.ndarray],
        paths: Mapping[str, np.ndarray] = NO_PATHS,
    ) -> Prediction:
        """See `Task.decode`."""
        decoder = self.decoders.get("slots")
        tags, tag_scores = self.slots.decode(logits["slots"], decoder, paths.get("slots"))
        intent, score = self.intents.decode(logits["intent"], self.decoders.get("intent"))
        return Prediction(tags, tag_scores, intent, score)

    def k_best(self, logits: Mapping[str, np.ndarray], k: int) -> tuple[TagPath, ...]:
        """See `Task.k_best`."""
        return self.slots.k_best(logits["slots"], self.decoders.get("slots"), k)

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> dict[str, float]:
        """Exact match, strict slot F1 and intent accuracy."""
        from tfdistil.metrics.joint import joint_scores

        scores = joint_scores(*_columns(examples, predictions))
        return {
            "exact_match": scores.exact_match,
            "slot_f1": scores.slots.f1,
            "intent_accuracy": scores.intents.accuracy,
        }

    def statistics(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> Statistics:
        """See `Task.statistics`."""
        from tfdistil.metrics.bootstrap import Statistics
        from tfdistil.metrics.joint import exact_matches

        return Statistics.of_matches(exact_matches(*_columns(examples, predictions)))

    def label_scores(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> dict[str, dict[str, float]]:
        """See `Task.label_scores`; intents are called ``intent NAME``."""
        from tfdistil.metrics.joint import joint_scores
        from tfdistil.metrics.tables import label_table

        scores = joint_scores(*_columns(examples, predictions))
        intents = label_table(scores.intents)
        return label_table(scores.slots) | {f"intent {name}": intents[name] for name in intents}

    def to_json(self) -> dict[str, Any]:
        """See `Task.to_json`."""
        return {
            "kind": self.kind,
            "slots": list(self.slots.tags),
            "intents": list(self.intents.labels),
            "continuation": self.slots.continuation,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> IntentSlots:
        """See `Task.from_json`."""
        slots, continuation = tags_in(data, "slots")
        return cls(slots, labels_in(data, "intents"), continuation)

    @classmethod
    def from_examples(
        cls, examples: Iterable[Example], continuation: bool = False, scheme: str = "iob2"
    ) -> IntentSlots:
        """See `Task.from_examples`."""
        examples = list(examples)
        return cls(
            TagCodec.from_examples(examples, scheme=scheme).tags,
            LabelCodec.from_examples(examples).labels,
            continuation,
        )


def _columns(
    examples: Sequence[Example], predictions: Sequence[Prediction]
) -> tuple[list[str], list[Sequence[str]], list[str], list[Sequence[str]]]:
    return (
        [e.label or "" for e in examples],
        [e.tags or () for e in examples],
        [p.label or "" for p in predictions],
        [p.tags or () for p in predictions],
    )
