"""Reads ``history.csv`` into curves over all updates of a model."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

from tfdistil.errors import DataError

COLUMNS = ["model", "phase", "epoch", "updates", "name", "value"]


@dataclass
class Phase:
    """Evaluations of one phase.

    Attributes:
        name: ``<stage>`` or ``<stage>.<layer group>``.
        start: updates the model had before it.
        values: name of a value to ``(updates since start, value)``, in order.
    """

    name: str
    start: int = 0
    values: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    last_epoch: int = 0

    @property
    def stage(self) -> str:
        """The stage the phase belongs to."""
        return self.name.partition(".")[0]

    @property
    def updates(self) -> int:
        """Updates made in the phase."""
        return max((row[0] for rows in self.values.values() for row in rows), default=0)

    def curve(self, name: str) -> tuple[list[int], list[float]]:
        """Updates of the model and a value, as two lists."""
        rows = self.values.get(name, [])
        return [self.start + updates for updates, _ in rows], [value for _, value in rows]

    def add(self, epoch: int, updates: int, name: str, value: float) -> None:
        """Add an evaluation; the beginning of a new attempt at the phase drops the earlier one."""
        if epoch < self.last_epoch or (epoch == 0 and name in self.values):
            self.values.clear()
        self.last_epoch = epoch
        self.values.setdefault(name, []).append((updates, value))


@dataclass
class History:
    """How the models of a run were trained.

    Attributes:
        models: name to its phases in the order they ran.
        unreadable: lines passed over; a run that was killed may leave one.
    """

    models: dict[str, list[Phase]] = field(default_factory=dict)
    unreadable: int = 0


def read_history(path: Path | None) -> History:
    """Curves of a run; empty where there is no file.

    A phase that was interrupted and started again counts from its last start.

    Raises:
        DataError: the file's columns are not those of a history.
    """
    history = History()
    if path is None or not path.exists():
        return history
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        lines = csv.reader(file)
        header = next(lines, COLUMNS)
        if header != COLUMNS:
            raise DataError(f"expected the columns {','.join(COLUMNS)}, got {header}", path, 1)
        for line in lines:
            try:
                model, name, epoch, updates, key, value = line
                row = int(epoch), int(updates), key, float(value)
            except ValueError:
                history.unreadable += 1
                continue
            phases = history.models.setdefault(model, [])
            phase = next((phase for phase in phases if phase.name == name), None)
            if phase is None:
                phase = Phase(name)
                phases.append(phase)
            phase.add(*row)
    for phases in history.models.values():
        total = 0
        for phase in phases:
            phase.start, total = total, total + phase.updates
    return history
