"""The score of a model that has learnt nothing."""

import itertools

import pytest

from tfdistil.data.example import Example
from tfdistil.tasks import TASKS, Prediction, chance_score, constant_score

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


def test_chance_is_what_luck_may_add():
    """Of 1,500 examples of three classes: 33.3 + 1.96 * sqrt(2 / 9 / 1500) points."""
    examples = [Example(WORDS, label=label) for label in "abc" * 500]
    task = TASKS["classes"].from_examples(examples)
    assert constant_score(task, examples) == pytest.approx(100 / 3)
    assert chance_score(task, examples) == pytest.approx(35.7, abs=0.3)
    tags = [Example(WORDS, tags=row) for row in TAGGED]
    assert chance_score(TASKS["tags"].from_examples(tags), tags) == 0


@pytest.mark.parametrize("rare", [1, 3, 50])
def test_chance_leaves_room_for_what_is_learnt(rare):
    """Nearly all of one label, or very few examples: an interval that ends at 100."""
    examples = [Example(WORDS, label=label) for label in "a" * 97 + "b" * rare]
    for some in (examples, examples[-4:], examples[94:98]):
        task = TASKS["classes"].from_examples(examples)
        constant = constant_score(task, some)
        assert constant <= chance_score(task, some) <= (constant + 100) / 2
