"""The score of a model that has learnt nothing."""

import itertools

import pytest

from tfdistil.data.example import Example
from tfdistil.tasks import TASKS, Prediction, constant_score

WORDS = ("a", "b")
TAGGED = [("O", "O"), ("B-x", "I-x"), ("O", "B-x"), ("O", "O")]
LABELS = ["p", "q", "p", "r"]


@pytest.mark.parametrize("kind", ["classes", "intent_slots", "tags"])
def test_no_other_constant_answer_scores_more(kind):
    examples = [
        Example(
            WORDS,
            tags=None if kind == "classes" else tags,
            label=None if kind == "tags" else label,
        )
        for tags, label in zip(TAGGED, LABELS, strict=True)
    ]
    task = TASKS[kind].from_examples(examples)
    scores = [
        task.score(examples, [Prediction(tags=tags, label=label)] * 4)[task.metric]
        for tags, label in itertools.product([("O", "O")], ["p", "q", "r"])
    ]
    assert constant_score(task, examples) == max(scores)


def test_known_scores():
    classes = [Example(WORDS, label=label) for label in LABELS]
    assert constant_score(TASKS["classes"].from_examples(classes), classes) == 50
    tags = [Example(WORDS, tags=row) for row in TAGGED]
    assert constant_score(TASKS["tags"].from_examples(tags), tags) == 0
