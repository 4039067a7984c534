"""Every shipped schedule of XtremeDistil trains a tiny student of a tiny teacher."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tfdistil.comparison import system_name
from tfdistil.console import Screen
from tfdistil.corpus import load_corpus
from tfdistil.pipeline import distill, train_teacher
from tfdistil.recipe_file import SHIPPED, load_recipe
from tfdistil.run_folder import RunFolder
from tfdistil.runs import Run

pytestmark = pytest.mark.slow

TINY = Path(__file__).with_name("tiny.yaml")
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
    train_teacher(work)
    return work.folder.path / "teacher"


def test_every_schedule_is_here():
    shipped = {path.stem for path in SHIPPED.glob("d[0-9]*.yaml")}
    assert shipped == set(PHASES)


@pytest.mark.parametrize("name", PHASES)
def test_a_schedule_trains_its_student(name, teacher, tmp_path):
    work = open_tiny(tmp_path, name)
    work.folder.once(
        "teacher", lambda: shutil.copytree(teacher, work.folder.path / "teacher") and {}
    )
    work.folder.once("student", lambda: distill(work))
    facts = work.folder.facts("student")
    assert [phase["name"] for phase in facts["phases"]] == PHASES[name]
    assert facts["updates"] == sum(phase["updates"] for phase in facts["phases"]) > 0
    assert all(0 <= phase["score"] <= 100 for phase in facts["phases"])
    student = work.student()
    assert student.model.head_input == "projection"
    assert [group for group, _ in student.model.layer_groups()] == list(GROUPS)
    assert "labels" in student.model.head_names
    called = "labels only" if name == "d0_s" else "distilled"
    assert system_name("student", work.recipe) == f"student ({called})"
