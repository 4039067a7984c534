"""The light anchor of a task: trained on the labels in about a minute, scored beside a student."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import repeat

from tfdistil.data.example import Example
from tfdistil.errors import RunError
from tfdistil.printable import listed
from tfdistil.tasks import Prediction, Task


class LightAnchor:
    """A feature-based CRF for tags and slots, TF-IDF and a linear classifier for labels of texts.

    Args:
        task: what is predicted.
        examples: its labelled train set.
        seed: of the classifier; the CRF has none.

    Attributes:
        bytes: of both models.
        seconds: that training took.

    Raises:
        RunError: a task on pairs of texts, or the extra ``anchors`` is not installed.
    """

    def __init__(self, task: Task, examples: Sequence[Example], seed: int):
        if any(example.second is not None for example in examples):
            raise RunError(
                "there is no light anchor for pairs of texts; compare with majority, or second, "
                "which reads the second text alone"
            )
        levels = {output.level for output in task.outputs}
        start = time.perf_counter()
        try:
            if "word" in levels:
                from tfdistil.anchors.tagger import Tagger
            if "sequence" in levels:
                from tfdistil.anchors.classifier import Classifier
        except ModuleNotFoundError as missing:
            raise RunError(
                f"the light anchor needs {missing.name}: pip install 'tfdistil[anchors]'"
            ) from None
        self._tagger = Tagger(examples) if "word" in levels else None
        self._classifier = Classifier(examples, seed) if "sequence" in levels else None
        parts = (self._tagger, self._classifier)
        self.bytes = sum(part.bytes for part in parts if part is not None)
        self.seconds = time.perf_counter() - start

    def __str__(self) -> str:
        """What it is, for the head of a table."""
        kinds = ["a CRF on affixes and shapes"] if self._tagger else []
        kinds += ["TF-IDF with a linear classifier"] if self._classifier else []
        return f"{listed(kinds)}, {self.bytes / 1e6:.1f} MB, {self.seconds:.0f} s of training"

    def predict(self, examples: Sequence[Example]) -> list[Prediction]:
        """Tags and label of each example, as the task has them."""
        tags = self._tagger.predict(examples) if self._tagger else repeat(None)
        labels = self._classifier.predict(examples) if self._classifier else repeat(None)
        both = zip(examples, tags, labels, strict=False)
        return [Prediction(tags=found, label=label) for _, found, label in both]
