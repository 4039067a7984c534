"""Model selection: keep the weights with the best monitored value, stop when it stays worse."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
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
        floor: what a model that has learnt nothing scores: at this or below, evaluations do not
            count, because learning has not begun. None: there is no such value (a loss).
    """

    checks: int | None = None
    min_updates: int = 0
    floor: float | None = None

    def counts(self, value: float, updates: int) -> bool:
        """Whether an evaluation without improvement is held against the training."""
        started = self.floor is None or not value <= self.floor
        return started and updates >= self.min_updates


class BestWeights(keras.callbacks.Callback):
    """Evaluates after every epoch, and before the first one; restores the best at the end.

    The weights before the first update take part, so a phase can never make a student worse by the
    monitored value. Of equally good weights the later are kept: a metric that is still 0 while the
    student learns must not undo what it has learnt.

    Args:
        trained: a model whose weights are kept; with a `Distiller` also what its terms learn.
        evaluate: gives the monitored value, on held-out data.
        higher_is_better: True for a metric, False for a loss.
        patience: how long without improvement until training stops.
        updates: stop after so many optimizer steps, wherever in an epoch; None: no limit.
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
        updates: int | None,
        record: Callable[[dict[str, float]], None],
        accumulate: int = 1,
        minutes: float | None = None,
    ):
        super().__init__()
        self.trained, self.evaluate, self.record = trained, evaluate, record
        self.sign = 1.0 if higher_is_better else -1.0
        self.patience, self.updates = patience, updates
        self.best_value = np.nan
        self.best_weights: list[np.ndarray] = []
        self.waited = self.batches = 0
        self.accumulate = accumulate
        self.minutes, self.start = minutes, 0.0

    @property
    def done(self) -> int:
        """Updates made."""
        return self.batches // self.accumulate

    def _consider(self, epoch: int, logs: dict[str, float]) -> float:
        value = float(self.evaluate())
        gain = self.sign * (value - self.best_value) if self.best_weights else np.inf
        self.waited = 0 if gain > 0 else self.waited + self.patience.counts(value, self.done)
        if gain >= 0:
            self.best_value, self.best_weights = value, self.trained.get_weights()
        row = {"epoch": float(epoch), "updates": float(self.done), "monitored": value}
        self.record({**row, **{k: float(v) for k, v in logs.items()}})
        return value

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        """Score the weights as they are."""
        self.start = time.monotonic()
        self._consider(0, {})

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Count updates."""
        self.batches += 1
        if self.updates is not None and self.done >= self.updates:
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Score, keep or count; the callbacks after this one find what came of it in the logs."""
        value = self._consider(epoch + 1, logs or {})
        if logs is not None:
            logs |= {"monitored": value, "best": self.best_value}
        checks = self.patience.checks
        late = self.minutes is not None and time.monotonic() - self.start > 60 * self.minutes
        if late or (checks is not None and self.waited >= checks):
            self.model.stop_training = True

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
