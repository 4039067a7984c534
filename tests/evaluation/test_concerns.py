"""What a reader is told of weak teachers and of students that have not learnt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tfdistil.data.dev_size import too_few_to_choose
from tfdistil.data.example import Example
from tfdistil.evaluation.concerns import (
    ABOVE,
    ABOVE_ON_TEXT,
    Roles,
    beside_anchor,
    concerns,
    small_sets,
    unmoved,
)
from tfdistil.metrics.bootstrap import paired_bootstrap
from tfdistil.runs.run_metrics import AnchorScores, Phase
from tfdistil.tasks import TASKS, Prediction

EXAMPLES = [Example(("w", str(i)), label="ab"[i % 2]) for i in range(200)]
TASK = TASKS["classes"].from_examples(EXAMPLES)


def right(share: float) -> list[Prediction]:
    """Predictions of which so many percent, spread evenly, are right."""
    return [
        Prediction(label=e.label if i * share % 100 < share else "ba"["ab".index(e.label or "a")])
        for i, e in enumerate(EXAMPLES)
    ]


def told(**shares: float) -> list[str]:
    """What is said of systems by the share of their right answers."""
    found = {kind: {"test": right(share)} for kind, share in shares.items()}
    roles = Roles(
        tuple(name for name in ("student", "file") if name in shares),
        *(name if name in shares else None for name in ("teacher", "baseline")),
    )
    return concerns(TASK, {"test": EXAMPLES}, found, "test", roles)


def test_the_shares_are_what_they_say():
    assert TASK.score(EXAMPLES, right(80))["accuracy"] == 80


def test_nothing_is_said_where_all_is_well():
    assert told(teacher=95, baseline=80, student=90, file=90) == []


@pytest.mark.parametrize(
    ("teacher", "baseline", "verdict"),
    [(70, 90, "worse than"), (80, 80, "not shown to be better than")],
)
def test_a_teacher_that_is_no_better_than_the_baseline(teacher, baseline, verdict):
    (line,) = told(teacher=teacher, baseline=baseline, student=teacher, file=teacher)
    assert f"The teacher ({teacher}.0) is {verdict} the student without distillation" in line
    assert "models.teacher.fine_tune" in line


def test_more_than_all_of_a_teacher_is_explained():
    assert told(teacher=90, baseline=70, student=95, file=95) == [ABOVE]
    (line,) = told(teacher=90, student=95)
    assert line.startswith(ABOVE)
    assert "A baseline without a teacher would tell." in line


def test_weights_that_no_update_made_better_are_told():
    """A random head may beat, by luck, one that answers nothing yet."""
    begun = Phase(name="joint", best=0.5, updates=60, kept=0)
    moved = Phase(name="top", best=0.7, updates=60, kept=20)
    phases = {
        "student": (begun,),
        "teacher": (begun, moved),  # as `fine_tune` and `cool_down`
        "half": (),
        "older": (Phase(name="joint", best=0.5, updates=60),),
        "chosen": (Phase(name="joint", best=0.5, updates=0, kept=0),),  # no update was asked for
    }
    (line,) = unmoved(phases)
    assert line.startswith("student: no update made it better")
    assert "0.50" in line


@pytest.mark.parametrize(
    ("low", "high", "told"), [(0.5, 3.0, None), (-1.0, 2.0, "not shown"), (-3.0, -0.5, "worse")]
)
def test_what_needs_no_teacher_has_to_be_beaten(low, high, told):
    gain = paired_bootstrap(*(TASK.statistics(EXAMPLES, right(share)) for share in (60, 61)))
    gain = replace(gain, low=low, high=high)
    anchor = AnchorScores(name="light", title="a CRF", seconds=1.0, scores={}, gain={"test": gain})
    lines = beside_anchor("student.tflite", anchor, "test")
    assert [told in line for line in lines] == ([] if told is None else [True])
    assert beside_anchor("student.tflite", None, "test") == []


def test_text_without_labels_that_is_too_little():
    task, text = TASKS["text"].from_examples([]), (Example(("one",)),)
    dev, test = small_sets(task, {"dev": text, "test": text * 199})
    assert dev.startswith("dev has 1 text, too few to tell models apart")
    assert "test has 199 texts" in test
    assert "data.corpus.held_out" in dev
    assert "data.corpus.test" in test
    assert small_sets(task, {"dev": text * 200}) == []


def test_without_labels_no_baseline_is_asked_for():
    texts = [Example(("one",)) for _ in range(200)]
    found = {
        id: {"test": [Prediction(tags=(word,), tag_scores=(0.5,)) for word in guesses]}
        for id, guesses in (
            ("teacher", ["one"] * 80 + [""] * 120),
            ("student", ["one"] * 100 + [""] * 100),
        )
    }
    roles = Roles(("student",), "teacher", None)
    told = concerns(TASKS["text"].from_examples([]), {"test": texts}, found, "test", roles)
    assert ABOVE_ON_TEXT in told
    assert not any("labels" in line or "baseline" in line for line in told)


def test_a_student_that_has_not_learnt_the_task():
    (line,) = told(teacher=95, baseline=80, student=50, file=50)
    assert line.startswith("file has not learnt the task")
    assert "50.0" in line


def test_a_teacher_that_has_not_learnt_the_task():
    teacher, student = told(teacher=50, student=40)
    assert teacher.startswith("teacher has not learnt the task, so there is nothing to distil")
    assert "it scores 50.0, and the same answer to every text scores 50.0" in teacher
    assert student.startswith("student has not learnt the task")


def test_a_student_far_below_its_teacher():
    (line,) = told(teacher=95, baseline=60, student=66, file=66)
    assert "far below its teacher: 66.0 of 95.0 (69 %)" in line


def test_without_a_teacher_only_the_task_counts():
    assert told(baseline=80, student=60, file=60) == []
    (line,) = told(student=50)
    assert "has not learnt" in line


def test_a_dev_set_too_small_to_choose_weights_by_is_told():
    """Beside all else, and not of test; the numbers are those of a coin of 0.7, drawn here."""
    found = {"student": {"test": right(80), "dev": right(80)[:20]}}
    sets, roles = {"dev": EXAMPLES[:20], "test": EXAMPLES}, Roles(("student",), None, None)
    (line,) = concerns(TASK, sets, found, "test", roles)
    assert line.startswith("Dev has 20 texts, too few to choose weights by")
    drawn = np.random.default_rng(1).binomial(20, 0.7, 200_000) / 20
    assert f"the standard error is {100 * drawn.std():.1f} points" in line
    assert "data.dev_fraction" in line


@pytest.mark.parametrize(
    ("example", "unit"),
    [
        (Example(("a", "b", "c"), tags=("B-x", "I-x", "B-x")), (2, "spans")),
        (Example(("a", "b"), tags=("B-x", "B-x"), label="go"), (1, "texts")),
        (Example(("a",), label="go"), (1, "texts")),
    ],
)
def test_what_scores_are_made_of_counts(example, unit):
    """Texts where they have a label, else spans; enough is an error of 3.25 points at 70."""
    each, name = unit
    enough = next(n for n in range(1, 1000) if 100 * np.sqrt(0.7 * 0.3 / n) <= 3.245)
    fewest = -(-enough // each)
    assert too_few_to_choose([example] * fewest) is None
    told = too_few_to_choose([example] * (fewest - 1))
    assert told is not None
    assert f"dev has {each * (fewest - 1)} {name}, too few" in told


def test_dev_sets_without_spans_or_without_labels():
    assert too_few_to_choose([Example(("a",))]) is None
    assert too_few_to_choose([]) is None
    assert "dev has 0 spans" in str(too_few_to_choose([Example(("a",), tags=("O",))]))
    assert "dev has 1 span," in str(too_few_to_choose([Example(("a",), tags=("B-x",))]))
