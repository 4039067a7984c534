"""The tiny recipe from Python, end to end: what a run folder holds and what it promises."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from rich.console import Console

from tfdistil import Runtime
from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import load_corpus
from tfdistil.errors import RunError
from tfdistil.pipeline.run import run, train_model
from tfdistil.recipe.loading import load_recipe
from tfdistil.runs.folder import RunFolder, model_step
from tfdistil.runs.run import Run, open_run

pytestmark = pytest.mark.slow

TINY = Path(__file__).parents[1] / "tiny.yaml"
README = Path(__file__).parents[2] / "README.md"
SEED = ["seed=7"]
STEPS = ("teacher", "student", "export student", "evaluate", "benchmark", "report")
SYSTEMS = ["teacher", "baseline", "student", "student.tflite"]


def example() -> str:
    """The Python example of the README."""
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    return code


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> tuple[Path, str]:
    """The README's example, run on the tiny recipe under the demo's name: folder and output."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copy(TINY, folder / "demo")
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        patch.chdir(folder)
        exec(compile(example(), str(README), "exec"), {})
    return folder / "runs" / "demo", output.getvalue()


@pytest.fixture(scope="module")
def finished(told) -> Path:
    return told[0]


@pytest.fixture(scope="module")
def metrics(finished) -> dict[str, Any]:
    return json.loads((finished / "metrics.json").read_text("utf-8"))


def log() -> tuple[Screen, io.StringIO]:
    text = io.StringIO()
    return Screen(Console(file=text, width=200)), text


def test_the_example_is_short_and_answers(told):
    assert len([line for line in example().splitlines() if line]) <= 10
    lines = told[1].splitlines()
    assert [line.split(" {")[0] for line in lines[:4]] == [
        "teacher",
        "student (no distillation)",
        "student (distilled)",
        "student int8",
    ]
    assert len(lines) == 6


def test_every_artefact_is_there(finished):
    for name in (
        "recipe.yaml",
        "manifest.json",
        "models/teacher/model.safetensors",
        "models/teacher/config.json",
        "models/teacher/tokenizer.json",
        "models/teacher/task.json",
        "models/student/model.weights.h5",
        "models/student/tokenizer.json",
        "models/baseline/model.weights.h5",
        "history.csv",
        "student.tflite",
        "metrics.json",
        "report.html",
        "MODEL_CARD.md",
        "benchmark/teacher.tflite",
        *(f"predictions/{system}.{part}.jsonl" for system in SYSTEMS for part in ("dev", "test")),
    ):
        assert (finished / name).stat().st_size > 0, name
    assert not list(finished.rglob("*.partial*"))


def test_metrics_hold_what_the_report_needs(metrics):
    assert (metrics["task"], metrics["metric"]) == ("intent_slots", "exact_match")
    assert (metrics["name"], metrics["seed"], metrics["languages"]) == ("tiny", 7, ["en"])
    assert [system["id"] for system in metrics["systems"]] == SYSTEMS
    for system in metrics["systems"]:
        assert system["parameters"] > 0
        assert set(system["scores"]) >= {"dev", "test"}
        for scores in system["scores"].values():
            assert set(scores) >= {"exact_match", "slot_f1", "intent_accuracy"}
        timed = system["id"] in ("teacher", "student.tflite")
        assert (system["bytes"] is not None) == (system["latency"] is not None) == timed
        if timed:
            online = system["latency"]["online_ms"]
            assert 0 < online["p50"] <= online["p90"] <= online["p99"]
    for part in ("dev", "test"):
        systems = {system["id"]: system for system in metrics["systems"]}
        exact = {id: system["scores"][part]["exact_match"] for id, system in systems.items()}
        assert exact["teacher"] > 0
        for id in SYSTEMS[1:]:
            share = 100 * exact[id] / exact["teacher"]
            assert systems[id]["retention"][part] == pytest.approx(share)
        gain = systems["student"]["gain"][part]
        assert gain["difference"] == pytest.approx(exact["student"] - exact["baseline"])
        assert gain["low"] <= gain["difference"] <= gain["high"]
    assert [system["role"] for system in metrics["systems"]] == [*SYSTEMS[:3], "file"]
    export = metrics["systems"][-1]["export"]
    assert export["flex"] == export["custom"] == 0
    assert metrics["data"]["train"] == 300
    assert metrics["data"]["transfer"] + metrics["data"]["transfer_dropped"] == 100
    assert set(metrics["wall_clock_s"]) >= {*SYSTEMS[:3], "export/student", "benchmark"}
    assert {"cpu", "cores", "python", "tensorflow", "keras"} <= set(metrics["environment"])
    assert metrics["reference"] is None


