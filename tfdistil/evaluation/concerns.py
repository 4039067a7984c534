"""What a reader of a run's scores must be told before believing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfdistil.data.dev_size import too_few_to_choose, too_few_to_compare
from tfdistil.data.example import Example
from tfdistil.metrics.bootstrap import BootstrapResult, paired_bootstrap, retention
from tfdistil.runs.run_metrics import AnchorScores, Phase
from tfdistil.tasks import Prediction, Task, constant_score

FAR_BELOW = 75.0
"""Percent of the teacher's score under which a student is called far below it."""

ABOVE = (
    "A share above 100 % does not tell how much of a good teacher would be left: the student "
    "learns from the labels too, and from text that its teacher was not trained on."
)
"""What stands beside every share of the teacher above 100 %."""

ABOVE_ON_TEXT = (
    "A share above 100 % does not tell how much of a good teacher would be left: the student "
    "learns from hidden pieces too, perhaps in text that its teacher was not trained on. The same "
    "stage with teacher: null would tell."
)
"""The same where nothing has labels."""

UPDATES = "(stop.updates of its stages, or its fine_tune.updates)"

Predictions = Mapping[str, Sequence[Prediction]]
"""By set."""


@dataclass(frozen=True)
class Roles:
    """Ids of the systems that a reader compares.

    Attributes:
        students: what is delivered, before and after it became a file.
        teacher: its first teacher; None if it had none.
        baseline: the same, or its first member, trained without one; None if it was not.
    """

    students: tuple[str, ...]
    teacher: str | None
    baseline: str | None


def concerns(
    task: Task,
    sets: Mapping[str, Sequence[Example]],
    found: Mapping[str, Predictions],
    main_set: str,
    roles: Roles,
) -> list[str]:
    """Sentences about a small dev set, a weak teacher, and a model that has not learnt.

    Args:
        task: scores.
        sets: labelled examples by set.
        found: predictions by id of a system and set.
        main_set: the set that is reported on.
        roles: which of the systems they are about.
    """

    def score(id: str, name: str) -> float:
        return task.score(sets[name], found[id][name])[task.metric]

    dev = [one[0].upper() + one[1:] for one in small_sets(task, sets)]
    floor, teacher = constant_score(task, sets[main_set]), roles.teacher
    name, own = roles.students[-1], score(roles.students[-1], main_set)
    if teacher is None:
        return [*dev, *_student(name, own, None, floor)]
    of_teacher = score(teacher, main_set)
    kept = max(retention(score(id, n), score(teacher, n)) for id in roles.students for n in sets)
    of_set = {id: of[main_set] for id, of in found.items()}
    return [
        *dev,
        *_useless(teacher, of_teacher, floor),
        *_teacher(task, sets[main_set], of_set, teacher, roles.baseline, kept),
        *_student(name, own, of_teacher, floor),
    ]


def small_sets(task: Task, sets: Mapping[str, Sequence[Example]]) -> list[str]:
    """What to say of sets that are too small to choose by, or to compare on."""
    if not task.outputs:
        return too_few_to_compare(sets)
    few = too_few_to_choose(sets.get("dev", ()))
    return [] if few is None else [few]


def unmoved(phases: Mapping[str, Sequence[Phase]]) -> list[str]:
    """A sentence about each model whose training ended with the weights that it began with.

    Args:
        phases: by model, those of its training in order.
    """
    return [
        f"{name}: no update made it better on what it is chosen by (best {of[-1].best:.2f}), so "
        "its weights are those that its training began with. Where these were drawn at random, its "
        f"scores are luck. Give it more updates {UPDATES} or another learning rate."
        for name, of in phases.items()
        if of and all(phase.kept == 0 and phase.updates for phase in of)
    ]


def beside_anchor(name: str, anchor: AnchorScores | None, main_set: str) -> list[str]:
    """Whether what is delivered is better than what needs no teacher."""
    if anchor is None or (gain := anchor.gain[main_set]).low > 0:
        return []
    verdict, points = _verdict(gain)
    return [
        f"{name} ({gain.second:.1f}) is {verdict} {anchor.name} ({gain.first:.1f}), which needs no "
        f"teacher ({anchor.title}): {points}."
    ]


def _verdict(gain: BootstrapResult) -> tuple[str, str]:
    """What a system is, beside one that it is not shown to beat, and by how much."""
    return (
        "worse than" if gain.high < 0 else "not shown to be better than",
        f"{gain.difference:+.1f} points, {gain.confidence:.0f} % interval "
        f"{gain.low:+.1f} to {gain.high:+.1f}",
    )


def _useless(teacher: str, own: float, floor: float) -> list[str]:
    """Whether there is anything to be learnt from the teacher."""
    if own > floor:
        return []
    return [
        f"{teacher} has not learnt the task, so there is nothing to distil: it scores {own:.1f}, "
        f"and the same answer to every text scores {floor:.1f}. Train it longer "
        f"(models.{teacher}.fine_tune, or stop.updates of its stages), or start from a better "
        "checkpoint."
    ]


def _teacher(
    task: Task,
    examples: Sequence[Example],
    found: Predictions,
    teacher: str,
    baseline: str | None,
    kept: float,
) -> list[str]:
    """Whether the teacher is better than a student that never had one."""
    if baseline is None:
        advice = f"{ABOVE} A baseline without a teacher would tell."
        return [advice if task.outputs else ABOVE_ON_TEXT] if kept > 100 else []
    test = paired_bootstrap(
        task.statistics(examples, found[baseline]), task.statistics(examples, found[teacher])
    )
    if test.low > 0:
        return [ABOVE] if kept > 100 else []
    verdict, points = _verdict(test)
    return [
        f"The teacher ({test.second:.1f}) is {verdict} the student without distillation "
        f"({test.first:.1f}): {points}. What is left of it says little about the student. "
        f"Train the teacher longer (models.{teacher}.fine_tune, or stop.updates of its stages), "
        "start from a better checkpoint, or ship the student without distillation."
    ]


def _student(name: str, own: float, teacher: float | None, floor: float) -> list[str]:
    """Whether what is delivered has learnt at all, and how far it is from its teacher."""
    if own <= floor:
        return [
            f"{name} has not learnt the task: it scores {own:.1f}, and the same answer to "
            f"every text scores {floor:.1f}. Do not ship it. Give it more updates {UPDATES}, a "
            "higher learning rate, or more data."
        ]
    kept = 100.0 if teacher is None else retention(own, teacher)
    if kept < FAR_BELOW:
        return [
            f"The student is far below its teacher: {own:.1f} of {teacher:.1f} ({kept:.0f} %). "
            "Give its stages more updates (stop.updates), more unlabelled text (data.transfer, "
            "data.augment), or choose a larger model."
        ]
    return []
