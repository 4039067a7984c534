"""A run that was killed again and again ends like one that was not: same file, same scores."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from tests.fuzz.campaign import LONG

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads CPU times in /proc"),
]

TINY = Path(__file__).parents[1] / "tiny.yaml"
ROOT = Path(__file__).parents[2]

GRADUAL = """
models:
  teacher:
    scratch: {pretrain: {updates: 20, batch_size: 16}}
    fine_tune: {epochs: 4}
  student: {projection: true, head_input: projection, heads: [logits, labels]}
distill:
  - name: representation
    terms: [{loss: hidden_kl, stream: transfer, layer: 1}]
    groups: [projection, encoder, embedding]
    batch_size: 16
    stop: {epochs: 4, monitor: loss, on: transfer_held_out}
  - name: both
    terms:
      - {loss: cross_entropy, stream: train}
      - {loss: logit_mse, stream: transfer, head: logits}
    unfreeze: top_down
    optimizer: {learning_rate: 1.0e-2}
    batch_size: 16
    stop: {epochs: 2}
"""
"""Pre-training, stored signals, a monitored loss, four phases of one stage."""

QUANTIZED = """
base: pqrnn
data: {augment: {kind: slot_substitution, times: 1}}
models:
  teacher: {fine_tune: {epochs: 4}}
  float:
    hashing: {families: {murmur: 64, ngram: 64}}
    bottleneck: 32
    layers: 2
    state: 16
    zoneout: 0.1
    momentum: 0.8
    max_length: 32
distill:
  - name: float
    student: float
    terms: &terms
      - {loss: cross_entropy, stream: [train, augmented]}
      - {loss: soft_cross_entropy, stream: [train, augmented, transfer]}
    optimizer: {learning_rate: 1.0e-2}
    batch_size: 16
    noise: [{kind: spelling, probability: 0.2}]
    stop: {updates: 90, every: 30}
  - {name: quantized, terms: *terms, batch_size: 16, stop: {updates: 20, every: 10}}
  - name: frozen_statistics  
    groups: [heads, encoder, bottleneck, ranges]
    terms: *terms
    batch_size: 16
    stop: {updates: 20, every: 10}
