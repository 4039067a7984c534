"""What every task must do. A new task is one line in `CASES`."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tfdistil.data.example import Example
from tfdistil.errors import DataError
from tfdistil.metrics.classification import classification_scores
from tfdistil.metrics.joint import joint_scores
from tfdistil.metrics.spans import span_scores
from tfdistil.tasks import (
    IGNORE,
    TASKS,
    Classes,
    IntentSlots,
    Pair,
    Prediction,
    Tags,
    Text,
    describe_unknown,
    task_from_json,
    unknown_labels,
)
from tfdistil.tasks.iob2 import allowed_transitions

TAGGED = (
    Example(("the", "sun"), ("O", "O"), "weather", ("a", "star")),
    Example(("anna", "may", "sees", "rome"), ("B-PER", "I-PER", "O", "B-LOC"), "see", ("x",)),
    Example((), (), "weather", ("y",)),
)
"""Examples with every kind of label; each task reads those it needs."""


@dataclass(frozen=True)
class Case:
    """A task made from `TAGGED`, and what it must know."""

    task: object
    outputs: dict[str, tuple[str, tuple[str, ...]]]
    fields: tuple[str, ...]


IOB = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
IOBES = ("O", *(f"{mark}-{name}" for name in ("LOC", "PER") for mark in "BIES"))
CLASSES = {"class": ("sequence", ("see", "weather"))}
CASES = {
    "tags": Case(Tags.from_examples(TAGGED), {"tags": ("word", IOB)}, ("tags",)),
    "tags, iobes": Case(
        Tags.from_examples(TAGGED, scheme="iobes"), {"tags": ("word", IOBES)}, ("tags",)
    ),
    "tags, X": Case(Tags.from_examples(TAGGED, True), {"tags": ("word", (*IOB, "X"))}, ("tags",)),
    "intent_slots": Case(
        IntentSlots.from_examples(TAGGED),
        {"slots": ("word", IOB), "intent": ("sequence", ("see", "weather"))},
        ("tags", "label"),
    ),
    "intent_slots, X": Case(
        IntentSlots.from_examples(TAGGED, True),
        {"slots": ("word", (*IOB, "X")), "intent": ("sequence", ("see", "weather"))},
        ("tags", "label"),
    ),
    "intent_slots, iobes": Case(
        IntentSlots.from_examples(TAGGED, scheme="iobes"),
        {"slots": ("word", IOBES), "intent": ("sequence", ("see", "weather"))},
        ("tags", "label"),
    ),
    "classes": Case(Classes.from_examples(TAGGED), CLASSES, ("label",)),
    "pair": Case(Pair.from_examples(TAGGED), CLASSES, ("label",)),
}

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def logits_for(task, example, targets) -> dict[str, np.ndarray]:
    """Logits that speak for the gold labels, and where there are none for the first."""
    found = {}
    for output in task.outputs:
        words = (len(example.words),) if output.level == "word" else ()
        ids = targets.get(output.name, np.zeros(words, np.int64))
        found[output.name] = 6.0 * np.eye(len(output.labels), dtype=np.float32)[ids]
    return found


def test_labels_of_single_words_are_spans_that_nothing_continues():
    """Parts of speech: half the labels, any of which may follow any, and F1 is accuracy."""
    examples = [
        Example(("the", "sun", "shines"), ("B-DET", "B-NOUN", "B-VERB")),
        Example(("it", "runs"), ("B-NOUN", "B-VERB"), source="x:5"),
    ]
    task = Tags.from_examples(examples, scheme="words")
    (output,) = task.outputs
    assert output.labels == ("O", "B-DET", "B-NOUN", "B-VERB")
    assert all(part.all() for part in allowed_transitions(output.labels))
    again = task_from_json(json.loads(json.dumps(task.to_json())))
    assert again.outputs == task.outputs
    logits = 9.0 * np.eye(4)[[1, 2, 2]]
    assert task.decode({"tags": logits}).tags == ("B-DET", "B-NOUN", "B-NOUN")
    assert [ids.tolist() for e in examples for ids in task.targets(e).values()] == [
        [1, 2, 3],
        [2, 3],
    ]
    predicted = [
        Prediction(tags=("B-DET", "B-NOUN", "B-NOUN")),
        Prediction(tags=("B-DET", "B-VERB")),
    ]
    assert task.score(examples, predicted)["span_f1"] == pytest.approx(100 * 3 / 5)
    longer = Example(("new", "york"), ("B-LOC", "I-LOC"), source="x:9")
    assert unknown_labels(task, [longer]) == {"tags": {"LOC": 1}}
    with pytest.raises(DataError, match=r"but here a span has several; leave it out \(x:9\)"):
        Tags.from_examples([*examples, longer], scheme="words")


def test_every_kind_is_under_contract():
    unlabelled = {Text.kind}  # test_text.py
    assert {case.task.kind for case in CASES.values()} | unlabelled == set(TASKS)


@every_case
def test_outputs_are_sorted_with_o_first_and_x_last(case):
    assert {o.name: (o.level, o.labels) for o in case.task.outputs} == case.outputs


@pytest.mark.parametrize("name", CASES)
def test_the_order_of_the_examples_does_not_matter(name):
    task = CASES[name].task
    options = {"X": {"continuation": True}, "iobes": {"scheme": "iobes"}}
    given = options.get(name.rpartition(" ")[2], {})
    assert type(task).from_examples(reversed(TAGGED), **given).outputs == task.outputs


@every_case
def test_json_round_trip(case):
    text = json.dumps(case.task.to_json(), sort_keys=True)
    again = task_from_json(json.loads(text))
    assert type(again) is type(case.task)
    assert again.outputs == case.task.outputs
    assert json.dumps(again.to_json(), sort_keys=True) == text


@every_case
def test_decoding_the_targets_gives_the_labels_back(case):
    for example in TAGGED:
        targets = case.task.targets(example)
        assert set(targets) == set(case.outputs)
        prediction = case.task.decode(logits_for(case.task, example, targets))
        for field in ("tags", "label"):
            expected = getattr(example, field) if field in case.fields else None
            assert getattr(prediction, field) == expected
        if "tags" in case.fields:
            expected = np.exp(6) / (np.exp(6) + len(case.task.outputs[0].labels) - 1)
            assert tuple(prediction.tag_scores) == pytest.approx([expected] * len(example.words))
        if "label" in case.fields:
            assert prediction.label_score == pytest.approx(np.exp(6) / (np.exp(6) + 1))


@every_case
def test_targets_have_the_declared_shapes(case):
    for example in TAGGED:
        for output in case.task.outputs:
            ids = case.task.targets(example)[output.name]
            assert ids.dtype == np.int32
            assert ids.shape == ((len(example.words),) if output.level == "word" else ())


@every_case
def test_labels_an_example_does_not_have_are_left_out(case):
    assert case.task.targets(Example(("the", "sun"))) == {}


def test_half_labelled_utterances_keep_the_half():
    task = CASES["intent_slots"].task
    assert set(task.targets(replace(TAGGED[0], label=None))) == {"slots"}
    assert set(task.targets(replace(TAGGED[0], tags=None))) == {"intent"}


UNSEEN = Example(
    ("anna", "may", "sees", "oslo", "fjord", "club"),
    ("B-PER", "I-PER", "O", "B-ORG", "I-ORG", "I-ORG"),
    "joke",
)
"""A span and a label that no task has, beside a span that each has."""


@every_case
def test_nothing_is_learnt_from_unknown_labels(case):
    known = case.task.targets(TAGGED[1])
    found = case.task.targets(UNSEEN)
    assert set(found) == set(case.outputs)
    for output in case.task.outputs:
        ids = found[output.name].tolist()
        if output.level == "word":
            assert ids == [*known[output.name].tolist()[:3], IGNORE, IGNORE, IGNORE]
        else:
            assert ids == IGNORE


@every_case
def test_unknown_labels_are_misses_in_every_score(case):
    task = case.task
    wrong = Prediction(("B-PER", "I-PER", "O", "O", "O", "O"), (), "see")
    scores = task.score([UNSEEN], [wrong])
    assert scores[task.metric] == (pytest.approx(200 / 3) if task.kind == "tags" else 0)
    expected = {"ORG": 1.0} if case.fields == ("tags",) else {"joke": 1.0}
    if case.fields == ("tags", "label"):
        expected = {"ORG": 1.0, "intent joke": 1.0}
    table = task.label_scores([UNSEEN], [wrong])
    for label, support in expected.items():
        assert (table[label]["support"], table[label]["recall"]) == (support, 0.0)
    (sums,) = task.statistics([UNSEEN], [wrong]).sums
    found = float(task.statistics([UNSEEN], [wrong]).score(sums))
    assert found == pytest.approx(scores[task.metric])


@pytest.mark.parametrize(
    ("tags", "ids"),
    [
        (("O", "I-A", "B-B"), [IGNORE, IGNORE, 2]),  # I-A is known, but no legal path has it
        (("O", "B-A", "B-B"), [IGNORE, IGNORE, 2]),
    ],
)
def test_a_span_that_is_known_in_part_is_unknown(tags, ids):
    example = Example(("a", "b", "c"), ("B-A", "I-A", "B-B"))
    assert Tags(tags).targets(example)["tags"].tolist() == ids
    assert unknown_labels(Tags(tags), [example]) == {"tags": {"A": 1}}


def test_a_word_of_a_span_known_in_part_may_be_all_of_it():
    example = Example(("a", "b"), ("B-A", "O"))
    assert Tags(("O", "B-A")).targets(example)["tags"].tolist() == [1, 0]
    assert unknown_labels(Tags(("O", "B-A")), [example]) == {}


def test_the_continuation_label_is_no_tag_of_a_word():
    found = CASES["tags, X"].task.targets(Example(("a",), ("X",)))
    assert found["tags"].tolist() == [IGNORE]


def test_unknown_labels_are_counted_by_span_and_by_text():
    task = CASES["intent_slots"].task
    other = replace(UNSEEN, tags=("B-DAY", "I-DAY", "O", "B-ORG", "O", "B-ORG"))
    found = unknown_labels(task, [UNSEEN, other, *TAGGED, Example(("unlabelled",))])
    assert found == {"slots": {"ORG": 3, "DAY": 1}, "intent": {"joke": 2}}
    assert list(found["slots"]) == ["ORG", "DAY"]
    assert describe_unknown(found) == "slots ORG (3), slots DAY (1), intent joke (2)"
    assert unknown_labels(task, TAGGED) == {}
    many = {"intent": {f"i{n:02}": 1 for n in range(25)}}
    assert describe_unknown(many).endswith("intent i19 (1) and 5 more")


@settings(deadline=None)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(0, 6), st.just(6)),
        elements=st.floats(-20, 20, width=32),
    )
)
def test_decoded_tags_are_always_legal(logits):
    labels = (*IOB, "X")
    prediction = CASES["tags, X"].task.decode({"tags": logits})
    start, follow = allowed_transitions(labels)
    ids = [labels.index(tag) for tag in prediction.tags]
    assert len(ids) == len(logits) == len(prediction.tag_scores)
    assert all(start[i] for i in ids[:1])
    assert all(follow[a, b] for a, b in itertools.pairwise(ids))
    probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    assert tuple(prediction.tag_scores) == pytest.approx(
        probabilities[np.arange(len(ids)), ids].tolist(), rel=1e-3
    )


GOLD = (
    Example(("a", "b", "c"), ("B-LOC", "I-LOC", "O"), "see"),
    Example(("a", "b"), ("B-PER", "O"), "weather"),
    Example(("a",), ("O",), "see"),
)
SAID = (
    Prediction(("B-LOC", "O", "O"), (), "see"),
    Prediction(("B-PER", "O"), (), "see"),
    Prediction(("O",), (), "see"),
)
GOLD_TAGS, SAID_TAGS = [e.tags for e in GOLD], [p.tags for p in SAID]
GOLD_LABELS, SAID_LABELS = [e.label for e in GOLD], [p.label for p in SAID]


def test_scores_of_tags_are_the_metrics():
    task = CASES["tags"].task
    strict = span_scores(GOLD_TAGS, SAID_TAGS)
    assert task.score(GOLD, SAID) == {
        "span_f1": strict.f1,
        "span_precision": strict.precision,
        "span_recall": strict.recall,
        "conll_f1": span_scores(GOLD_TAGS, SAID_TAGS, "conll").f1,
    }
    assert strict.f1 == pytest.approx(50.0)
    assert task.label_scores(GOLD, SAID)["PER"]["f1"] == 100.0


def test_scores_of_intent_slots_are_the_metrics():
    task = CASES["intent_slots"].task
    joint = joint_scores(GOLD_LABELS, GOLD_TAGS, SAID_LABELS, SAID_TAGS)
    assert task.score(GOLD, SAID) == {
        "exact_match": joint.exact_match,
        "slot_f1": joint.slots.f1,
        "intent_accuracy": joint.intents.accuracy,
    }
    assert joint.exact_match == pytest.approx(100 / 3)
    table = task.label_scores(GOLD, SAID)
    assert list(table) == ["LOC", "PER", "intent see", "intent weather"]
    assert table["intent see"]["recall"] == 100.0


@pytest.mark.parametrize("kind", ["classes", "pair"])
def test_scores_of_classes_are_the_metrics(kind):
    task = CASES[kind].task
    scores = classification_scores(GOLD_LABELS, SAID_LABELS)
    assert task.score(GOLD, SAID) == {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1}
    assert scores.accuracy == pytest.approx(200 / 3)
    assert task.label_scores(GOLD, SAID)["weather"]["recall"] == 0.0


@every_case
def test_the_statistics_add_up_to_the_metric(case):
    task = case.task
    statistics = task.statistics(GOLD, SAID)
    assert len(statistics.sums) == len(GOLD)
    expected = task.score(GOLD, SAID)[task.metric]
    assert float(statistics.score(statistics.sums.sum(axis=0))) == pytest.approx(expected)


def test_an_unknown_kind_is_a_key_error():
    with pytest.raises(KeyError, match="parsing"):
        task_from_json({"kind": "parsing"})
