"""``tfdistil-export`` on a run folder with an untrained student: options, output, errors."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tfdistil.corpus.loading import load_corpus
from tfdistil.exporting.cli import main, parser
from tfdistil.models.graph import Models
from tfdistil.models.record import save_model
from tfdistil.recipe.loading import load_recipe
from tfdistil.runs.folder import RunFolder
from tfdistil.runtime import Runtime

TINY = Path(__file__).parents[1] / "tiny.yaml"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "run"
    recipe = load_recipe(str(TINY), ["export.batch=4"])
    folder = RunFolder(path, recipe)
    folder.remember(base=str(path))
    corpus = load_corpus(recipe, path)
    student = Models(recipe, corpus, path)["student"]
    save_model(student, corpus.task, path / "models" / "student")
    folder.finish("models/student", 0.0, {})
    return path


def export(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def error(capsys, *arguments: object) -> str:
    assert export(*arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("tfdistil-export: ")
    assert "Traceback" not in said
    return said


def test_what_it_writes_and_says(run, tmp_path, capsys):
    out, facts = tmp_path / "new" / "student.tflite", tmp_path / "facts.json"
    # The recipe says int8, 16 positions, batches of 4 and a bound of 100 points.
    options = ["--quantize", "dynamic", "--length", "12", "--json", facts]
    assert export(run, "--out", out, *options) == 0
    said = capsys.readouterr().out
    assert f"wrote       {out}" in said
    assert "dynamic, online 1 x 12, batch 4 x 12)" in said
    assert "Flex 0, custom 0" in said
    assert re.search(r"^exact_match Keras [\d.]+, file [\d.]+ on 20 dev examples", said, re.M)
    assert re.search(
        r"^drift       slots on the dev examples: mean [\d.]+, max [\d.]+ .* same label [\d.]+ %",
        said,
        re.M,
    )
    data = json.loads(facts.read_text("utf-8"))
    assert data["signatures"]["batch"] == {"batch": 4, "length": 12}
    assert data["bytes"] == out.stat().st_size > data["model_bytes"]
    assert data["examples"] == 20
    assert len(Runtime(out).predict(["wake me up"])[0].tags) == 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--head", "logits"], "no head 'logits'; this model has labels"),
        (["--length", "2"], "windows of 2 positions are not possible"),
        (["--length", "0"], "windows of 0 positions are not possible"),
        (["--batch", "0"], "needs at least one row, got 0"),
        (["--model", "baseline"], "baseline is not trained yet"),
        (["--model", "teacher"], "teacher is not trained yet"),
        (["--max-drop", "-1"], "max_drop is points of the metric, 0 or more, got -1"),
        (["--max-drop", "nan"], "max_drop is points of the metric, 0 or more, got nan"),
    ],
)
def test_errors_leave_no_file(run, tmp_path, capsys, options, says):
    assert says in error(capsys, run, "--out", tmp_path / "s.tflite", *options)
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_used(run, tmp_path, capsys):
    assert "not a run folder" in error(capsys, tmp_path, "--out", tmp_path / "s.tflite")
    assert "is a folder; give the name of a file" in error(capsys, run, "--out", tmp_path)
    out = tmp_path / "s.tflite"
    assert "is a folder" in error(capsys, run, "--out", out, "--json", tmp_path)
    (tmp_path / "file").write_text("")
    assert "file" in error(capsys, run, "--out", tmp_path / "file" / "s.tflite")


@pytest.mark.parametrize("wrong", [["--quantize", "int4"], []])
def test_wrong_arguments_show_the_usage(wrong, capsys):
    with pytest.raises(SystemExit) as left:
        parser().parse_args(["run", *(["--out", "x"] if wrong else []), *wrong])
    assert left.value.code == 2
    assert "usage: tfdistil-export" in capsys.readouterr().err


def test_without_the_training_stack_it_says_what_to_install(run, tmp_path, capsys, monkeypatch):
    """As in the light installation, which ``make sdist-test`` has for real."""
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    said = error(capsys, run, "--out", tmp_path / "s.tflite")
    assert "tensorflow is missing" in said
    assert "pip install 'tfdistil[train]'" in said