def test_the_tiny_teacher_learns(metrics):
    """Otherwise the comparisons below compare nothing."""
    scores = metrics["systems"][0]["scores"]["dev"]
    assert scores["slot_f1"] + scores["intent_accuracy"] > 20


def updates(folder: Path, model: str) -> int:
    with (folder / "history.csv").open(newline="") as file:
        return max(int(row["updates"]) for row in csv.DictReader(file) if row["model"] == model)


def test_the_baseline_makes_as_many_updates_as_the_student(finished, metrics):
    assert updates(finished, "baseline") == updates(finished, "student") > 0
    count = {system["id"]: system["parameters"] for system in metrics["systems"]}
    assert count["baseline"] == count["student"]


def test_the_report_is_complete_in_itself(finished):
    page = (finished / "report.html").read_text("utf-8")
    assert "student int8" in page
    assert not re.search(r"<script|(src|href)=\"https?:", page)
    assert "student.tflite" in (finished / "MODEL_CARD.md").read_text("utf-8")


@pytest.mark.parametrize("id", SYSTEMS)
def test_scores_are_those_of_the_predictions(finished, metrics, id):
    corpus = open_run(finished).corpus
    (system,) = (system for system in metrics["systems"] if system["id"] == id)
    for part in ("dev", "test"):
        text = (finished / "predictions" / f"{id}.{part}.jsonl").read_text("utf-8")
        rows, gold = [json.loads(line) for line in text.splitlines()], corpus.sets()[part]
        labels = [row["label"] == e.label for row, e in zip(rows, gold, strict=True)]
        both = [
            right and tuple(row["tags"]) == tuple(e.tags)
            for right, row, e in zip(labels, rows, gold, strict=True)
        ]
        scores = system["scores"][part]
        assert scores["intent_accuracy"] == pytest.approx(100 * np.mean(labels))
        assert scores["exact_match"] == pytest.approx(100 * np.mean(both))


def test_the_runtime_gives_the_answers_that_were_scored(finished):
    corpus = open_run(finished).corpus
    rows = (finished / "predictions" / "student.tflite.test.jsonl").read_text("utf-8").splitlines()
    answers = Runtime(finished / "student.tflite").predict_words([e.words for e in corpus.test])
    for answer, row in zip(answers, map(json.loads, rows), strict=True):
        assert (list(answer.tags), answer.label) == (row["tags"], row["label"])


def test_a_finished_run_does_nothing_again(finished, metrics):
    screen, text = log()
    before = (finished / "history.csv").read_bytes()
    again = run(load_recipe(TINY, SEED), finished, screen=screen)
    assert again.model_dump(mode="json") == metrics
    assert (finished / "history.csv").read_bytes() == before
    assert "fine_tune" not in text.getvalue()
    assert "joint" not in text.getvalue()


def test_another_recipe_in_the_folder_is_refused_with_the_difference(finished):
    recipe = load_recipe(TINY, [*SEED, "distill.joint.stop.epochs=5"])
    with pytest.raises(RunError) as raised:
        run(recipe, finished, screen=log()[0])
    assert "-    epochs: 10" in str(raised.value)
    assert "+    epochs: 5" in str(raised.value)


@pytest.fixture
def copied(finished, tmp_path) -> Path:
    """The finished run once more, to be changed."""
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def trained(folder: Path) -> dict[str, bytes]:
    """All that training made, what it took included."""
    paths = [folder / "history.csv", *folder.rglob("*.safetensors"), *folder.rglob("*.h5")]
    paths += [p for p in folder.glob("predictions/*") if ".tflite." not in p.name]
    steps = json.loads((folder / "manifest.json").read_text("utf-8"))["steps"]
    made = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    models = (model_step(name) for name in SYSTEMS[:3])
    kept = {name: steps[name] for name in (*models, "evaluate")}
    return made | {"steps": json.dumps(kept).encode()}


def test_another_export_repeats_no_training(copied, metrics):
    before, file = trained(copied), (copied / "student.tflite").read_bytes()
    screen, text = log()
    changed = [*SEED, "export.quantize=dynamic", "export.length=24"]
    again = run(load_recipe(TINY, changed), copied, screen=screen)
    assert trained(copied) == before
    said = [line.strip() for line in text.getvalue().splitlines()]
    assert [line for line in said if line in STEPS] == [
        "export student",
        "evaluate",
        "benchmark",
        "report",
    ]
    assert "student dynamic" in said
    assert "teacher" not in said
    assert (copied / "student.tflite").read_bytes() != file
    assert again.delivered.export.signatures["online"]["length"] == 24
    assert again.delivered.name == "student dynamic"
    for mine, theirs in zip(again.systems[:-1], metrics["systems"][:-1], strict=True):
        assert mine.scores == theirs["scores"]
    assert "student dynamic" in (copied / "report.html").read_text("utf-8")
    recipe = RunFolder(copied).recipe
    assert (recipe.export.quantize, recipe.export.length) == ("dynamic", 24)


