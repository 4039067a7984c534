"""One label per text, or per pair of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfdistil.data.example import Example
from tfdistil.tasks.base import IGNORE, NO_PATHS, Output, Prediction, Task, labels_in
from tfdistil.tasks.decoders import Decoder

if TYPE_CHECKING:
    from tfdistil.metrics.bootstrap import Statistics


class LabelCodec:
    """Labels to ids and logits to the most probable label."""

    def __init__(self, labels: Sequence[str]):
        self.labels = tuple(labels)
        self._ids = {label: i for i, label in enumerate(self.labels)}

    @classmethod
    def from_examples(cls, examples: Iterable[Example]) -> LabelCodec:
        """The labels in alphabetical order."""
        return cls(sorted({e.label for e in examples if e.label is not None}))

    def encode(self, example: Example) -> np.ndarray | None:
        """The id of the example's label, an int32 scalar (or `IGNORE`); None if it has none."""
        if example.label is None:
            return None
        return np.array(self._ids.get(example.label, IGNORE), dtype=np.int32)

    def decode(self, logits: np.ndarray, decoder: Decoder | None = None) -> tuple[str, float]:
        """Logits ``[labels]`` to a label and its probability; None: those of a linear head."""
        best, score = (decoder or Decoder(len(self.labels))).text(logits)
        return self.labels[best], score


class Classes(Task):
    """One label per text; the metric is accuracy."""

    kind = "classes"
    metric = "accuracy"
    learns_from: ClassVar[tuple[str, ...]] = ("label",)

    def __init__(self, labels: Sequence[str]):
        self.codec = LabelCodec(labels)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """One sequence-level output, ``class``."""
        return (Output("class", "sequence", self.codec.labels),)

    def targets(self, example: Example) -> dict[str, np.ndarray]:
        """See `Task.targets`."""
        label = self.codec.encode(example)
        return {} if label is None else {"class": label}

    def decode(
        self, logits: Mapping[str, np.ndarray], paths: Mapping[str, np.ndarray] = NO_PATHS
    ) -> Prediction:
        """See `Task.decode`."""
        del paths
        label, score = self.codec.decode(logits["class"], self.decoders.get("class"))
        return Prediction(label=label, label_score=score)

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> dict[str, float]:
        """Accuracy and macro-averaged F1."""
        from tfdistil.metrics.classification import classification_scores

        scores = classification_scores(
            [e.label or "" for e in examples], [p.label or "" for p in predictions]
        )
        return {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1}

    def statistics(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> Statistics:
        """See `Task.statistics`."""
        from tfdistil.metrics.bootstrap import Statistics

        return Statistics.of_matches(
            [e.label == p.label for e, p in zip(examples, predictions, strict=True)]
        )

    def label_scores(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> dict[str, dict[str, float]]:
        """See `Task.label_scores`."""
        from tfdistil.metrics.classification import classification_scores
        from tfdistil.metrics.tables import label_table

        return label_table(
            classification_scores(
                [e.label or "" for e in examples], [p.label or "" for p in predictions]
            )
        )

    def to_json(self) -> dict[str, Any]:
        """See `Task.to_json`."""
        return {"kind": self.kind, "labels": list(self.codec.labels)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Classes:
        """See `Task.from_json`."""
        return cls(labels_in(data, "labels"))

    @classmethod
    def from_examples(cls, examples: Iterable[Example]) -> Classes:
        """See `Task.from_examples`."""
        return cls(LabelCodec.from_examples(examples).labels)


class Pair(Classes):
    """One label per pair of texts (entailment, paraphrase); the metric is accuracy."""

    kind = "pair"
    learns_from = ("label", "second")
