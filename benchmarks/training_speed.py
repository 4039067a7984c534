"""How fast the models of a recipe train: without the allocator set up for it and with it, or in
float32 and in bfloat16.

``python -m tfdistil.benchmarks.training_speed snips.yaml`` makes every model of the recipe with
fresh weights and trains it on the gold labels of train for some updates, in the stages' own step
and input pipeline. Each measurement is a process of its own, because an allocator cannot be set
back; the two ways take turns, so that a slow moment of the machine hits both.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tfdistil.allocator import SWITCH

PRECISION = "TFDISTIL_TRAINING_SPEED_PRECISION"
"""What a measurement trains in."""

WAYS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "allocator": ({SWITCH: "system"}, {SWITCH: ""}),
    "precision": ({PRECISION: "float32"}, {PRECISION: "bfloat16"}),
}
"""What is compared: the environment of the one and of the other measurement."""

WARM_UP = 5
"""Updates that are not counted: the first traces the step, the next ones fill the heap."""


@dataclass(frozen=True)
class TrainingSpeed:
    """Of one model, in one process.

    Attributes:
        rate: sentences per second.
        user_ms, kernel_ms: processor time of an update, over all cores.
        faults: pages that the kernel had to bring in for an update.
        peak_mb: of the process's memory.
        first_s: until the first update was done.
    """

    rate: float
    user_ms: float
    kernel_ms: float
    faults: float
    peak_mb: float
    first_s: float


def measure(recipe: Path | str, settings: Sequence[str], name: str, updates: int) -> TrainingSpeed:
    """Train one model of a recipe in this process.

    Args:
        recipe: file or shipped name.
        settings: overrides of it.
        name: of the model.
        updates: timed ones.

    Raises:
        RecipeError: no such recipe or model.
    """
    from tfdistil.console.silence import import_tensorflow

    import_tensorflow()
    from tfdistil.corpus.loading import load_corpus
    from tfdistil.distill.bound_stage import bind_stage
    from tfdistil.distill.rows import encode_rows
    from tfdistil.distill.stage import run_stage
    from tfdistil.distill.streams import RowStream
    from tfdistil.models.graph import Models
    from tfdistil.recipe.loading import load_recipe
    from tfdistil.recipe.schema.models import EncoderSpec
    from tfdistil.recipe.schema.stages import StageSpec, StopSpec, TermSpec

    found = load_recipe(recipe, [*settings, "data.augment=null"])
    base = Path(recipe).parent if Path(recipe).exists() else Path()
    corpus = load_corpus(found, base)
    spec = found.models[name]
    model: Any = Models(found, corpus, base)[name]
    stages = [stage for stage in found.distill if stage.student == name]
    tuning = spec.fine_tune if isinstance(spec, EncoderSpec) else False
    batch = stages[0].batch_size if stages else tuning.batch_size if tuning else 32
    total = updates + WARM_UP
    stage = StageSpec(
        name="speed",
        student=name,
        teacher=None,
        terms=[TermSpec(loss="cross_entropy", head=found.head_of(name))],
        batch_size=batch,
        precision=os.environ.get(PRECISION, "float32"),
        stop=StopSpec(epochs=total, updates=total, every=total),
    )
    rows = encode_rows(corpus.train, model.featurizer, corpus.task)
    marks: list[tuple[float, Any]] = []
    start = time.perf_counter()
    run_stage(
        bind_stage(stage, {name: model}, corpus.sets(), corpus.task),
        {"train": RowStream(rows, corpus.task.outputs)},
        seed=found.seed,
        metric=lambda: 0.0,
        callbacks=lambda phase, planned: [_marking(marks)],
    )
    (before, used), (after, at_end) = marks[WARM_UP - 1], marks[-1]
    made = len(marks) - WARM_UP
    return TrainingSpeed(
        rate=batch * made / (after - before),
        user_ms=1e3 * (at_end.ru_utime - used.ru_utime) / made,
        kernel_ms=1e3 * (at_end.ru_stime - used.ru_stime) / made,
        faults=(at_end.ru_minflt - used.ru_minflt) / made,
        peak_mb=at_end.ru_maxrss / 1e3,
        first_s=marks[0][0] - start,
    )


def _marking(marks: list[tuple[float, Any]]) -> Any:
    import keras

    class Marking(keras.callbacks.Callback):
        """Notes the clock and what was used at the end of each update."""

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            del batch, logs
            marks.append((time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)))

    return Marking()


def paired(
    recipe: str,
    settings: Sequence[str],
    name: str,
    updates: int,
    rounds: int,
    compared: str = "allocator",
) -> tuple[list[TrainingSpeed], list[TrainingSpeed]]:
    """Measure a model in turns, the one way and the other; ``compared`` is a key of `WAYS`.

    Raises:
        subprocess.CalledProcessError: a measurement failed; what it wrote is on standard error.
    """
    command = [sys.executable, "-m", "tfdistil.benchmarks.training_speed", recipe]
    command += ["--only", name, "--updates", str(updates)]
    command += [word for setting in settings for word in ("--set", setting)]
    found: tuple[list[TrainingSpeed], list[TrainingSpeed]] = ([], [])
    for _ in range(rounds):
        for way, measured in zip(WAYS[compared], found, strict=True):
            done = subprocess.run(
                command, env={**os.environ, **way}, check=True, stdout=subprocess.PIPE
            )
            measured.append(TrainingSpeed(**json.loads(done.stdout.splitlines()[-1])))
    return found


def _row(name: str, one: Sequence[TrainingSpeed], other: Sequence[TrainingSpeed]) -> str:
    """Medians of both, and the ratio of the paired rates with its range."""
    ratios = [b.rate / a.rate for a, b in zip(one, other, strict=True)]

    def both(attribute: str, form: str) -> str:
        values = [statistics.median(getattr(s, attribute) for s in of) for of in (one, other)]
        return " → ".join(f"{value:{form}}" for value in values)

    return (
        f"| {name} | {both('rate', ',.0f')} | {statistics.median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f}) | {both('user_ms', ',.0f')} | "
        f"{both('kernel_ms', ',.1f')} | {both('faults', ',.0f')} | {both('peak_mb', ',.0f')} |"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line for each model, or one measurement as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m tfdistil.benchmarks.training_speed",
        description="How fast the models of a recipe train: the system's allocator → ours, or "
        "float32 → bfloat16.",
    )
    parser.add_argument("recipe", help="file or name of a shipped recipe")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override")
    parser.add_argument("--updates", type=int, default=50, help="timed updates (default 50)")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of measurements (default 3)")
    parser.add_argument("--compare", choices=WAYS, default="allocator", help="default: allocator")
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="of the recipe (default: all)")
    parser.add_argument("--only", metavar="MODEL", help="measure one model here and now, as JSON")
    given = parser.parse_args(arguments)
    if given.only:
        found = measure(given.recipe, given.set, given.only, given.updates)
        print(json.dumps(asdict(found)))
        return 0
    from tfdistil.recipe.loading import load_recipe

    print("| model | sentences/s | ratio | user, ms | kernel, ms | page faults | peak, MB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in given.models or load_recipe(given.recipe, given.set).models:
        counts = given.updates, given.rounds
        row = _row(name, *paired(given.recipe, given.set, name, *counts, given.compare))
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
