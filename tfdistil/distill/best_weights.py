"""Model selection: keep the weights with the best monitored value, stop when it stays worse."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tfdistil.files import write_text


class BestWeights(keras.callbacks.Callback):
    """Evaluates after every epoch, and before the first one; restores the best at the end.

    The weights before the first update take part, so a phase can never make a student worse by the
    monitored value. Of equally good weights the later are kept: a metric that is still 0 while the
    student learns must not undo what it has learnt.

    Args:
        student: whose weights are kept.
        evaluate: gives the monitored value, on held-out data.
        higher_is_better: True for a metric, False for a loss.
        patience: epochs without improvement until training stops; None never stops early.
        updates: stop after so many optimizer steps, wherever in an epoch; None: no limit.
        record: called with a row of the history after each evaluation.
        accumulate: batches to an update.
    """

    def __init__(
        self,
        student: Any,
        evaluate: Callable[[], float],
        higher_is_better: bool,
        patience: int | None,
        updates: int | None,
        record: Callable[[dict[str, float]], None],
        accumulate: int = 1,
    ):
        super().__init__()
        self.student, self.evaluate, self.record = student, evaluate, record
        self.sign = 1.0 if higher_is_better else -1.0
        self.patience, self.updates = patience, updates
        self.best_value = np.nan
        self.best_weights: list[np.ndarray] = []
        self.waited = self.batches = 0
        self.accumulate = accumulate

    @property
    def done(self) -> int:
        """Updates made."""
        return self.batches // self.accumulate

    def _consider(self, epoch: int, logs: dict[str, float]) -> None:
        value = float(self.evaluate())
        gain = self.sign * (value - self.best_value) if self.best_weights else np.inf
        self.waited = 0 if gain > 0 else self.waited + 1
        if gain >= 0:
            self.best_value, self.best_weights = value, self.student.get_weights()
        row = {"epoch": float(epoch), "updates": float(self.done), "monitored": value}
        self.record({**row, **{k: float(v) for k, v in logs.items()}})

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        """Score the weights as they are."""
        self._consider(0, {})

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Count updates."""
        self.batches += 1
        if self.updates is not None and self.done >= self.updates:
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Score, keep or count."""
        self._consider(epoch + 1, logs or {})
        if self.patience is not None and self.waited >= self.patience:
            self.model.stop_training = True

    def on_train_end(self, logs: dict[str, float] | None = None) -> None:
        """Put the best weights back."""
        self.student.set_weights(self.best_weights)


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
