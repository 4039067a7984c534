"""A run that trains on JAX, in a process without TensorFlow, and ends on TensorFlow."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tfdistil.pipeline.run import run
from tfdistil.recipe.loading import load_recipe

pytest.importorskip("jax")
pytestmark = pytest.mark.slow
long = pytest.mark.long  # tests/distill/test_backends.py trains there, too

RECIPE = {
    "task": "tags",
    "baseline": False,
    "data": {"demo": {"kind": "tags", "languages": ["en"], "train": 120, "dev": 40, "test": 30}},
    "models": {
        "teacher": {
            "scratch": {
                "layers": 1,
                "hidden_dim": 16,
                "heads": 2,
                "intermediate_dim": 16,
                "vocabulary": 200,
                "pretrain": {"updates": 2},
            },
            "heads": {"logits": "crf"},
            "fine_tune": {"learning_rate": 3e-3, "updates": 30},
            "max_length": 32,
        },
        "student": {
            "kind": "bilstm",
            "hidden_dim": 16,
            "embedding": {"dim": 16},
            "heads": {"labels": "crf"},
            "max_length": 32,
        },
    },
    "distill": [
        {
            "name": "joint",
            "terms": [{"loss": "crf_nll"}, {"loss": "sequence_cross_entropy", "k": 3}],
            "optimizer": {"learning_rate": 2e-2},
            "batch_size": 16,
            "stop": {"updates": 90, "every": 45},
        }
    ],
    "export": {"quantize": "none", "max_drop": 20.0},
    "benchmark": {"queries": 100},
}
WITHOUT_TENSORFLOW = """
import sys
for name in ("tensorflow", "tf_keras", "tensorflow_text", "tensorflow_model_optimization"):
    sys.modules[name] = None
from tfdistil.cli.main import main
sys.exit(main())
"""


def on_jax(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW, *arguments],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    top = tmp_path_factory.mktemp("jax")
    recipe = top / "recipe.json"
    recipe.write_text(json.dumps(RECIPE))
    return recipe, top / "run", on_jax("run", str(recipe), "--out", str(top / "run"))


@long
def test_models_are_trained_and_scored_and_the_next_step_is_said(trained):
    _, folder, done = trained
    assert done.returncode == 2, done.stderr[-3000:]
    assert done.stderr.splitlines()[-1] == (
        "tfdistil: student.tflite is made on TensorFlow, and Keras is on jax, where models are "
        "only trained and scored: give the same command again without KERAS_BACKEND=jax"
    )
    assert (folder / "predictions/student.test.jsonl").exists()
    # A dev score from the weights of each check, not from those of the first.
    with (folder / "history.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] == "monitored"]
    scores = [float(row["value"]) for row in rows if row["model"] == "student"]
    assert len(scores) == 3
    assert scores[-1] > scores[0] + 20


@long
def test_the_same_run_goes_on_on_tensorflow(trained):
    recipe, folder, _ = trained
    before = {path: path.read_bytes() for path in (folder / "models").rglob("*") if path.is_file()}
    metrics = run(load_recipe(recipe), folder, recipe.parent)
    assert before == {path: path.read_bytes() for path in before}
    scores = {system.id: system.scores["dev"]["span_f1"] for system in metrics.systems}
    # The predictions of the model are JAX's, those of the file TensorFlow's.
    assert scores["student.tflite"] == pytest.approx(scores["student"], abs=1e-6)
    assert scores["student"] > 20


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        ("jax", "KERAS_BACKEND is jax, which needs `pip install 'tfdistil[jax]'`"),
        ("torch", "KERAS_BACKEND is torch, expected tensorflow or jax"),
    ],
)
def test_a_backend_that_is_missing_or_unknown(backend, expected):
    code = (
        "import sys; sys.modules['jax'] = None; "
        "from tfdistil.cli.main import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "demo", "--out", "never-made"],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, f"tfdistil: {expected}\n")
