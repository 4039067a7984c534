"""A recipe of several models: the order they are made in, and a run from the first to the last."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from ruamel.yaml import YAML

from tfdistil.console import Screen
from tfdistil.encoders import load_encoder
from tfdistil.pipeline import run
from tfdistil.recipe_file import parse_recipe
from tfdistil.runs import open_run

TINY = Path(__file__).with_name("tiny.yaml")
CASCADE = """
models:
  teacher: {scratch: {layers: 2}, fine_tune: {epochs: 4}}
  student: {kind: bilstm, width: 8, embedding: {width: 8}, max_length: 32}
  half: {from: teacher, apply: [{kind: keep_layers, layers: [1]}]}
distill:
  - name: last
    teacher: half
    terms: [{loss: logit_mse, stream: [train, transfer]}]
    stop: {updates: 40}
  - name: assist
    student: half
    terms: [{loss: logit_mse, head: logits, stream: [train, transfer]}]
    stop: {updates: 20}
twin: false
"""


def cascade(**changes):
    """The tiny recipe's data with a student of an assistant, named before it."""
    tree = YAML(typ="safe").load(TINY.read_text("utf-8"))
    own = YAML(typ="safe").load(CASCADE)
    teacher = tree["models"]["teacher"]
    for part in ("scratch", "fine_tune"):
        own["models"]["teacher"][part] = {**teacher[part], **own["models"]["teacher"][part]}
    own["models"]["teacher"]["max_length"] = 32
    return parse_recipe({**tree, **own, **changes})


def test_each_model_comes_after_those_it_needs():
    recipe = cascade()
    assert recipe.plan() == ("teacher", "half", "student")
    assert recipe.needs("student") == ("teacher", "half")
    assert recipe.needs("half") == ("teacher",)
    assert recipe.lineage("half") == ("half", "teacher")


def test_the_example_of_the_docs_is_a_recipe():
    page = (Path(__file__).parents[1] / "docs" / "encoders.md").read_text("utf-8")
    text = page.split("## Models made from others")[1].split("```yaml\n")[1].split("```")[0]
    data = {"demo": {"kind": "tags"}}
    recipe = parse_recipe({"task": "tags", "data": data, **YAML(typ="safe").load(text)})
    assert recipe.plan() == ("teacher", "assistant", "student")


def test_a_model_that_nothing_needs_is_not_made():
    models = {**json.loads(cascade().model_dump_json())["models"], "spare": {"from": "half"}}
    assert cascade(models=models).plan() == ("teacher", "half", "student")


@pytest.mark.slow
def test_a_teachers_assistant_teaches_the_student(tmp_path):
    text = io.StringIO()
    run(cascade(), tmp_path, screen=Screen(Console(file=text, width=200)))
    names = [path.name for path in sorted((tmp_path / "models").iterdir())]
    assert names == ["half", "student", "teacher"]
    half = load_encoder(tmp_path / "models" / "half")
    assert half.config.layers == 1
    work = open_run(tmp_path)
    moved = [
        not np.array_equal(mine, theirs)
        for mine, theirs in zip(
            dict(work.model("half").model.layer_groups())["layer_1"],
            dict(work.model("teacher").model.layer_groups())["layer_1"],
            strict=True,
        )
    ]
    assert any(moved)  # the assistant was trained on
    assert [phase["name"] for phase in work.phases("student")] == ["last"]
    assert any("half on train" in line for line in text.getvalue().splitlines())

    # Stopped before the last model, it goes on with that one alone.
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    scores = json.loads((tmp_path / "metrics.json").read_text("utf-8"))["systems"]
    for step in [
        step for step in manifest["steps"] if step not in ("models/teacher", "models/half")
    ]:
        del manifest["steps"][step]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    for path in (tmp_path / "phases" / "student").iterdir():
        path.unlink()
    before = (tmp_path / "student.tflite").read_bytes()
    again = io.StringIO()
    run(cascade(), tmp_path, screen=Screen(Console(file=again, width=200)))
    assert "fine_tune" not in again.getvalue()
    assert "assist: " not in again.getvalue()
    assert "last: done" in again.getvalue()
    assert (tmp_path / "student.tflite").read_bytes() == before
    found = json.loads((tmp_path / "metrics.json").read_text("utf-8"))["systems"]
    assert [s["scores"] for s in found] == [s["scores"] for s in scores]
