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
    """What a model that has learnt nothing may score by luck: the 95 % interval's upper end.

    Of span F1 it is 0, as the constant answer finds no span; with three classes, alike often, it is
    36 of 1,500 examples and not 33.
    """
    from tfdistil.metrics.bootstrap import interval

    _, high = interval(task.statistics(examples, task.constant(examples)))
    return high
