"""The recipe of self-training that the docs give: a student's own sure labels, then gold."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML
from scipy.special import softmax

from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import load_corpus
from tfdistil.distill import signal_cache
from tfdistil.distill.signals import StoredSignals
from tfdistil.pipeline.run import check_stages, train_model
from tfdistil.recipe.loading import parse_recipe
from tfdistil.runs.folder import RunFolder, model_step
from tfdistil.runs.run import Run

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "encoders.md"
TEACHER = """
scratch: {layers: 1, hidden_dim: 16, heads: 2, intermediate_dim: 24, vocabulary: 200}
fine_tune: {epochs: 8, learning_rate: 1.0e-2, batch_size: 16}
max_length: 20
"""
LEAST = 0.9
"""Of the docs."""


def documented() -> dict[str, Any]:
    text = PAGE.read_text("utf-8").split("### Self-training")[1]
    return YAML(typ="safe").load(text.split("```yaml\n")[1].split("```")[0])


def opened(folder: Path, stages: int) -> Run:
    """So many stages of the recipe of the docs, short ones, with small models."""
    tree = documented()
    tree["models"]["teacher"] = YAML(typ="safe").load(TEACHER)
    for name in ("student", "again"):
        tree["models"][name] |= {"hidden_dim": 8, "embedding": {"dim": 8}, "max_length": 20}
    for stage in tree["distill"]:
        # So early the metric is noise, and the weights that it is best with are any.
        stage |= {"batch_size": 16, "stop": {"updates": 12, "monitor": "loss"}}
    first, own, _ = tree["distill"]
    first["stop"]["updates"] = 80
    for stage in (first, own):
        stage["optimizer"] = {"learning_rate": 3.0e-2}
    assert own["terms"][0]["least"] == LEAST
    tree["distill"] = tree["distill"][:stages]
    demo = {"kind": "tags", "languages": ["en"], "train": 120, "dev": 10, "test": 10}
    recipe = parse_recipe(
        {"task": "tags", "data": {"demo": demo | {"transfer": 60}}, "baseline": False, **tree}
    )
    return Run(RunFolder(folder / "run", recipe), load_corpus(recipe), Screen())


@pytest.fixture(scope="module")
def before(tmp_path_factory) -> Run:
    """The teacher and the student, trained; what they need is checked as a run does."""
    work = opened(tmp_path_factory.mktemp("before"), stages=3)
    assert work.recipe.plan() == ("teacher", "student", "again")
    check_stages(work)
    for name in ("teacher", "student"):
        work.folder.once(model_step(name), partial(train_model, work, name))
    return work


def trained_again(before: Run, folder: Path, stages: int) -> Run:
    """The second student, beside models that are there."""
    work = opened(folder, stages)
    for step in map(model_step, ("teacher", "student")):
        shutil.copytree(before.folder.path / step, work.folder.path / step)
        work.folder.once(step, partial(before.folder.facts, step))
    work.folder.once(model_step("again"), partial(train_model, work, "again"))
    return work


@pytest.fixture(scope="module")
def whole(before, tmp_path_factory) -> Run:
    return trained_again(before, tmp_path_factory.mktemp("whole"), stages=3)


def after(work: Run, phase: str) -> list[np.ndarray]:
    model = work.model("again").model
    model.load_weights(work.folder.path / "phases" / "again" / f"{phase}.weights.h5")
    return model.get_weights()


def test_the_stages_of_the_docs_train_the_second_student(whole):
    facts = whole.folder.facts(model_step("again"))
    assert [phase["name"] for phase in facts["phases"]] == ["own_labels", "gold"]
    assert facts["answers"]
    with (whole.folder.path / "history.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["model"] == "again"]
    own, gold = "hard_label_cross_entropy.tags.transfer", "cross_entropy.tags.train"
    for phase, term in (("own_labels", own), ("gold", gold)):
        losses = [
            float(row["value"]) for row in rows if (row["phase"], row["name"]) == (phase, term)
        ]
        assert losses
        assert min(losses) > 0
    assert moved(after(whole, "own_labels"), after(whole, "gold"))


def moved(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return any((a != b).any() for a, b in zip(one, other, strict=True))


def renamed(which: Callable[[np.ndarray], np.ndarray]) -> Callable[..., StoredSignals]:
    """Stored scores with other labels for some words, as sure as they were."""
    load = signal_cache.load_signals

    def loaded(*given: Any) -> StoredSignals:
        signals = load(*given)
        scores = np.array(signals.arrays["labels/tags"])
        sure = softmax(scores.astype("f8"), axis=-1).max(-1)
        chosen = which(sure)
        assert 0 < chosen.sum() < len(scores)
        scores[chosen] = np.roll(scores[chosen], 1, axis=-1)
        arrays = {**signals.arrays, "labels/tags": scores}
        return StoredSignals(arrays, signals.offsets, signals.token_level, signals.of_model)

    return loaded


def test_only_labels_that_are_sure_enough_teach(before, whole, tmp_path, monkeypatch):
    expected = after(whole, "own_labels")
    for which, changes in ((lambda p: p < LEAST, False), (lambda p: p >= LEAST, True)):
        with monkeypatch.context() as patch:
            patch.setattr(signal_cache, "load_signals", renamed(which))
            work = trained_again(before, tmp_path / str(changes), stages=2)
        assert moved(expected, after(work, "own_labels")) == changes
