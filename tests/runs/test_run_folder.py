"""A run folder belongs to one recipe and does each step once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tfdistil.errors import RunError
from tfdistil.recipe.loading import load_recipe, parse_recipe
from tfdistil.runs.folder import LAYOUT, RunFolder, base_of_file, versions


@pytest.fixture(scope="module")
def recipe():
    return load_recipe("demo")


def test_a_new_folder_holds_the_resolved_recipe_and_a_manifest(tmp_path, recipe):
    folder = RunFolder(tmp_path / "a" / "run", recipe)
    tree = YAML(typ="safe").load((folder.path / "recipe.yaml").read_text("utf-8"))
    assert tree["distill"][0]["optimizer"]["clip"] is None  # defaults are written out
    manifest = json.loads((folder.path / "manifest.json").read_text("utf-8"))
    assert manifest == {
        "layout": LAYOUT,
        "seed": recipe.seed,
        "steps": {},
        "versions": versions(),
    }
    assert {"python", "keras", "tensorflow", "numpy"} <= set(versions())


def test_it_opens_again_with_or_without_the_recipe(tmp_path, recipe):
    RunFolder(tmp_path, recipe).finish("models/teacher", 1.26, {"parameters": 5})
    for again in (RunFolder(tmp_path), RunFolder(tmp_path, recipe)):
        assert again.recipe == recipe
        assert again.is_done("models/teacher")
        assert not again.is_done("models/student")
        assert again.facts("models/teacher") == {"parameters": 5}
        assert again.manifest["steps"]["models/teacher"]["seconds"] == 1.3


def test_the_recipe_of_a_run_says_where_its_data_is(tmp_path, recipe):
    """Another run of it reads the files that the first one has read."""
    folder = RunFolder(tmp_path / "run", recipe)
    own = folder.path / "recipe.yaml"
    assert base_of_file(own) == folder.path  # not started: nothing is known
    folder.remember(base=str(tmp_path))
    assert base_of_file(own) == tmp_path
    (folder.path / "mine.yaml").write_bytes(own.read_bytes())
    assert base_of_file(folder.path / "mine.yaml") == folder.path
    folder.remember(base="/gone")  # a run that was made elsewhere says where its files were
    assert base_of_file(own) == Path("/gone")


@pytest.mark.parametrize("kind", ["mixer", "pqrnn"])
@pytest.mark.parametrize("name", ["student", "teacher"])
def test_a_run_without_an_encoder_opens_again(tmp_path, kind, name):
    """Its resolved recipe has `encoder: teacher`, a default that asks for nothing."""
    tree = {
        "task": "tags",
        "data": {"demo": {"kind": "tags"}},
        "models": {name: {"kind": kind}},
        "distill": [
            {"name": "one", "student": name, "teacher": None, "terms": [{"loss": "cross_entropy"}]}
        ],
        "baseline": False,
        "deliver": {name: {"tflite": True}},
    }
    recipe = parse_recipe(tree, "recipe.yaml")
    RunFolder(tmp_path, recipe)
    assert "encoder: teacher" in (tmp_path / "recipe.yaml").read_text("utf-8")
    assert RunFolder(tmp_path).recipe == recipe


def test_another_recipe_is_refused_with_the_difference(tmp_path, recipe):
    RunFolder(tmp_path, recipe).finish("models/teacher", 1.0, {})
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(RunError) as caught:
        RunFolder(tmp_path, load_recipe("demo", ["seed=99", "distill.joint.stop.epochs=3"]))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path} was started with another recipe:")
    epochs = recipe.distill[0].stop.epochs
    for line in ("-seed: 13", "+seed: 99", f"-    epochs: {epochs}", "+    epochs: 3"):
        assert line in message.splitlines()
    assert "--out" in message
    assert len(message.splitlines()) < 25  # the difference alone, not both recipes
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


STEPS = (
    *("models/teacher", "models/student", "models/baseline"),
    *("export/student", "evaluate", "evaluate_files", "benchmark"),
)


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        (["export.quantize=dynamic"], {"export/student", "evaluate_files", "benchmark"}),
        (
            ["export.max_drop=9", "benchmark.queries=200"],
            {"export/student", "evaluate_files", "benchmark"},
        ),
        (["benchmark.reference=mbert-shape"], {"benchmark"}),
    ],
)
def test_export_and_benchmark_may_change_and_training_stays(tmp_path, recipe, changes, again):
    folder = RunFolder(tmp_path, recipe)
    for step in STEPS:
        folder.finish(step, 1.0, {})
    (tmp_path / "metrics.json").write_text("{}")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    changed = load_recipe("demo", changes)
    folder = RunFolder(tmp_path, changed)
    assert folder.outdated() == again
    # Until the recipe is adopted nothing has changed: the data may yet be refused.
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with folder.alone():
        folder.adopt_recipe()
    for opened in (folder, RunFolder(tmp_path), RunFolder(tmp_path, changed)):
        assert opened.recipe == changed
        assert opened.outdated() == set()
        assert {step for step in STEPS if not opened.is_done(step)} == again
    assert not (tmp_path / "metrics.json").exists()  # it told of the old file


@pytest.mark.parametrize("left", [None, b"\0" * 9])
def test_a_file_that_is_gone_or_cut_off_is_made_again(tmp_path, left):
    folder = RunFolder(tmp_path, load_recipe("demo"))
    for step in STEPS:
        folder.finish(step, 1.0, {})
    folder.finish("export/student", 1.0, {"path": "student.tflite", "bytes": 10})
    (tmp_path / "student.tflite").write_bytes(b"\0" * 10)
    assert folder.outdated() == set()
    (tmp_path / "student.tflite").unlink()
    if left is not None:
        (tmp_path / "student.tflite").write_bytes(left)
    assert folder.outdated() == {"export/student", "evaluate_files", "benchmark"}


def test_a_checkpoint_more_leaves_files_and_scores_alone(tmp_path):
    folder = RunFolder(tmp_path, load_recipe("demo"))
    for step in STEPS:
        folder.finish(step, 1.0, {})
    deliver = "deliver={student: {tflite: true}, teacher: {checkpoint: true}}"
    assert RunFolder(tmp_path, load_recipe("demo", [deliver])).outdated() == set()


def test_another_head_is_scored_again_and_not_trained_again(tmp_path):
    two = "models.student.heads=[labels, logits]"
    folder = RunFolder(tmp_path, load_recipe("demo", [two]))
    for step in STEPS:
        folder.finish(step, 1.0, {})
    folder = RunFolder(tmp_path, load_recipe("demo", [two, "export.head=logits"]))
    assert folder.outdated() == {"export/student", "evaluate", "evaluate_files", "benchmark"}


def test_a_recipe_that_is_adopted_again_changes_nothing(tmp_path, recipe):
    folder = RunFolder(tmp_path, recipe)
    folder.finish("export/student", 1.0, {})
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    RunFolder(tmp_path, recipe).adopt_recipe()
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_an_adoption_that_was_cut_off_can_be_repeated(tmp_path, recipe, monkeypatch):
    folder = RunFolder(tmp_path, recipe)
    for step in STEPS:
        folder.finish(step, 1.0, {})
    changed = load_recipe("demo", ["export.quantize=none"])

    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("tfdistil.runs.folder.write_text", killed)
        with pytest.raises(KeyboardInterrupt):
            RunFolder(tmp_path, changed).adopt_recipe()
    for given in (recipe, changed):  # either of them makes what is missing
        again = RunFolder(tmp_path, given)
        assert not again.is_done("export/student")
        assert again.is_done("models/baseline")


def test_a_change_of_training_is_refused_without_the_rest(tmp_path, recipe):
    RunFolder(tmp_path, recipe).finish("models/teacher", 1.0, {})
    with pytest.raises(RunError) as raised:
        RunFolder(tmp_path, load_recipe("demo", ["baseline=false", "export.quantize=none"]))
    assert "+baseline: false" in str(raised.value)
    assert "quantize" not in str(raised.value)
    assert "only export, benchmark and what else is delivered may change" in str(raised.value)


def test_a_recipe_can_be_mended_before_anything_is_made(tmp_path, recipe):
    RunFolder(tmp_path, recipe).remember(base="/data")
    mended = load_recipe("demo", ["seed=99"])
    folder = RunFolder(tmp_path, mended)
    assert folder.recipe == RunFolder(tmp_path).recipe == mended
    assert folder.manifest == {"layout": LAYOUT, "seed": 99, "steps": {}, "versions": versions()}
    (tmp_path / "phases").mkdir()  # half a step
    with pytest.raises(RunError, match="another recipe"):
        RunFolder(tmp_path, recipe)


def test_a_folder_of_something_else_is_refused(tmp_path, recipe):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(RunError, match="neither empty nor a run folder"):
        RunFolder(tmp_path, recipe)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_refused(tmp_path, recipe):
    (tmp_path / "run").write_text("")
    with pytest.raises(RunError, match="neither empty nor a run folder"):
        RunFolder(tmp_path / "run", recipe)


def test_a_recipe_of_the_users_own_is_not_overwritten(tmp_path, recipe):
    (tmp_path / "recipe.yaml").write_text("# precious\nname: demo\n")
    with pytest.raises(RunError, match="neither empty nor a run folder"):
        RunFolder(tmp_path, recipe)
    assert (tmp_path / "recipe.yaml").read_text().startswith("# precious")


@pytest.mark.parametrize("present", [(), ("recipe.yaml",), ("manifest.json",)])
def test_there_is_nothing_to_open(tmp_path, present):
    for name in present:
        (tmp_path / name).write_text("{}")
    with pytest.raises(RunError, match="not a run folder"):
        RunFolder(tmp_path)


def test_a_step_is_done_once(tmp_path, recipe):
    calls = []

    def work():
        calls.append(1)
        return {"parameters": len(calls)}

    folder = RunFolder(tmp_path, recipe)
    assert folder.once("teacher", work) == {"parameters": 1}
    assert folder.once("teacher", work) == {"parameters": 1}
    assert RunFolder(tmp_path).once("teacher", work) == {"parameters": 1}
    assert len(calls) == 1


def test_a_step_that_fails_is_done_again(tmp_path, recipe):
    folder = RunFolder(tmp_path, recipe)

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folder.once("teacher", fail)
    assert not RunFolder(tmp_path).is_done("teacher")
    assert folder.once("teacher", lambda: {"parameters": 2}) == {"parameters": 2}


def test_a_run_of_the_version_before_is_refused_and_kept(tmp_path, recipe):
    RunFolder(tmp_path, recipe)
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    del manifest["layout"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "recipe.yaml").write_text("models: {student: {quantized: float}}")
    for given in (None, recipe):
        with pytest.raises(RunError, match=r"another version of tfdistil .* use that version: \d"):
            RunFolder(tmp_path, given)
    assert json.loads((tmp_path / "manifest.json").read_text("utf-8")) == manifest


def test_facts_of_the_run_are_remembered(tmp_path, recipe):
    RunFolder(tmp_path, recipe).remember(base="/data", transfer_dropped=3)
    manifest = RunFolder(tmp_path).manifest
    assert (manifest["base"], manifest["transfer_dropped"]) == ("/data", 3)
    assert manifest["steps"] == {}


def test_a_write_that_fails_loses_no_step(tmp_path, recipe, monkeypatch):
    folder = RunFolder(tmp_path, recipe)
    folder.finish("models/teacher", 1.0, {})

    def disk_full(descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="no space"):
        folder.finish("models/student", 1.0, {})
    monkeypatch.undo()
    again = RunFolder(tmp_path, recipe)
    assert again.is_done("models/teacher")
    assert not again.is_done("models/student")


def test_a_start_that_was_cut_off_can_be_repeated(tmp_path, recipe, monkeypatch):
    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("tfdistil.runs.folder.write_json", killed)
        with pytest.raises(KeyboardInterrupt):
            RunFolder(tmp_path / "run", recipe)
    assert RunFolder(tmp_path / "run", recipe).recipe == recipe


def test_one_process_at_a_time(tmp_path, recipe):
    first, second = (RunFolder(tmp_path, recipe) for _ in range(2))
    busy = pytest.raises(RunError, match="another process is running here")
    with first.alone(), busy, second.alone():
        pass
    with second.alone():
        pass
    RunFolder(tmp_path, load_recipe("demo", ["seed=99"]))  # a lock is nothing that was made


def test_a_file_system_without_locks_is_no_obstacle(tmp_path, recipe, monkeypatch):
    def refuse(*arguments, **options):
        raise NotImplementedError("no flock here")

    monkeypatch.setattr("tfdistil.runs.folder.FileLock.acquire", refuse)
    with RunFolder(tmp_path, recipe).alone():
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", '{"steps": []}', "[" * 100_000])
def test_a_damaged_manifest_says_what_to_do(tmp_path, recipe, text):
    folder = RunFolder(tmp_path / "run", recipe)
    (folder.path / "manifest.json").write_text(text, "utf-8")
    for given in (recipe, None):
        with pytest.raises(RunError, match=r"manifest\.json: damaged.*remove the folder"):
            RunFolder(folder.path, given)
