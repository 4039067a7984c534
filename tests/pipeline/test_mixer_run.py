"""The mixer recipe end to end without any encoder: trained, exported, opened again, predicted."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil import Runtime
from tfdistil.evaluation.evaluate import evaluate
from tfdistil.exporting.run import export
from tfdistil.pipeline.run import run
from tfdistil.recipe.loading import load_recipe
from tfdistil.runs.run import open_run

pytestmark = pytest.mark.slow

TERMS = [{"loss": "cross_entropy"}]
RECIPE = {
    "base": "mixer",
    "task": "intent_slots",
    "baseline": False,
    "data": {"demo": {"kind": "intent_slots", "languages": ["en"], "train": 200, "dev": 40}},
    "models": {
        "float": {
            "hashing": {"families": {"murmur": 64, "ngram": 64}},
            "hidden_dim": 32,
            "bottleneck": 16,
            "max_length": 32,
            "max_positions": 32,
        }
    },
    "distill": [
        {
            "name": name,
            "student": student,
            "teacher": None,
            "terms": TERMS,
            "optimizer": {"learning_rate": rate},
            "batch_size": 16,
            "stop": {"updates": updates, "every": updates},
        }
        for name, student, rate, updates in (
            ("float", "float", 1e-2, 200),
            ("quantized", "student", 1e-3, 40),
        )
    ],
    "export": {"max_drop": 20.0},
    "benchmark": {"queries": 100},
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixer") / "run"
    return folder, run(load_recipe(RECIPE), folder, folder.parent)


def test_it_has_learned_and_the_file_says_so_too(finished):
    folder, metrics = finished
    scores = {system.id: system.scores["dev"]["intent_accuracy"] for system in metrics.systems}
    assert set(scores) == {"float", "student", "student.tflite"}
    assert min(scores.values()) > 60
    assert (metrics.delivered.export.float_ops, metrics.delivered.export.flex) == (0, 0)
    dev = open_run(folder).corpus.dev
    found = Runtime(folder / "student.tflite").predict_words([[*example.words] for example in dev])
    right = [one.label == example.label for one, example in zip(found, dev, strict=True)]
    assert 100 * np.mean(right) == pytest.approx(scores["student.tflite"])


def test_a_run_without_an_encoder_is_evaluated_and_exported_again(finished, tmp_path):
    folder, metrics = finished
    scores = evaluate(folder, model="float")["dev"].scores
    assert scores["exact_match"] == pytest.approx(metrics.phases["float"][0].best)
    assert export(folder, tmp_path / "again.tflite").bytes == metrics.delivered.export.bytes
    assert (tmp_path / "again.tflite").read_bytes() == (folder / "student.tflite").read_bytes()
