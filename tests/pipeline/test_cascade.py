"""``base: camembert`` on text of another folder: whole, and killed within a stage and resumed."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tfdistil.console.screen import Screen
from tfdistil.distill import phase_state
from tfdistil.encoders import load_encoder
from tfdistil.evaluation.evaluate import evaluate
from tfdistil.pipeline.run import run
from tfdistil.recipe.loading import load_recipe
from tfdistil.runs.run import open_run
from tfdistil.runs.run_metrics import Metrics

RECIPE = """
base: camembert
data:
  corpus:
    sources: [{path: text/en.txt, language: en}, {path: text/sw.txt, language: sw}]
    held_out: 0.1
    test: 0.1
models:
  teacher:
    scratch:
      {layers: 4, hidden_dim: 8, heads: 2, intermediate_dim: 8, vocabulary: 100,
       pretrain: {updates: 4, batch_size: 8}}
    max_length: 16
  eleven: {apply: [{kind: keep_layers, layers: 3}]}
  ten: {apply: [{kind: keep_layers, layers: 2}]}
  nine: {apply: []}
  eight: {apply: []}
  seven: {apply: []}
  six: {apply: []}
distill:
  - &stage
    name: to_eleven
    student: eleven
    teacher: teacher
    teacher_dropout: true
    terms:
      - {loss: attention_mse, stream: corpus.eleven, layers: [[1, 1, 2], [2, 2, 3], [3, 3, 4]]}
      - {loss: states_mse, stream: corpus.eleven, layers: [[1, 1, 2], [2, 2, 3], [3, 3, 4]]}
    groups: [layer_3, layer_2, layer_1]
    optimizer: {learning_rate: 1.0e-3, schedule: linear}
    batch_size: 4
    accumulate: 2
    stop: {updates: 4, every: 2, monitor: loss, on: corpus_held_out}
  - <<: *stage
    name: to_ten
    student: ten
    teacher: eleven
    terms:
      - {loss: attention_mse, stream: corpus.ten, layers: [[1, 1, 2], [2, 2, 3]]}
      - {loss: states_mse, stream: corpus.ten, layers: [[1, 1, 2], [2, 2, 3]]}
    groups: [layer_2, layer_1]
"""
"""Four layers become three and two; the models below these are copies."""


class Killed(Screen):
    """Ctrl-C after so many batches of a phase."""

    def __init__(self, phase: str, batches: int):
        super().__init__(Console(file=io.StringIO(), width=120))
        self.phase, self.batches = phase, batches

    def begin(self, name, total):
        if name == self.phase:
            self.left = self.batches
        return super().begin(name, total)

    def raise_if_interrupted(self):
        super().raise_if_interrupted()
        if hasattr(self, "left"):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt


def start(folder: Path, out: Path, screen: Screen | None = None) -> str:
    """Run the recipe of a folder into another one; gives what was printed."""
    printed = io.StringIO()
    screen = screen or Screen(Console(file=printed, width=120))
    run(load_recipe(folder / "recipe.yaml"), out, folder, screen)
    return printed.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A recipe beside its text, far from the recipes that come with the package."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "text").mkdir()
    for language, words in (("en", "the sun is a star"), ("sw", "jua ni nyota kubwa")):
        lines = [f"{words} {n}" for n in range(120 if language == "en" else 40)]
        (folder / "text" / f"{language}.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "recipe.yaml").write_text(RECIPE, "utf-8")
    return folder


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "whole"
    start(folder, out)
    return out


def weights(out: Path, name: str) -> list[np.ndarray]:
    return open_run(out).model(name).model.get_weights()


@pytest.mark.slow
def test_the_cascade_runs_from_any_folder(whole):
    encoder = load_encoder(whole / "checkpoints" / "six", {}, heads={"logits": {"kind": "mlm"}})
    assert encoder.config.layers == 2
    assert not encoder.load_report.fresh
    metrics = Metrics.load(whole)
    phases = {name: [p.updates for p in of] for name, of in metrics.phases.items()}
    assert (phases["eleven"], phases["ten"]) == ([4], [4, 4])
    # What it was scored on is found again, in the corpus.
    again = evaluate(whole)
    assert again["test"].scores == pytest.approx(metrics.delivered.scores["test"])
    # Each assistant has read a section of its own, in the proportion of its rows.
    assert set(metrics.corpus) == {"teacher", "eleven", "ten"}
    for languages in metrics.corpus.values():
        assert languages["en"]["lines"] == 120
        assert languages["sw"]["lines"] == 40
        assert languages["en"]["share"] + languages["sw"]["share"] == pytest.approx(1)
    for page in ("report.html", "MODEL_CARD.md"):
        assert "share drawn" in (whole / page).read_text("utf-8")


@pytest.mark.slow
@pytest.mark.long
def test_a_killed_cascade_goes_on_within_its_stage(folder, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(phase_state, "LEAST", 0.0)
    monkeypatch.setattr(phase_state, "SHARE", math.inf)
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        start(folder, out, Killed("to_ten", 4))  # within its third update
    done = {
        path: path.stat().st_mtime_ns
        for part in ("models/teacher", "models/eleven", "phases/eleven", "phases/teacher.body")
        for path in (out / part).rglob("*")
    }
    assert len(done) > 6
    assert not (out / "models" / "ten").exists()
    printed = start(folder, out)
    assert "ten, to_ten continues after update 2 of 4" in printed
    assert "to_eleven" not in printed
    assert "pretrain" not in printed
    assert {path: path.stat().st_mtime_ns for path in done} == done
    for name in ("teacher", "eleven", "ten", "six"):
        for one, other in zip(weights(out, name), weights(whole, name), strict=True):
            np.testing.assert_array_equal(one, other)
    assert Metrics.load(out).delivered.scores == Metrics.load(whole).delivered.scores
