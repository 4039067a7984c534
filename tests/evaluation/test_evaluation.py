"""Errors of an evaluation: those that are wrong, no more of them than asked for."""

from __future__ import annotations

import pytest

from tfdistil.data.example import Example
from tfdistil.errors import DataError, RecipeError
from tfdistil.evaluation.evaluate import How, check_map, errors, evaluate, evaluation_of
from tfdistil.evaluation.printed import print_evaluation
from tfdistil.metrics.bootstrap import Statistics, interval
from tfdistil.metrics.span_errors import Seen
from tfdistil.tasks import Prediction, Tags, Text
from tfdistil.tasks.classes import Pair

EXAMPLES = [Example(("in", "rome"), tags=("O", "B-LOC"), label=label) for label in "abc"]
GUESSES = [
    Prediction(tags=("O", "B-LOC"), label="a"),
    Prediction(tags=("O", "O"), label="b"),
    Prediction(tags=("O", "B-LOC"), label="b"),
]


@pytest.mark.parametrize(("limit", "gold"), [(0, []), (1, ["b"]), (2, ["b", "c"]), (9, ["b", "c"])])
def test_the_first_errors(limit, gold):
    found = errors(EXAMPLES, GUESSES, limit)
    assert [error["gold"][-1] for error in found] == gold


def test_what_the_model_does_not_give_is_no_error():
    tags_only = [Prediction(tags=guess.tags) for guess in GUESSES]
    assert [error["predicted"] for error in errors(EXAMPLES, tags_only)] == [("O", "O")]


def test_fewer_than_no_errors_are_refused(tmp_path):
    with pytest.raises(RecipeError, match="errors to list are 0 or more, got -3"):
        evaluate(tmp_path, errors=-3)


THREE = Pair(["c", "e", "n"])
TWO_CLASSES = [
    Example(("a",), second=("b",), label=label) for label in ("entailment", "neutral", "neutral")
]
SAID = [Prediction(label=label) for label in ("e", "c", "e")]
ENTAILED = {"e": "entailment", "c": "neutral", "n": "neutral"}


def test_a_model_of_three_classes_on_data_with_two():
    found = evaluation_of("model", THREE, TWO_CLASSES, SAID, How(5, {**ENTAILED}))
    assert found.scores["accuracy"] == pytest.approx(200 / 3)
    assert not found.unknown_labels
    assert {*found.labels} >= {"entailment", "neutral"}
    assert [(e["gold"], e["predicted"]) for e in found.errors] == [(("neutral",), ("entailment",))]


def test_labels_that_the_map_does_not_reach_are_still_unknown():
    plain = evaluation_of("model", THREE, TWO_CLASSES, SAID, How(5, {}))
    assert plain.unknown_labels == {"class": {"neutral": 2, "entailment": 1}}
    assert plain.scores["accuracy"] == 0
    half = evaluation_of("model", THREE, TWO_CLASSES, SAID, How(5, {"e": "entailment"}))
    assert half.unknown_labels == {"class": {"neutral": 2}}


def test_entity_types_scored_as_one():
    task = Tags(("O", "B-LOC", "I-LOC", "B-ORG", "I-ORG"))
    gold = [Example(("in", "new", "york"), tags=("O", "B-GPE", "I-GPE"))]
    said = [Prediction(tags=("O", "B-ORG", "I-ORG"))]
    found = evaluation_of("model", task, gold, said, How(5, {"ORG": "GPE"}))
    assert found.scores[task.metric] == 100
    assert not found.unknown_labels
    assert not found.errors
    dropped = evaluation_of("model", task, gold, said, How(5, {"ORG": "O", "GPE": "O"}))
    assert not dropped.errors


def test_a_label_that_the_map_takes_away_is_unknown_then():
    gold = [Example(("a",), second=("b",), label=label) for label in ("entailment", "n")]
    said = [Prediction(label="e"), Prediction(label="n")]
    found = evaluation_of("model", THREE, gold, said, How(5, {"entailment": "e", "e": "E"}))
    assert found.unknown_labels == {"class": {"e": 1}}
    swapped = evaluation_of("model", THREE, gold[1:], said[1:], How(5, {"n": "c", "c": "n"}))
    assert not swapped.errors


def test_a_label_that_occurs_nowhere_is_told():
    sets = [TWO_CLASSES[:1], TWO_CLASSES]  # neutral is in one of them alone
    check_map(THREE, sets, {"e": "entailment", "neutral": "n"})
    check_map(Text(), [], {})
    with pytest.raises(DataError, match="label_map has nix, which neither data nor model have"):
        check_map(THREE, sets, {"e": "entailment", "nix": "e"})
    with pytest.raises(RecipeError, match="labels, which a model of 'text' has not"):
        check_map(Text(), sets, {"a": "b"})


def test_the_interval_is_that_of_a_share():
    """1,000 examples, half of them right: 50 +- 1.96 * sqrt(0.25 / 1000) points."""
    low, high = interval(Statistics.of_matches([True, False] * 500), resamples=4000)
    assert (low, high) == pytest.approx((46.9, 53.1), abs=0.3)


def test_an_evaluation_has_the_interval_of_its_metric():
    examples = [Example(("a",), second=("b",), label="e")] * 100
    said = [Prediction(label="e")] * 90 + [Prediction(label="c")] * 10
    low, high = evaluation_of("model", THREE, examples, said, How(0, {})).interval
    assert 82 < low < 90 < high < 97


def test_what_spans_came_to_is_counted_and_printed(capsys):
    task = Tags(["O", "B-LOC", "I-LOC"])
    gold = [
        Example(("in", "Rome"), tags=("O", "B-LOC")),
        Example(("Oslo", "fjord"), tags=("B-LOC", "I-LOC")),
    ]
    said = [Prediction(tags=("O", "B-LOC")), Prediction(tags=("B-LOC", "O"))]
    seen = Seen.of([(("to", "Rome"), [(1, 2, "LOC")])])
    found = evaluation_of("model", task, gold, said, How(0, {}, seen))
    assert [*found.span_errors] == ["all", "a span of train", "a word that train lacks"]
    assert found.span_errors["a word that train lacks"]["boundary"] == 1
    print_evaluation({"dev": found}, as_json=False)
    table = [line.split() for line in capsys.readouterr().out.splitlines() if "train" in line]
    assert table[-2:] == [
        ["a", "span", "of", "train", "1", "1", "0", "0", "0", "0", "0", "100.00"],
        ["a", "word", "that", "train", "lacks", "1", "0", "0", "1", "0", "0", "0", "0.00"],
    ]


def test_classes_have_no_spans():
    assert not evaluation_of("model", THREE, TWO_CLASSES, SAID, How(5, {})).span_errors
