"""The pQRNN recipe end to end on a tiny corpus: float, quantized, exported, predicted."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from tfdistil import Runtime
from tfdistil.errors import RunError
from tfdistil.evaluation.evaluate import evaluate
from tfdistil.pipeline.run import run
from tfdistil.recipe.loading import load_recipe
from tfdistil.runs.run import open_run

pytestmark = [pytest.mark.slow, pytest.mark.long]  # tests/seams/test_recipes.py has its stages

TINY = Path(__file__).parents[1] / "tiny.yaml"
SMALL = {
    "hashing": {"families": {"murmur": 64, "ngram": 64}},
    "bottleneck": 32,
    "layers": 1,
    "state": 16,
    "zoneout": 0.1,
    "max_length": 32,
}
# The averages of normalisations follow in some hundred updates by default, far more than there are.
STAGES = [
    "distill.float.stop={updates: 450, every: 150}",
    "distill.float.batch_size=16",
    "distill.float.optimizer.learning_rate=1.0e-2",
    "distill.quantized.stop.epochs=1",
    "distill.quantized.batch_size=16",
    "distill.frozen_statistics.stop.epochs=1",
    "distill.frozen_statistics.batch_size=16",
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pqrnn")
    tree = YAML(typ="safe").load(TINY.read_text("utf-8"))
    del tree["distill"], tree["models"]["student"]
    tree |= {"base": "pqrnn", "name": "tiny pqrnn"}
    tree["data"]["augment"] = {"kind": "slot_substitution", "times": 1}
    tree["models"]["float"] = {**SMALL, "momentum": 0.8}
    path = folder / "recipe.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML().dump(tree, file)
    return folder / "run", run(load_recipe(path, STAGES), folder / "run", folder)


def test_every_system_has_learned(finished):
    _, metrics = finished
    scores = {system.id: system.scores["dev"] for system in metrics.systems}
    assert set(scores) == {"teacher", "baseline", "float", "student", "student.tflite"}
    assert scores["student"]["intent_accuracy"] > 60
    assert (
        scores["baseline"]["intent_accuracy"] > 60
    )  # its learning rate is that of the float stage
    assert (
        abs(scores["student"]["intent_accuracy"] - scores["student.tflite"]["intent_accuracy"])
        <= 15
    )


def test_the_baseline_is_selected_as_often_as_the_longest_stage(finished):
    folder, _ = finished
    with (folder / "history.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] == "monitored"]
    checks = {
        phase: [int(row["updates"]) for row in rows if row["phase"] == phase]
        for phase in ("float", "labels_only")
    }
    assert checks["float"] == [0, 150, 300, 450]
    assert checks["labels_only"][:4] == [0, 150, 300, 450]
    assert len(checks["labels_only"]) <= 6


def test_the_student_is_quantized_and_went_on_from_the_float_one(finished):
    folder, metrics = finished
    assert [phase.name for phase in metrics.phases["student"]] == [
        "float",
        "quantized",
        "frozen_statistics",
    ]
    student = open_run(folder).model("student")
    assert student.arguments["quantize"] == "keras"
    before = open_run(folder).model("float")
    assert "quantize" not in before.arguments
    scores = evaluate(folder, model="float")["dev"].scores
    assert scores["exact_match"] == pytest.approx(metrics.phases["student"][0].best)
    assert [name for name, _ in student.model.layer_groups()][-1] == "ranges"
    assert open_run(folder).model("baseline").arguments.get("quantize") is None


def test_a_model_that_is_not_there_is_named_beside_those_that_are(finished):
    folder, _ = finished
    there = "there are teacher, float, student, baseline, student.tflite"
    with pytest.raises(RunError, match=f"no model 'other'; {there}"):
        evaluate(folder, model="other")


def test_the_file_is_all_integer_and_carries_the_projection(finished):
    folder, metrics = finished
    export = metrics.delivered.export
    assert (export.float_ops, export.flex, export.custom) == (0, 0, 0)
    runtime = Runtime(folder / "student.tflite")
    (words,) = runtime.predict(["set an alarm for seven"])
    assert [w.text for w in words.words] == ["set", "an", "alarm", "for", "seven"]
    corpus = open_run(folder).corpus
    gold = np.array([example.label for example in corpus.dev])
    found = [runtime.predict_words([list(example.words)])[0].label for example in corpus.dev]
    share = 100 * np.mean(np.array(found) == gold)
    assert share == pytest.approx(metrics.delivered.scores["dev"]["intent_accuracy"])
