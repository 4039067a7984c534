"""Running a sweep: one teacher for all that share it, going on after a stop, what is refused."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tfdistil.cli.main import main
from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import load_corpus
from tfdistil.errors import ExportError, RecipeError, RunError
from tfdistil.models.record import load_model
from tfdistil.pipeline.run import run
from tfdistil.recipe.loading import load_recipe
from tfdistil.runs.changed_data import refuse_changed_data
from tfdistil.runs.folder import RunFolder, export_step, model_step
from tfdistil.runs.model_sharing import model_key, take_model, take_signals
from tfdistil.runs.run_metrics import Metrics, System
from tfdistil.sweep import run as module
from tfdistil.sweep.points import plan_sweep, sweep_points
from tfdistil.sweep.run import sweep, write_results

TINY = Path(__file__).parents[1] / "tiny.yaml"
WIDTH = "models.student.hidden_dim"
TEACHER = model_step("teacher")
SHORT = ["baseline=false", "models.teacher.fine_tune.epochs=2", "distill.joint.stop.epochs=2"]


def log() -> tuple[Screen, io.StringIO]:
    text = io.StringIO()
    return Screen(Console(file=text, width=200)), text


# Which teachers are the same


def key(*assignments: str, base: Path = TINY.parent) -> str:
    recipe = load_recipe(TINY, assignments)
    return model_key(recipe, "teacher", load_corpus(recipe, base), base)


def key_of(recipe, corpus) -> str:
    return model_key(recipe, "teacher", corpus, Path())


CHECKPOINT = "models.teacher={checkpoint: mine}"


@pytest.mark.parametrize(
    "change",
    [
        "name=other",
        f"{WIDTH}=8",
        "distill.joint.stop.epochs=1",
        "data.demo.test=5",
        "baseline=false",
        "export.quantize=none",
        "models.teacher.seed=13",
    ],
)
def test_what_the_teacher_does_not_see_leaves_it_the_same(change):
    assert key(change) == key()


@pytest.mark.parametrize(
    "change",
    [
        "seed=7",
        "data.demo.train=299",
        "data.demo.dev=19",
        "data.transfer_limit=50",
        "models.teacher.fine_tune.epochs=1",
        "models.teacher.scratch.hidden_dim=16",
        "models.teacher.seed=7",
        CHECKPOINT,
    ],
)
def test_what_the_teacher_sees_makes_it_another(change):
    assert key(change) != key()


def test_a_checkpoint_does_not_see_transfer_and_is_told_apart_by_its_folder(tmp_path):
    assert key(CHECKPOINT, "data.transfer_limit=50") == key(CHECKPOINT)
    (tmp_path / "mine").mkdir()
    assert key(CHECKPOINT, base=tmp_path) != key(CHECKPOINT)
    assert key(CHECKPOINT, "models.teacher.fine_tune=false") != key(CHECKPOINT)


def test_a_teacher_with_a_seed_of_its_own_serves_students_of_all_seeds():
    recipe, other = (
        load_recipe(TINY, ["models.teacher.seed=5", f"seed={seed}"]) for seed in (5, 6)
    )
    corpus = load_corpus(recipe)
    assert key_of(recipe, corpus) == key_of(other, corpus)


def test_labels_count_and_origins_do_not():
    recipe = load_recipe(TINY)
    corpus = load_corpus(recipe)
    first, *rest = corpus.train
    moved = replace(corpus, train=(replace(first, source="elsewhere:1"), *rest))
    other = replace(corpus, train=(replace(first, label="other"), *rest))
    assert key_of(recipe, moved) == key_of(recipe, corpus)
    assert key_of(recipe, other) != key_of(recipe, corpus)


def make_source(folder: Path) -> RunFolder:
    source = RunFolder(folder, load_recipe(TINY))
    source.finish(TEACHER, 12.5, {"parameters": 5})
    (folder / TEACHER).mkdir(parents=True)
    (folder / TEACHER / "model.safetensors").write_bytes(b"weights")
    for name in ("train-1", "transfer-2.partial"):
        (folder / "cache" / name).mkdir(parents=True)
        (folder / "cache" / name / "offsets.npy").write_bytes(b"offsets")
    (folder / "benchmark").mkdir()
    (folder / "benchmark" / "teacher.tflite").write_bytes(b"converted")
    (folder / "history.csv").write_text(
        "model,phase,epoch,updates,name,value\n"
        "teacher.body,pretrain,0,0,loss,5\nteacher,fine_tune,0,0,loss,4\nstudent,joint,0,0,loss,3\nstu"
    )
    return source


@pytest.mark.parametrize("links", [True, False])
def test_a_teacher_is_taken_over_with_its_curves_and_signals(tmp_path, monkeypatch, links):
    def refuse(*arguments):
        raise OSError("no links here")

    if not links:
        monkeypatch.setattr("os.link", refuse)
    source = make_source(tmp_path / "a")
    target = RunFolder(tmp_path / "b", load_recipe(TINY, [f"{WIDTH}=8"]))
    take_model(source, target, "teacher")
    take_signals(source, target, "teacher")
    again = RunFolder(tmp_path / "b")
    assert again.facts(TEACHER) == {"parameters": 5, "taken_from": str(source.path)}
    assert again.manifest["steps"][TEACHER]["seconds"] < 12.5
    weights = again.path / TEACHER / "model.safetensors"
    assert weights.read_bytes() == b"weights"
    assert weights.samefile(source.path / TEACHER / "model.safetensors") == links
    assert [path.name for path in (again.path / "cache").iterdir()] == ["train-1"]
    assert (again.path / "benchmark" / "teacher.tflite").read_bytes() == b"converted"
    models = [line.split(",")[0] for line in (again.path / "history.csv").read_text().splitlines()]
    assert models == ["model", "teacher.body", "teacher"]
    weights.unlink()
    take_model(source, again, "teacher")  # it is done, so nothing happens
    assert not weights.exists()


# The order of things, with runs that only leave their files


def plan(out: Path, *points: Sequence[str], sets: Sequence[str] = SHORT):
    return plan_sweep(TINY, sweep_points([], points), out, sets)


@pytest.fixture
def runs(monkeypatch, tmp_path_factory) -> list[str]:
    """Names of the points that were run; what they leave looks finished."""
    started = []
    same = {"scores": {"dev": {"span_f1": 50.0}}, "parameters": 1, "model": "student"}
    systems = (
        System(id="student", name="student", role="student", **same),
        System(id="student.tflite", name="file", role="file", **same),
    )
    metrics = Metrics(
        name="x", task="tags", metric="span_f1", seed=1, main="student.tflite", systems=systems
    )

    def fake(recipe, out, base, screen):
        started.append(out.name)
        if recipe.seed == 99:
            raise ExportError("the drop is 9 points; 0.5 may be lost")
        folder = RunFolder(out, recipe)
        (out / TEACHER).mkdir(parents=True, exist_ok=True)
        folder.once(TEACHER, lambda: {"parameters": 1})
        folder.adopt_recipe()
        for step in (model_step("student"), export_step("student")):
            folder.finish(step, 1.0, {})
        metrics.save(out)
        for name in ("report.html", "MODEL_CARD.md"):
            (out / name).write_text("done")

    monkeypatch.setattr(module, "run", fake)
    return started


def test_only_what_is_missing_is_run_and_points_can_be_added(tmp_path, runs):
    screen, text = log()
    swept = sweep(plan(tmp_path, ["a"], ["b", f"{WIDTH}=8"]), tmp_path, screen)
    assert runs == ["a", "b"]
    assert [entry.name for entry in swept.entries] == ["a", "b"]
    assert "2 points into" in text.getvalue()
    assert "one teacher for them" in text.getvalue()
    (tmp_path / "b" / "report.html").unlink()
    swept = sweep(plan(tmp_path, ["b", f"{WIDTH}=8"], ["c", "seed=2"]), tmp_path, log()[0])
    assert runs == ["a", "b", "b", "c"]
    assert [entry.values for entry in swept.entries] == [
        {WIDTH: "16", "seed": "13"},
        {WIDTH: "8", "seed": "13"},
        {WIDTH: "16", "seed": "2"},
    ]
    assert RunFolder(tmp_path / "b").facts(TEACHER)["taken_from"] == str(tmp_path / "a")
    assert "taken_from" not in RunFolder(tmp_path / "c").facts(TEACHER)
    shutil.rmtree(tmp_path / "a")  # how a point is dropped
    swept = sweep(plan(tmp_path, ["c", "seed=2"]), tmp_path, log()[0])
    assert [entry.name for entry in swept.entries] == ["b", "c"]


def test_a_point_that_fails_does_not_stop_the_others(tmp_path, runs, capsys):
    points = [["a", "seed=99"], ["b"]]
    screen, text = log()
    swept = sweep(plan(tmp_path, *points), tmp_path, screen)
    assert runs == ["a", "b"]
    assert [entry.name for entry in swept.entries] == ["b"]
    assert "2 teachers for them" in text.getvalue()
    assert "failed: the drop is 9 points" in text.getvalue()
    with pytest.raises(RunError, match=r"^a failed; a: the drop is 9 .*\n.* the same command"):
        swept.check()
    words = [word for point in points for word in ("--variant", *point)]
    words += [word for text in SHORT for word in ("--set", text)]
    assert main(["sweep", str(TINY), "--out", str(tmp_path), *words]) == 2
    captured = capsys.readouterr()
    assert runs == ["a", "b", "a"]
    assert f"page:    {tmp_path / 'sweep.html'}" in captured.out
    assert "tfdistil: a failed; a: the drop" in captured.err


def test_all_points_are_checked_before_one_is_run(tmp_path, runs):
    wrong = ["deep", "distill.joint.groups=[attic]"]
    with pytest.raises(RecipeError, match=r"^deep: .*attic"):
        sweep(plan(tmp_path, ["a"], wrong), tmp_path, log()[0])
    assert runs == []
    # Nothing was made, so the recipe may be mended.
    mended = ["deep", "distill.joint.groups=[heads]"]
    sweep(plan(tmp_path, ["a"], mended), tmp_path, log()[0])
    assert runs == ["a", "deep"]


def test_another_recipe_in_the_same_folder_is_refused_with_the_difference(tmp_path, runs):
    sweep(plan(tmp_path, ["a"]), tmp_path, log()[0])
    before = (tmp_path / "sweep.json").read_bytes()
    for point in ("a", "b"):
        other = plan(tmp_path, [point], sets=[*SHORT, "models.student.dropout=0.5"])
        with pytest.raises(RunError) as raised:
            sweep(other, tmp_path, log()[0])
        message = str(raised.value)
        assert message.startswith(f"{tmp_path / 'a'} was started with another recipe:")
        assert "-    dropout: 0.1" in message
        assert "+    dropout: 0.5" in message
    assert runs == ["a"]
    assert (tmp_path / "sweep.json").read_bytes() == before
    assert not (tmp_path / "b").exists()


def test_another_export_of_a_sweep_is_one_of_all_its_finished_points(tmp_path, runs):
    sweep(plan(tmp_path, ["a"]), tmp_path, log()[0])
    sets = [*SHORT, "export.length=24"]
    for expected in (["a", "b"], []):  # the second time there is nothing to do
        runs.clear()
        swept = sweep(plan(tmp_path, ["b", f"{WIDTH}=8"], sets=sets), tmp_path, log()[0])
        assert runs == expected
    assert [entry.name for entry in swept.entries] == ["a", "b"]
    assert all(RunFolder(tmp_path / name).recipe.export.length == 24 for name in ("a", "b"))


@pytest.fixture
def own_data(tmp_path) -> list[str]:
    """A training file, and the overrides by which the tiny recipe reads it."""
    rows = [{"text": f"say word{n}", "intent": "ab"[n % 2], "entities": []} for n in range(12)]
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sets = [f"data={{train: [{{path: {path}}}], dev_fraction: 0.3}}"]
    return [*SHORT, *sets, *(f"distill.joint.terms.{n}.stream=train" for n in (0, 1))]


def test_a_sweep_does_not_go_on_with_other_data(tmp_path, runs, own_data):
    """Neither are old results shown beside new ones, nor is an old teacher taken for a new one."""
    out, train = tmp_path / "out", tmp_path / "train.jsonl"
    sweep(plan(out, ["a"], sets=own_data), out, log()[0])
    train.write_text(train.read_text().replace("word3", "other"))
    for point in ("a", "b"):
        screen, text = log()
        with pytest.raises(RunError, match=r"a: its data has changed .*\n.*train\.jsonl \(train\)"):
            sweep(plan(out, [point], sets=own_data), out, screen)
        assert text.getvalue() == ""
    assert runs == ["a"]
    assert not (out / "b").exists()
    points = sweep_points([], [["b", f"{WIDTH}=8"]])
    with pytest.raises(RunError, match=r"a: its data has changed"):
        sweep(plan_sweep(out / "a", points, tmp_path / "more"), tmp_path / "more", log()[0])
    train.write_text(train.read_text().replace("other", "word3"))
    sweep(plan(out, ["b"], sets=own_data), out, log()[0])
    assert RunFolder(out / "b").facts(TEACHER)["taken_from"] == str(out / "a")


def test_data_edited_while_a_sweep_runs_gets_no_old_teacher(tmp_path, runs, own_data, monkeypatch):
    out, train = tmp_path / "out", tmp_path / "train.jsonl"
    fake = module.run

    def edits(recipe, out, base, screen):
        folder = RunFolder(out, recipe)
        refuse_changed_data(folder, base)  # as a run does first of all
        fake(recipe, out, base, screen)
        train.write_text(train.read_text().replace("word3", "other"))

    monkeypatch.setattr(module, "run", edits)
    swept = sweep(plan(out, ["a"], ["b", f"{WIDTH}=8"], sets=own_data), out, log()[0])
    assert runs == ["a"]
    assert "its data has changed" in swept.failed["b"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "a sweep needs points; give --grid"),
        (["--grid", "seed"], "--grid seed: expected KEY=VALUE"),
        (["--grid", "nix=1"], "unknown key `nix`"),
        (["--variant", "x", "seed=-1"], "x: "),
        (["--variant", "x", "--seeds", "1,1"], "--seeds 1,1: each once"),
        (["--grid", "seed=1,2", "--seeds", "1,2"], "both say which seeds"),
        (["--seeds", "1,1"], "--seeds 1,1: each once"),
    ],
)
def test_errors_of_the_command_are_one_line_and_leave_nothing(words, says, tmp_path, capsys):
    assert main(["sweep", str(TINY), "--out", str(tmp_path / "out"), *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tfdistil: ")
    assert says in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_seeds_alone_are_the_recipe_at_each_of_them(tmp_path, runs):
    out = tmp_path / "out"
    assert main(["sweep", str(TINY), "--out", str(out), "--seeds", "3,1"]) == 0
    assert runs == ["seed=3", "seed=1"]
    assert [load_recipe(out / name / "recipe.yaml").seed for name in runs] == [3, 1]


# Real runs


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> Path:
    """Two widths: the second is stopped in its student, then the same command goes on."""
    out = tmp_path_factory.mktemp("sweep") / "grid"
    points = sweep_points([f"{WIDTH}=16,8"], [])

    class Stops(Screen):
        def begin(self, name, total):
            if name == "joint" and (out / "hidden_dim=16" / "MODEL_CARD.md").exists():
                raise KeyboardInterrupt
            return super().begin(name, total)

    text = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        sweep(plan_sweep(TINY, points, out, SHORT), out, Stops(Console(file=text, width=200)))
    assert text.getvalue().endswith("1 of 2 points are finished; the same command goes on\n")
    assert text.getvalue().count("fine_tune: done") == 1
    with (out / "sweep.csv").open(newline="") as file:
        assert [row["point"] for row in csv.DictReader(file)] == ["hidden_dim=16"]
    screen, log_of_second = log()
    found = sweep(plan_sweep(TINY, points, out, SHORT), out, screen)
    found.check()
    assert "fine_tune" not in log_of_second.getvalue()
    assert "hidden_dim=16 (" not in log_of_second.getvalue()
    return out


@pytest.mark.slow
def test_the_teacher_is_trained_once(swept):
    first, second = (RunFolder(swept / name) for name in ("hidden_dim=16", "hidden_dim=8"))
    for name in (f"{TEACHER}/model.safetensors", f"{TEACHER}/tokenizer.json"):
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes()
    assert second.facts(TEACHER)["taken_from"] == str(first.path)
    times = [folder.manifest["steps"][TEACHER]["seconds"] for folder in (first, second)]
    assert times[1] < 1 < times[0]
    caches = [{path.name for path in folder.path.glob("cache/*")} for folder in (first, second)]
    assert caches[0] == caches[1]
    assert len(caches[0]) == 2
    assert "teacher-curve" in (second.path / "report.html").read_text("utf-8")


@pytest.mark.slow
def test_the_table_is_that_of_the_metrics(swept):
    with (swept / "sweep.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row[WIDTH] for row in rows] == ["16", "8"]
    for row in rows:
        metrics = Metrics.load(swept / row["point"])
        file = metrics.delivered
        assert float(row["file_test"]) == file.scores["test"]["exact_match"]
        assert float(row["student_dev"]) == metrics.keras.scores["dev"]["exact_match"]
        assert int(row["parameters"]) == file.parameters
        assert float(row["smaller_than_teacher"]) == metrics.teacher.bytes / file.bytes
        faster = file.ratios["teacher"].batch["median"]
        assert float(row["faster_batch_than_teacher"]) == faster
        assert (int(row["calls_online"]), int(row["batch"])) == (100, 32)
        assert f'href="hidden_dim%3D{row[WIDTH]}/report.html"' in (swept / "sweep.html").read_text(
            "utf-8"
        )
    assert int(rows[0]["parameters"]) > int(rows[1]["parameters"])


@pytest.mark.slow
def test_whole_parts_of_a_recipe_are_no_columns(swept, tmp_path):
    """What they are is said by the name of the variant."""
    out = shutil.copytree(swept, tmp_path / "out")
    record = json.loads((out / "sweep.json").read_text("utf-8"))
    for point in record["points"]:
        point["assignments"] += ["models.student={kind: bilstm}", "distill=[]", "seed=13"]
    (out / "sweep.json").write_text(json.dumps(record))
    assert [list(entry.values) for entry in write_results(out)] == [[WIDTH, "seed"]] * 2
    with (out / "sweep.csv").open(newline="") as file:
        columns = csv.DictReader(file).fieldnames
    assert columns[:4] == ["point", WIDTH, "seed", "metric"]


@pytest.mark.slow
@pytest.mark.long
def test_a_point_is_what_a_run_of_its_recipe_alone_would_be(swept, tmp_path):
    alone = tmp_path / "run"
    run(load_recipe(TINY, [*SHORT, f"{WIDTH}=8"]), alone, TINY.parent, log()[0])
    for name in ("student.tflite", "predictions/teacher.test.jsonl"):
        assert (alone / name).read_bytes() == (swept / "hidden_dim=8" / name).read_bytes(), name
    folders = (of / model_step("student") for of in (alone, swept / "hidden_dim=8"))
    mine, theirs = (load_model(folder).model for folder in folders)
    for weight, expected in zip(mine.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, expected)


@pytest.mark.slow
def test_a_finished_run_lends_its_teacher(swept, tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(module, "run", lambda recipe, out, base, screen: started.append(out))
    points = sweep_points([], [["narrow", f"{WIDTH}=4"], ["seed", "seed=5"]])
    sweep(plan_sweep(swept / "hidden_dim=8", points, tmp_path / "out"), tmp_path / "out", log()[0])
    narrow, seed = (RunFolder(path) for path in started)
    assert narrow.facts(TEACHER)["taken_from"] == str(swept / "hidden_dim=8")
    assert len(list((narrow.path / "cache").iterdir())) == 2
    assert not seed.is_done(TEACHER)
