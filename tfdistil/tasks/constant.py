"""What can be scored without having learnt anything: one answer for every text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tfdistil.data.example import Example
from tfdistil.tasks.base import Prediction, Task


def constant_score(task: Task, examples: Sequence[Example]) -> float:
    """The task's metric, in percent, of the most frequent label and no tag at all.

    Args:
        task: scores.
        examples: labelled; the most frequent label is that of these very examples, so no other
            constant answer scores more.
    """
    labels = Counter(example.label for example in examples)
    label = max(labels, key=lambda name: (labels[name], str(name))) if labels else None
    answers = [
        Prediction(
            tags=None if example.tags is None else ("O",) * len(example.words),
            label=label,
        )
        for example in examples
    ]
    return task.score(examples, answers)[task.metric]
