"""Every shipped schedule of XtremeDistil trains a tiny student of a tiny teacher."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from tests.others_long import others_long
from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import load_corpus
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.rows import encode_rows
from tfdistil.models.graph import Models
from tfdistil.pipeline.run import train_model
from tfdistil.recipe.loading import SHIPPED, load_recipe
from tfdistil.recipe.systems import SystemId, name_of
from tfdistil.runs.folder import RunFolder, model_step
from tfdistil.runs.run import Run

pytestmark = pytest.mark.slow

TINY = Path(__file__).parents[1] / "tiny.yaml"
GROUPS = ("heads", "projection", "encoder", "embedding")
GRADUAL = tuple(f".{group}" for group in GROUPS)
REPRESENTATION = ["representation"]
PHASES = {
    "d0_s": ["labels"],
    "d1": ["joint"],
    "d2": ["joint"],
    "d3_1": [*REPRESENTATION, "labels_and_logits"],
    "d3_2": [*REPRESENTATION, *(f"labels_and_logits{group}" for group in GRADUAL)],
    "d4_1": [*REPRESENTATION, "logits", "labels"],
    "d4_2": [*REPRESENTATION, *(f"{s}{group}" for s in ("logits", "labels") for group in GRADUAL)],
}
"""By name, the phases of each schedule."""

FIRST = {"d1", "d4_2"}
"""The simplest, and the one that has what the others have."""


def open_tiny(folder: Path, base: str) -> Run:
    """The tiny recipe with a student and stages from ``base``, each phase one short pass."""
    tree: dict[str, Any] = YAML(typ="safe").load(TINY.read_text("utf-8"))
    del tree["distill"], tree["models"]["student"]["kind"]
    tree["base"] = base
    tree["models"]["teacher"]["fine_tune"]["epochs"] = 4
    path = folder / "recipe.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML().dump(tree, file)
    stages = dict.fromkeys(phase.partition(".")[0] for phase in PHASES[base])
    settings = [f"distill.{stage}.stop.epochs=1" for stage in stages]
    if "representation" in stages:
        settings.append("distill.representation.terms.hidden_kl.layer=1")
    elif base == "d2":
        settings.append("distill.joint.terms.hidden_kl.layer=1")
    recipe = load_recipe(path, settings)
    return Run(RunFolder(folder / "run", recipe), load_corpus(recipe), Screen())


@pytest.fixture(scope="module")
def teacher(tmp_path_factory) -> Path:
    work = open_tiny(tmp_path_factory.mktemp("teacher"), "d1")
    train_model(work, "teacher")
    return work.folder.path / model_step("teacher")


def test_every_schedule_is_here():
    shipped = {path.stem for path in SHIPPED.glob("d[0-9]*.yaml")}
    assert shipped == set(PHASES)


def trained_groups(phase: str) -> set[str]:
    """The layer groups that a phase may change."""
    stage, _, last = phase.partition(".")
    if last:
        return set(GROUPS[: GROUPS.index(last) + 1])
    return set(GROUPS[1:] if stage == "representation" else GROUPS)


def groups_of(model: Any) -> dict[str, list[np.ndarray]]:
    return {name: [np.array(weight) for weight in group] for name, group in model.layer_groups()}


def moved(before: dict[str, list[np.ndarray]], after: dict[str, list[np.ndarray]]) -> set[str]:
    pairs = {name: zip(before[name], weights, strict=True) for name, weights in after.items()}
    return {n for n, both in pairs.items() if any((one != two).any() for one, two in both)}


@pytest.mark.parametrize("name", others_long(PHASES, FIRST))
def test_a_schedule_trains_its_student(name, teacher, tmp_path):
    work = open_tiny(tmp_path, name)
    trained, own = model_step("teacher"), model_step("student")
    work.folder.once(trained, lambda: shutil.copytree(teacher, work.folder.path / trained) and {})
    work.folder.once(own, lambda: train_model(work, "student"))
    facts = work.folder.facts(own)
    assert [phase["name"] for phase in facts["phases"]] == PHASES[name]
    assert all(phase["updates"] > 0 for phase in facts["phases"])
    student = work.model("student")
    final = groups_of(student.model)
    rows = encode_rows(work.corpus.dev, student.featurizer, work.corpus.task)
    heads = {stage.name: stage.terms[0].head or "labels" for stage in work.recipe.distill}
    models = Models(work.recipe, work.corpus, tmp_path, made={"teacher": work.model("teacher")})
    last, changed = groups_of(models.fresh("student").model), set()
    for phase in facts["phases"]:
        student.model.load_weights(
            work.folder.path / "phases" / "student" / f"{phase['name']}.weights.h5"
        )
        # The score is that of the weights that were kept, and a phase leaves other groups alone.
        predictor = Predictor(student.model, work.corpus.task, heads[phase["name"].split(".")[0]])
        scores = predictor.score(rows, work.corpus.dev)
        assert phase["score"] == pytest.approx(scores[work.corpus.task.metric]), phase["name"]
        now = groups_of(student.model)
        assert moved(last, now) <= trained_groups(phase["name"]), phase["name"]
        changed |= moved(last, now)
        last = now
    assert changed == set(GROUPS)
    assert moved(last, final) == set()
    assert student.model.head_input == "projection"
    assert [group for group, _ in student.model.layer_groups()] == list(GROUPS)
    assert "labels" in student.model.head_names
    called = "labels only" if name == "d0_s" else "distilled"
    assert name_of(SystemId("student"), work.recipe) == f"student ({called})"