"""
"""Sentences made from train, noise, statistics, a student that goes on from another."""

TIMES = {"wall_clock_s", "seconds", "ratios", "latency", "environment"}
"""Keys of ``metrics.json`` that depend on the clock or the machine."""


def merged(tree: Any, other: Any) -> Any:
    """A mapping with the keys of both, those of ``other`` first."""
    if isinstance(tree, dict) and isinstance(other, dict):
        both = {key: merged(tree[key], other[key]) for key in tree.keys() & other.keys()}
        return {**tree, **other, **both}
    return other


def write_recipe(path: Path, changes: str) -> Path:
    yaml = YAML(typ="safe")
    tree, own = yaml.load(TINY.read_text("utf-8")), yaml.load(changes)
    if "base" in own:
        del tree["models"]["student"], tree["distill"]
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(merged(tree, own), file)
    return path


def log_of(out: Path) -> str:
    return out.with_suffix(".log").read_text("utf-8", "replace")


def start(recipe: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.fuzz.dying", "run", str(recipe), "--out", str(out)]
    out.parent.mkdir(exist_ok=True)
    with out.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)


def made(folder: Path) -> dict[str, float] | None:
    """What a run need not do again, with the batches of it; None before it has its folder."""
    try:
        steps = json.loads((folder / "manifest.json").read_text("utf-8"))["steps"]
    except FileNotFoundError:
        return None
    found = dict.fromkeys(steps, math.inf)
    for path in folder.glob("phases/*/*.state.npz"):
        with contextlib.suppress(FileNotFoundError), np.load(path) as state:  # it is over by now
            progress = json.loads(state["state"].tobytes())["progress"]
            found[path.name.removesuffix(".state.npz")] = progress["batches"]
    done = (path.stem for path in folder.glob("phases/*/*.json"))
    return found | dict.fromkeys(done, math.inf)


def seconds_of(process: int | str) -> float:
    """CPU time of a process and all that it started: a clock that other processes do not slow."""
    place = Path("/proc") / str(process)
    try:
        ticks = place.joinpath("stat").read_text().rpartition(")")[2].split()[11:15]
        children = place.joinpath("task", str(process), "children").read_text().split()
    except OSError:  # it has ended
        return 0.0
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") + sum(map(seconds_of, children))


def clock(process: subprocess.Popen[bytes]) -> Iterator[float]:
    """The seconds of a process as they go by, until it ends."""
    while process.poll() is None:
        yield seconds_of(process.pid)
        time.sleep(0.01)


@dataclass(frozen=True)
class Whole:
    """An uninterrupted run.

    Attributes:
        folder: of the run.
        seconds: CPU time from the start of the process to its end.
        marks: what was `made` by when, in such seconds; the first one is the empty folder.
    """

    folder: Path
    seconds: float
    marks: list[tuple[float, dict[str, float]]]

    def skipped(self, folder: Path) -> float:
        """Seconds of the whole run that one in this folder need not repeat."""
        there = made(folder)
        if there is None:
            return 0.0
        had = (
            at
            for at, marks in self.marks
            if all(there.get(name, 0) >= batches for name, batches in marks.items())
        )
        return max(had) - self.marks[0][0]


def run_whole(recipe: Path, out: Path) -> Whole:
    marks: list[tuple[float, dict[str, float]]] = []
    process, seconds = start(recipe, out), 0.0
    for now in clock(process):
        seconds, found = max(seconds, now), made(out)
        if found is not None and (not marks or marks[-1][1] != found):
            marks.append((seconds, found))
    assert process.returncode == 0, log_of(out)[-3000:]
    return Whole(out, seconds, marks)


def kill(process: subprocess.Popen[bytes], seconds: float, in_a_write: bool) -> bool:
    """Kill a run after so many seconds, or at the next file it writes; whether it was killed."""
    for now in clock(process):
        if now >= seconds:
            process.send_signal(signal.SIGUSR1 if in_a_write else signal.SIGKILL)
            break
    assert process.wait() in (0, -signal.SIGKILL, -signal.SIGUSR1)
    return process.returncode != 0


def kill_in_a_phase(process: subprocess.Popen[bytes], folder: Path, states: int) -> bool:
    """Kill a run when a phase has written its state so many times, as far as one can see."""
    seen = set()
    for _ in clock(process):
        for path in folder.glob("phases/*/*.state.npz"):
            with contextlib.suppress(FileNotFoundError):
                seen.add(path.stat().st_mtime_ns)
        if len(seen) >= states:
            process.send_signal(signal.SIGKILL)
            break
    assert process.wait() in (0, -signal.SIGKILL)
    return process.returncode != 0


def moments(rng: random.Random, number: int, seconds: float) -> Iterator[float]:
    """Moments spread over all but the last breath of a run, in order."""
    return ((at + rng.random()) * 0.97 * seconds / number for at in range(number))


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in TIMES}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def contents(folder: Path) -> dict[str, Any]:
    """All that a run leaves behind and that no clock has a part in."""
    names = ["student.tflite", "history.csv", "benchmark/teacher.tflite"]
    names += [str(path.relative_to(folder)) for path in sorted(folder.glob("predictions/*"))]
    found: dict[str, Any] = {name: (folder / name).read_bytes() for name in names}
    metrics = json.loads((folder / "metrics.json").read_text("utf-8"))
    return {**found, "metrics.json": without_times(metrics)}


RECIPES = {"gradual": GRADUAL, "quantized": QUANTIZED} if LONG else {"gradual": GRADUAL}
TURNS, KILLS = (5, 5) if LONG else (1, 2)
"""Folders, and how often the run in each is killed before it may end."""


@pytest.mark.parametrize("name", RECIPES)
def test_a_killed_run_ends_like_a_whole_one(name, tmp_path):
    recipe = write_recipe(tmp_path / "recipe.yaml", RECIPES[name])
    whole = run_whole(recipe, tmp_path / "whole" / "run")
    expected = contents(whole.folder)
    rng, kills, continued = random.Random(name), 0, 0
    for turn in range(TURNS):
        out = tmp_path / str(turn) / "run"
        kills += kill_in_a_phase(start(recipe, out), out, rng.randrange(1, 15))
        for number, moment in enumerate(moments(rng, KILLS, whole.seconds)):
            wait = moment - whole.skipped(out)
            kills += kill(start(recipe, out), wait, in_a_write=(turn + number) % 2 == 1)
        process = start(recipe, out)
        assert process.wait() == 0, log_of(out)[-3000:]
        found = contents(out)
        assert found.keys() == expected.keys()
        for file, content in expected.items():
            assert found[file] == content, (turn, file)
        assert not [*out.rglob("*.partial*"), *out.rglob("*.state.npz")]
        log = log_of(out)
        assert "starts over" not in log
        continued += log.count(" continues after update ")
    print(
        f"{name}: {kills} kills in {TURNS} runs of {whole.seconds:.0f} s CPU time; "
        f"{continued} times a phase continued"
    )
    # The last moment may come after the end of a run that needs less time than the whole one did.
    assert kills >= TURNS * KILLS
    assert continued
