"""Model selection: keep the weights with the best monitored value, stop when it stays worse."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tfdistil.files import write_text


@dataclass(frozen=True)
class Patience:
    """When to give up on a monitored value that no longer gets better.

    Attributes:
        checks: evaluations without improvement; None never gives up.
        min_updates: updates before the first evaluation that counts.
        floor: what a model that has learnt nothing may score: at this or below, evaluations do not
            count, because learning has not begun. None: there is no such value (a loss).
    """

    checks: int | None = None
    min_updates: int = 0
    floor: float | None = None

    def counts(self, value: float, updates: int) -> bool:
        """Whether an evaluation without improvement is held against the training."""
        started = self.floor is None or not value <= self.floor
        return started and updates >= self.min_updates


@dataclass
class Progress:
    """How far a phase is, beside its weights.

    Attributes:
        batches: that the training step has had.
        rows: of the history, one for each check.
        best_value: of all checks so far.
        waited: checks since the last rise, as they count for patience.
        seconds: of training.
    """

    batches: int = 0
    rows: list[dict[str, float]] = field(default_factory=list)
    best_value: float = np.nan
    waited: int = 0
    seconds: float = 0.0

    @property
    def kept(self) -> int:
        """Updates that the best weights had; of equally good ones the later."""
        best = [row["updates"] for row in self.rows if row["monitored"] == self.best_value]
        return int(best[-1]) if best else 0


class BestWeights(keras.callbacks.Callback):
    """Evaluates every so many batches, and before the first one; restores the best at the end.

    The weights before the first update take part, so a phase can never make a student worse by the
    monitored value. Of equally good weights the later are kept: a metric that is still 0 while the
    student learns must not undo what it has learnt.

    Checks do not go by Keras' epochs, which begin where ``fit`` does and not where the phase did.

    Args:
        trained: a model whose weights are kept; with a `Distiller` also what its terms learn.
        evaluate: gives the monitored value, on held-out data.
        higher_is_better: True for a metric, False for a loss.
        patience: how long without improvement until training stops.
        every: batches from a check to the next.
        updates: stop after so many optimizer steps, with a check; None: no limit.
        record: called with a row of the history after each evaluation.
        accumulate: batches to an update.
        minutes: stop at the first evaluation after this time; None: no limit.
    """

    def __init__(
        self,
        trained: Any,
        evaluate: Callable[[], float],
        higher_is_better: bool,
        patience: Patience,
        every: int,
        updates: int | None,
        record: Callable[[dict[str, float]], None],
        accumulate: int = 1,
        minutes: float | None = None,
    ):
        super().__init__()
        self.trained, self.evaluate, self.record = trained, evaluate, record
        self.sign = 1.0 if higher_is_better else -1.0
        self.patience, self.every, self.updates = patience, every, updates
        self.progress = Progress()
        self.best_weights: list[np.ndarray] = []
        self.means: list[np.ndarray] = []
        self.accumulate = accumulate
        self.minutes, self.start = minutes, 0.0

    @property
    def done(self) -> int:
        """Updates made."""
        return self.progress.batches // self.accumulate

    def resume(self, progress: Progress, best_weights: list[np.ndarray]) -> None:
        """Begin where an interrupted phase was; its weights are in place."""
        self.progress, self.best_weights = progress, best_weights
        self.means = [variable.numpy() for variable in self.trained.metrics_variables]

    def _check(self, logs: dict[str, float]) -> float:
        value, now = float(self.evaluate()), self.progress
        gain = self.sign * (value - now.best_value) if self.best_weights else np.inf
        now.waited = 0 if gain > 0 else now.waited + self.patience.counts(value, self.done)
        if gain >= 0:
            now.best_value, self.best_weights = value, self.trained.get_weights()
        row = {"epoch": float(len(now.rows)), "updates": float(self.done), "monitored": value}
        now.rows.append({**row, **{k: float(v) for k, v in logs.items()}})
        self.record(now.rows[-1])
        return value

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        """Score the weights as they are, or say again what was found before the interruption."""
        self.start = time.monotonic() - self.progress.seconds
        for row in self.progress.rows:
            self.record(row)
        if not self.progress.rows:
            self._check({})

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Put back the means since the last check before the interruption: Keras empties them."""
        for variable, mean in zip(self.trained.metrics_variables, self.means, strict=False):
            variable.assign(mean)
        self.means = []

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Count updates, and check when it is time to."""
        now = self.progress
        now.batches += 1
        last = self.updates is not None and self.done >= self.updates
        if last or now.batches % self.every == 0:
            model = self.model  # on JAX this lookup is what puts the weights of the step into it
            stops = self._has_to_stop({} if logs is None else logs)
            model.stop_training = last or stops
            model.reset_metrics()
        now.seconds = time.monotonic() - self.start

    def _has_to_stop(self, logs: dict[str, float]) -> bool:
        """Score, keep or count; the callbacks after this one find what came of it in the logs."""
        value = self._check(logs)
        logs |= {"monitored": value, "best": self.progress.best_value}
        checks = self.patience.checks
        late = self.minutes is not None and time.monotonic() - self.start > 60 * self.minutes
        return late or (checks is not None and self.progress.waited >= checks)

    def on_train_end(self, logs: dict[str, float] | None = None) -> None:
        """Put the best weights back."""
        self.trained.set_weights(self.best_weights)


COLUMNS = ["model", "phase", "epoch", "updates", "name", "value"]


class History:
    """Appends rows to ``history.csv``: phase, epoch, updates, name of a value, value.

    The long form needs no fixed columns, whatever terms a stage has.
    """

    def __init__(self, path: Path | None):
        self.path = path

    def forget(self, model: str, phases: Collection[str]) -> None:
        """Drop the rows of phases that start anew, and a line cut off with one of them.

        A header that was cut off, or never got into the file, is written again.
        """
        if self.path is None or not self.path.exists():
            return
        with self.path.open(newline="", encoding="utf-8", errors="replace") as file:
            rows = list(csv.reader(file))
        whole = [row for row in rows if len(row) == len(COLUMNS) and row != COLUMNS]
        kept = [COLUMNS, *(row for row in whole if row[0] != model or row[1] not in phases)]
        if kept != rows:
            text = io.StringIO(newline="")
            csv.writer(text).writerows(kept)
            write_text(self.path, text.getvalue())

    def __call__(self, model: str, phase: str, row: dict[str, float]) -> None:
        """Write one evaluation."""
        if self.path is None:
            return
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            if file.tell() == 0:
                writer.writerow(COLUMNS)
            for name, value in row.items():
                if name not in ("epoch", "updates"):
                    writer.writerow(
                        [model, phase, int(row["epoch"]), int(row["updates"]), name, f"{value:.6g}"]
                    )
