"""Reads ``history.csv`` into curves over all updates of a model."""

from __future__ import annotations

import csv
from collections.abc import Iterator
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


History = dict[str, list[Phase]]
"""Model name to its phases in the order they ran."""


def read_history(path: Path | None) -> History:
    """Curves of a run; empty where there is no file.

    A phase that was interrupted and started again counts from its last start. An unfinished last
    line, as a killed run leaves it, is passed over.

    Raises:
        DataError: another header, or a line that is not a row of a history.
    """
    if path is None or not path.exists():
        return {}
    history: History = {}
    seen: dict[tuple[str, str], int] = {}
    for model, name, epoch, updates, key, value in _rows(path):
        phases = history.setdefault(model, [])
        phase = next((phase for phase in phases if phase.name == name), None)
        if phase is None:
            phase = Phase(name)
            phases.append(phase)
        again = epoch == seen.get((model, name)) and key in phase.values
        if epoch < seen.get((model, name), -1) or (again and epoch == 0):
            phase.values.clear()
        seen[model, name] = epoch
        phase.values.setdefault(key, []).append((updates, value))
    for phases in history.values():
        total = 0
        for phase in phases:
            phase.start, total = total, total + phase.updates
    return history


def _rows(path: Path) -> Iterator[tuple[str, str, int, int, str, float]]:
    text = path.read_text(encoding="utf-8")
    lines = list(csv.reader(text.splitlines()))
    if not lines:
        return
    if lines[0] != COLUMNS:
        raise DataError(f"expected the columns {','.join(COLUMNS)}, got {lines[0]}", path, 1)
    for number, line in enumerate(lines[1:], start=2):
        if number == len(lines) and not text.endswith("\n"):
            return
        try:
            model, phase, epoch, updates, name, value = line
            yield model, phase, int(epoch), int(updates), name, float(value)
        except ValueError as error:
            raise DataError(f"not a row of a history ({error}): {line}", path, number) from None