def test_another_benchmark_measures_again_and_that_alone(copied, metrics):
    before, file = trained(copied), (copied / "student.tflite").read_bytes()
    screen, text = log()
    again = run(load_recipe(TINY, [*SEED, "benchmark.queries=120"]), copied, screen=screen)
    assert trained(copied) == before
    assert (copied / "student.tflite").read_bytes() == file
    said = [line.strip() for line in text.getvalue().splitlines()]
    assert [line for line in said if line in STEPS] == ["benchmark", "report"]
    assert again.teacher.latency.model_dump() != metrics["systems"][0]["latency"]
    assert again.delivered.export.model_dump() == metrics["systems"][-1]["export"]


def test_an_anchor_may_join_a_finished_run(copied, metrics):
    before = trained(copied)
    screen, text = log()
    again = run(load_recipe(TINY, [*SEED, "anchor=light"]), copied, screen=screen)
    assert {name: data for name, data in trained(copied).items() if "anchor" not in name} == before
    said = [line.strip() for line in text.getvalue().splitlines()]
    assert [line for line in said if line in STEPS] == ["report"]
    assert any(line.startswith("light: a CRF on affixes and shapes") for line in said)
    anchor, task = again.anchor, open_run(copied).corpus.task
    assert anchor.name == "light"
    assert anchor.scores.keys() == again.delivered.scores.keys() == anchor.gain.keys()
    for name, gain in anchor.gain.items():
        assert gain.first == pytest.approx(anchor.scores[name][task.metric])
        assert gain.second == pytest.approx(again.delivered.scores[name][task.metric])
    assert f"\n| light | {anchor.scores['dev'][task.metric]:.1f} |" in (
        copied / "MODEL_CARD.md"
    ).read_text("utf-8")
    assert "light needs no teacher: a CRF" in (copied / "report.html").read_text("utf-8")
    without = run(load_recipe(TINY, SEED), copied, screen=log()[0])
    assert without.anchor is None
    assert [one.scores for one in without.systems] == [one["scores"] for one in metrics["systems"]]


