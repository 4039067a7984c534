"""What can be scored without having learnt anything: one answer for every text."""

from __future__ import annotations

from collections.abc import Sequence

from tfdistil.data.example import Example
from tfdistil.tasks.base import Task


def constant_score(task: Task, examples: Sequence[Example]) -> float:
    """The task's metric, in percent, of its constant answer.

    Args:
        task: scores.
        examples: labelled; what is most frequent is so in these very examples, so no other constant
            answer scores more.
    """
    return task.score(examples, task.constant(examples))[task.metric]


def chance_score(task: Task, examples: Sequence[Example]) -> float:
    """What a model that has learnt nothing may score by luck, in percent.

    The upper end of the 95 % interval of the constant answer, but no more than half way from its
    score to 100: of few examples, or where nearly all have one label, that interval ends at 100.
    Span F1 is 0, as the constant answer finds no span; accuracy on 1,500 examples of three classes,
    each as frequent, is 36 where the constant answer has 33.
    """
    from tfdistil.metrics.bootstrap import interval

    _, high = interval(task.statistics(examples, task.constant(examples)))
    return min(high, (constant_score(task, examples) + 100) / 2)
