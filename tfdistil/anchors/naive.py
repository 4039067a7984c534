"""What a score means: models that read nothing, or only half of a pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tfdistil.anchors.light import LightAnchor
from tfdistil.data.example import Example
from tfdistil.errors import RunError
from tfdistil.tasks import Prediction, Task


class Majority:
    """The most frequent label of train, whatever the text; the first in order among equals.

    Args:
        task: one with a label for each text and no tags.
        examples: its labelled train set.
        seed: not read.

    Attributes:
        label: what every text gets.

    Raises:
        RunError: a task with tags.
    """

    def __init__(self, task: Task, examples: Sequence[Example], seed: int):
        del seed
        if any(output.level == "word" for output in task.outputs):
            raise RunError("majority is for labels of texts; for tags and slots there is light")
        counts = Counter(e.label for e in examples if e.label is not None)
        self.label = min(counts, key=lambda label: (-counts[label], label))
        self._share = counts[self.label] / counts.total()

    def __str__(self) -> str:
        """What it is, for the head of a table."""
        return f"always {self.label}, {100 * self._share:.0f} % of train"

    def predict(self, examples: Sequence[Example]) -> list[Prediction]:
        """The label, for each example."""
        return [Prediction(label=self.label)] * len(examples)


class SecondText:
    """`LightAnchor` on the second text of each pair alone, such as the hypothesis of an inference.

    What it has above the majority is what the labels owe to the way second texts were written, not
    to the pairs: Poliak et al. 2018, hypothesis-only baselines.

    Args:
        task: on pairs of texts.
        examples: its labelled train set.
        seed: of the classifier.

    Raises:
        RunError: a task on single texts, or the extra ``anchors`` is not installed.
    """

    def __init__(self, task: Task, examples: Sequence[Example], seed: int):
        if any(example.second is None for example in examples):
            raise RunError("second is for pairs of texts; for single texts there is light")
        self._anchor = LightAnchor(task, [_second(e) for e in examples], seed)

    def __str__(self) -> str:
        """What it is, for the head of a table."""
        return f"the second text alone, {self._anchor}"

    def predict(self, examples: Sequence[Example]) -> list[Prediction]:
        """The label of each example."""
        return self._anchor.predict([_second(e) for e in examples])


def _second(example: Example) -> Example:
    return replace(example, words=example.second or (), second=None)