def test_an_export_that_fails_can_be_allowed_more(copied):
    """The usual way into a folder that is finished but for its file."""
    before = trained(copied)
    manifest = json.loads((copied / "manifest.json").read_text("utf-8"))
    for step in ("export/student", "evaluate_files", "benchmark"):
        del manifest["steps"][step]
    (copied / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    recipe = (copied / "recipe.yaml").read_text("utf-8")
    (copied / "recipe.yaml").write_text(recipe.replace("max_drop: 100.0", "max_drop: 0.0"), "utf-8")
    assert RunFolder(copied).recipe.export.max_drop == 0
    run(load_recipe(TINY, SEED), copied, screen=log()[0])
    assert trained(copied) == before
    assert RunFolder(copied).recipe.export.max_drop == 100


def test_a_checkpoint_beside_the_recipe_is_found_from_anywhere(finished, tmp_path):
    shutil.copytree(finished / "models" / "teacher", tmp_path / "recipes" / "mine")
    recipe = load_recipe(TINY, [*SEED, "models.teacher={checkpoint: mine, fine_tune: false}"])
    folder = RunFolder(tmp_path / "run", recipe)
    folder.remember(base=str(tmp_path / "recipes"))
    work = Run(folder, load_corpus(recipe), log()[0])
    folder.once(model_step("teacher"), lambda: train_model(work, "teacher"))
    mine, theirs = work.model("teacher").model, open_run(finished).model("teacher").model
    for weight, expected in zip(mine.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, expected)


def test_a_teacher_with_a_seed_of_its_own_is_the_same_for_every_seed(tmp_path):
    own = ["models.teacher.seed=5", "models.teacher.fine_tune.epochs=1"]
    corpus, weights = None, []
    for seed in (6, 7):
        recipe = load_recipe(TINY, [*own, f"seed={seed}"])
        corpus = corpus or load_corpus(recipe)  # the demo's sentences have the recipe's seed
        keras.utils.set_random_seed(seed)
        work = Run(RunFolder(tmp_path / str(seed), recipe), corpus, log()[0])
        train_model(work, "teacher")
        weights.append((work.folder.path / "models/teacher/model.safetensors").read_bytes())
    assert weights[0] == weights[1]


class Interrupted(Screen):
    """Presses Ctrl-C in the middle of a phase."""

    def __init__(self, phase: str):
        super().__init__(Console(file=io.StringIO(), width=200))
        self.phase = phase

    @contextlib.contextmanager
    def bar(self, name: str, total: int | None) -> Iterator[Callable[[int, str], None]]:
        with super().bar(name, total) as update:

            def stop(done: int, note: str = "") -> None:
                if name == self.phase and done > 1:
                    raise KeyboardInterrupt
                update(done, note)

            yield stop


def test_a_run_that_was_stopped_twice_ends_like_one_that_was_not(finished, metrics, tmp_path):
    recipe = load_recipe(TINY, SEED)
    for phase, made, missing in (
        ("fine_tune", "recipe.yaml", "models/teacher"),
        ("joint", "models/teacher", "models/student"),
    ):
        with pytest.raises(KeyboardInterrupt):
            run(recipe, tmp_path / "run", screen=Interrupted(phase))
        assert (tmp_path / "run" / made).exists()
        assert not (tmp_path / "run" / missing).exists()
    screen, text = log()
    again = run(recipe, tmp_path / "run", screen=screen)
    assert "fine_tune" not in text.getvalue()
    for name in ("student.tflite", *(f"predictions/{s}.test.jsonl" for s in SYSTEMS)):
        assert (tmp_path / "run" / name).read_bytes() == (finished / name).read_bytes(), name
    for mine, theirs in zip(again.systems, metrics["systems"], strict=True):
        assert mine.scores == theirs["scores"]


PAIRS = [
    ("{} plays the piano", "someone makes music", "yes"),
    ("{} plays the piano", "nobody is here", "no"),
    ("{} sleeps at home", "someone rests", "yes"),
    ("{} sleeps at home", "the house is empty", "no"),
]
NAMES = ["Ada", "Bo", "Cy", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Jo", "Kim", "Lou"]


def write_pairs(path: Path, names: list[str]) -> Path:
    lines = [f"{a.format(name)}\t{b}\t{label}" for name in names for a, b, label in PAIRS]
    path.write_text("premise\thypothesis\tlabel\n" + "\n".join(lines) + "\n", "utf-8")
    return path


def overrides(kind: str, folder: Path) -> list[str]:
    if kind != "pair":
        return [f"data.demo.kind={kind}"]
    options = "{text: premise, second: hypothesis}"
    sources = ", ".join(
        f"{name}: [{{path: {write_pairs(folder / f'{name}.tsv', names)}, options: {options}}}]"
        for name, names in (("train", NAMES[:8]), ("dev", NAMES[8:10]), ("test", NAMES[10:]))
    )
    terms = [f"distill.joint.terms.{i}.stream=train" for i in (0, 1)]
    return [f"data={{{sources}}}", *terms, "baseline=false"]


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        pytest.param("tags", "span_f1", marks=pytest.mark.long),
        ("classes", "accuracy"),
        pytest.param("pair", "accuracy", marks=pytest.mark.long),
    ],
)
def test_the_other_tasks(kind, metric, tmp_path, monkeypatch):
    short = ["models.teacher.fine_tune.epochs=2", "distill.joint.stop.epochs=2"]
    recipe = load_recipe(TINY, [f"task={kind}", *short, *overrides(kind, tmp_path)])
    found = run(recipe, tmp_path / "run", screen=log()[0])
    assert found.metric == metric
    without = [id for id in SYSTEMS if kind != "pair" or id != "baseline"]
    assert [system.id for system in found.systems] == without
    runtime = Runtime(tmp_path / "run" / "student.tflite")
    if kind == "pair":
        (answer,) = runtime.predict_pairs([("Ada sleeps at home", "someone rests")])
        assert (answer.label in ("yes", "no"), answer.second) == (True, "someone rests")
    else:
        (answer,) = runtime.predict(["wake me up at seven"])
        assert (answer.tags is not None, answer.label is not None) == (
            kind == "tags",
            kind == "classes",
        )
    assert (tmp_path / "run" / "report.html").exists()
    card = (tmp_path / "run" / "MODEL_CARD.md").read_text("utf-8")
    (code,) = re.findall(r"^print\((Runtime.*)\)$", card, re.MULTILINE)
    monkeypatch.chdir(tmp_path / "run")
    assert len(eval(code, {"Runtime": Runtime})) == 1
