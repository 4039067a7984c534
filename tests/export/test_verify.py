"""Drift and bounds: the cases around the usual ones."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tfdistil.errors import ExportError
from tfdistil.exporting.inspect import Inspection
from tfdistil.exporting.verify import (
    check_drop,
    check_operators,
    labels_of,
    measure_drift,
    summary,
)
from tfdistil.metrics.bootstrap import Statistics, paired_bootstrap
from tfdistil.tasks import IntentSlots, Tags
from tfdistil.tasks.decoders import read_decoders


def decoded(task, logits):
    return labels_of(task, [task.decode(one) for one in logits])


def test_texts_and_words_are_measured_each():
    expected = [
        {"intent": np.array([0.0, 2.0]), "slots": np.array([[1.0, 0.0], [0.0, 1.0]])},
        {"intent": np.array([1.0, 0.0]), "slots": np.array([[1.0, 0.0]])},
    ]
    found = [
        {"intent": np.array([3.0, 2.0]), "slots": expected[0]["slots"]},
        {"intent": np.array([1.0, 0.5]), "slots": np.array([[1.0, 0.25]])},
    ]
    drifts = measure_drift(expected, found)
    assert drifts["intent"].agreement == 0.5
    assert drifts["intent"].max == 3.0
    assert drifts["slots"].agreement == 1.0
    assert drifts["slots"].mean == pytest.approx(0.25 / 6)
    data = json.loads(json.dumps(summary(drifts)))
    assert data["agreement"] == 0.5
    assert data["drift"]["slots"]["max"] == 0.25


def test_labels_are_those_that_a_task_decodes():
    """A CRF may prefer another path than the best emissions: what users get is compared."""
    task = Tags(["O", "B-X"])
    potentials = np.zeros((4, 2))
    potentials[0, 1] = -9.0  # O and then B-X, whatever the emissions
    head = {"tags": {"kind": "crf", "constants": {"potentials": potentials.tolist()}}}
    crf = task.with_decoders(read_decoders(head, task.outputs))
    expected = [{"tags": np.array([[0.0, 1.0], [0.0, 3.0]])}]
    found = [{"tags": np.array([[1.0, 0.0], [0.0, 3.0]])}]
    assert measure_drift(expected, found)["tags"].agreement == 0.5
    labels = decoded(task, expected), decoded(task, found)
    assert measure_drift(expected, found, labels)["tags"].agreement == 0.5
    labels = decoded(crf, expected), decoded(crf, found)
    drift = measure_drift(expected, found, labels)["tags"]
    assert drift.agreement == 1.0
    assert drift.max == 1.0
    other = [{"tags": np.array([[1.0, 0.0], [0.0, -3.0]])}]
    labels = decoded(crf, expected), decoded(crf, other)
    assert measure_drift(expected, other, labels)["tags"].agreement == 0.0


def test_a_file_with_other_potentials_does_not_agree():
    """Each side is decoded with its own, so that damaged potentials are seen."""
    task = Tags(["O", "B-X"])
    favours = np.zeros((4, 2))
    favours[0] = 9.0, -9.0
    head = {"tags": {"kind": "crf", "constants": {"potentials": favours.tolist()}}}
    crf = task.with_decoders(read_decoders(head, task.outputs))
    logits = [{"tags": np.array([[1.0, 0.0], [0.0, 3.0]])}]
    labels = decoded(task, logits), decoded(crf, logits)
    assert measure_drift(logits, logits, labels)["tags"].agreement == 0.5


def test_each_output_of_a_task_has_labels_of_its_own():
    task = IntentSlots(["O", "B-X"], ["a", "b"])
    words = np.array([[0.0, 1.0], [1.0, 0.0]])
    expected = [
        {"slots": words, "intent": np.array([0.0, 2.0])},
        {"slots": words[:0], "intent": np.array([2.0, 0.0])},
    ]
    found = [
        {"slots": words[::-1], "intent": np.array([0.0, 1.0])},
        {"slots": words[:0], "intent": np.array([0.0, 1.0])},
    ]
    drifts = measure_drift(expected, found, (decoded(task, expected), decoded(task, found)))
    assert drifts["slots"].agreement == 0.0
    assert drifts["intent"].agreement == 0.5


def test_texts_without_words_have_no_drift():
    empty = [{"tags": np.zeros((0, 3))}] * 2
    assert measure_drift(empty, empty) == {}
    assert summary({}) == {"drift": {}, "agreement": 1.0}


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_logits_that_are_no_numbers(value):
    expected = [{"intent": np.array([0.0, 1.0])}]
    with pytest.raises(ExportError, match="for 'intent' that are no finite numbers"):
        measure_drift(expected, [{"intent": np.array([value, 1.0])}])


def test_another_number_of_labels():
    with pytest.raises(
        ExportError, match=r"logits \(1, 3\) for 'intent' where Keras gives \(1, 2\)"
    ):
        measure_drift([{"intent": np.zeros(2)}], [{"intent": np.zeros(3)}])


def lost(better: int, worse: int, same: int = 500):
    """Keras over the file: so many examples are right only in one of them."""
    keras = [False] * better + [True] * (worse + same)
    file = [True] * better + [False] * worse + [True] * same
    return paired_bootstrap(Statistics.of_matches(file), Statistics.of_matches(keras))


def test_what_is_lost_beyond_chance_is_a_drop():
    check_drop("accuracy", lost(better=5, worse=0), 0.0)
    check_drop("accuracy", lost(better=0, worse=1), 0.0)
    check_drop("accuracy", lost(better=8, worse=15, same=577), 1.0)  # 1.17 points of luck
    check_drop("accuracy", lost(better=0, worse=20), 4.0)
    with pytest.raises(ExportError, match="Try --quantize dynamic"):
        check_drop("accuracy", lost(better=0, worse=20), 0.5)
    said = r"accuracy .* from 100.00 to 80.00 .* 20.00 points \(95 % interval 1[67].*at most 1 may"
    with pytest.raises(ExportError, match=said):
        check_drop("accuracy", lost(better=0, worse=125), 1.0)
    with pytest.raises(ExportError):
        check_drop("accuracy", replace(lost(better=0, worse=0), low=float("nan")), 1.0)


def test_built_in_operators_pass():
    check_operators(Inspection({"online": {"ADD": 1}}, (), (), {}, {}, 0, 0, "2.3.0"))
