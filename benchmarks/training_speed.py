"""How many sentences a second the students of a run train on.

``python -m tfdistil.benchmarks.training_speed runs/pqrnn_snips`` makes each student of the run anew
and trains it on the gold labels of train for some updates, in the stage's own step and input
pipeline. The first update, which traces the step, is not counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TrainingSpeed:
    """Of one student.

    Attributes:
        name: of the student in the recipe.
        rate: sentences per second, by the mean time of an update.
        median_ms: of an update.
        first_s: until the first update was done.
    """

    name: str
    rate: float
    median_ms: float
    first_s: float


def measure(run: Path, updates: int, batch: int) -> list[TrainingSpeed]:
    """Train every student of a run for some updates.

    Args:
        run: folder of a run whose teacher is trained.
        updates: timed updates, the first one excluded.
        batch: sentences in a batch.

    Raises:
        RunError: no such run, or no teacher in it.
    """
    from tfdistil.distill.rows import encode_rows
    from tfdistil.distill.stage import run_stage
    from tfdistil.distill.streams import Stream
    from tfdistil.model_factory import Models
    from tfdistil.runs import open_run
    from tfdistil.schema.models import QuantizedSpec, StudentSpec
    from tfdistil.schema.stages import StageSpec, StopSpec, TermSpec

    work = open_run(run)
    base = Path(work.folder.manifest.get("base", "."))
    models = Models(work.recipe, work.corpus, work.teacher(), base)
    outputs = work.corpus.task.outputs
    found = []
    for name, spec in work.recipe.models.items():
        if not isinstance(spec, StudentSpec | QuantizedSpec):
            continue
        student = models[name]
        rows = encode_rows(work.corpus.train, student.featurizer, work.corpus.task)
        stage = StageSpec(
            name="speed",
            student=name,
            teacher=None,
            terms=[TermSpec(loss="cross_entropy", head=work.recipe.export.head)],
            batch_size=batch,
            stop=StopSpec(epochs=updates + 1, updates=updates + 1, every=updates + 1),
        )
        clock = _clock()
        start = time.perf_counter()
        run_stage(
            stage,
            student.model,
            {"train": Stream(rows, outputs)},
            outputs,
            seed=work.recipe.seed,
            metric=lambda: 0.0,
            callbacks=lambda phase, planned, clock=clock: [clock],  # type: ignore[misc]
        )
        steps = np.diff(clock.times)
        median = 1e3 * float(np.median(steps))
        rate = batch * len(steps) / float(np.sum(steps))
        found.append(TrainingSpeed(name, rate, median, clock.times[0] - start))
    return found


def _clock() -> Any:
    import keras

    class Clock(keras.callbacks.Callback):
        """When each update was done, in seconds."""

        def __init__(self) -> None:
            super().__init__()
            self.times: list[float] = []

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            del batch, logs
            self.times.append(time.perf_counter())

    return Clock()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line for each student."""
    parser = argparse.ArgumentParser(
        prog="python -m tfdistil.benchmarks.training_speed",
        description="How many sentences a second the students of a run train on.",
    )
    parser.add_argument("run", type=Path, help="folder of a run whose teacher is trained")
    parser.add_argument("--updates", type=int, default=50, help="timed updates (default 50)")
    parser.add_argument("--batch", type=int, default=128, help="sentences (default 128)")
    given = parser.parse_args(arguments)
    print("| student | sentences/s | ms per update, median | first update, s |")
    print("|---|---:|---:|---:|")
    for speed in measure(given.run, given.updates, given.batch):
        print(f"| {speed.name} | {speed.rate:,.0f} | {speed.median_ms:.1f} | {speed.first_s:.1f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
