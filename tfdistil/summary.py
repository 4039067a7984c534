"""The end of ``tfdistil run``: the table, where the report is, and what to type next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tfdistil.report.next_command import example_of, in_shell
from tfdistil.report.sweep_table import Entry, best, concerns, file_name, shown_columns
from tfdistil.report.units import SIZE, SPEED, compared, size

SETS = {"dev": "dev", "test": "test", "test_unseen": "test, not in train"}


def summary_table(metrics: dict[str, Any]) -> Table:
    """Every system in a row: scores, what is left of the teacher, size, latency."""
    metric = metrics["metric"]
    sets = [name for name in SETS if name in metrics["systems"][0]["scores"]]
    last = sets[-1] if sets[-1] != "test_unseen" else "test"
    table = Table(title=f"{metrics['name']}: {metric.replace('_', ' ')}", title_justify="left")
    table.add_column("system")
    for name in sets:
        table.add_column(SETS[name], justify="right")
    table.add_column("of teacher", justify="right")
    table.add_column("parameters", justify="right")
    table.add_column("file", justify="right")
    table.add_column("p50 ms", justify="right")
    for system in metrics["systems"]:
        latency = system["latency"]
        table.add_row(
            system["name"],
            *(f"{system['scores'][name][metric]:.2f}" for name in sets),
            f"{metrics['retention'][last][system['name']]:.1f} %"
            if system["name"] in metrics["retention"][last]
            else "100 %",
            f"{system['parameters'] / 1e6:.2f} M",
            size(system["bytes"]),
            f"{latency['online_ms']['p50']:.3f}" if latency else "–",
        )
    reference = metrics.get("reference")
    if reference:
        table.add_row(
            f"{reference['name']} (no score)",
            *("" for _ in sets),
            "",
            f"{reference['parameters'] / 1e6:.0f} M",
            size(reference["bytes"]),
            f"{reference['latency']['online_ms']['p50']:.3f}",
        )
    return table


def print_concerns(lines: Sequence[str], console: Console) -> None:
    """Write what must be read before the scores are believed."""
    for line in lines:
        console.print(f"WARNING: {line}", markup=False, soft_wrap=True, style="bold red")


def print_summary(metrics: dict[str, Any], folder: Path) -> None:
    """Write the table, the ratios, the report's path and the next command."""
    console = Console(highlight=False)
    console.print(summary_table(metrics))
    for name, ratio in metrics.get("ratios", {}).items():
        online, batch = ratio["online"]["median"], ratio["batch"]["median"]
        console.print(
            f"against the {name} in the same runtime: {compared(ratio['bytes'], SIZE)}, "
            f"{compared(online, SPEED)} online, {compared(batch, SPEED)} in batches",
            markup=False,
            soft_wrap=True,
        )
    print_concerns(metrics.get("concerns", ()), console)
    console.print(f"report:  {folder / 'report.html'}", markup=False, soft_wrap=True)
    command = in_shell(folder / "student.tflite", example_of(metrics))
    console.print(f"try it:  {command}", markup=False, soft_wrap=True)


_SWEEP = {
    "file_dev": "dev",
    "file_test": "test",
    "retention": "of\nteacher",
    "deviation": "σ",
    "parameters": "params",
    "bytes": "file",
    "ms_online": "p50 ms",
    "faster_online_than_teacher": "faster",
}
"""Columns of a sweep that fit a terminal, and their titles there."""


def print_sweep(entries: Sequence[Entry], folder: Path) -> None:
    """Write the table of a sweep, where its files are, and what to try: its best point."""
    if not entries:
        return
    results, strong = entries[0].results, best(entries)
    shown = shown_columns(entries, list(_SWEEP))
    console = Console(highlight=False)
    metric = results.metric.replace("_", " ")
    title = f"{results.name}: {metric} of {file_name(entries)}, {len(entries)} points"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.pad_edge, table.collapse_padding = False, True
    parts = [part for entry in entries for part in entry.name.split(",")]
    table.add_column("point", min_width=min(24, 1 + max(map(len, parts))), overflow="fold")
    for column in shown:
        table.add_column(_SWEEP[column.name], justify="right")
    for index, entry in enumerate(entries):
        # One part of the name per line: the numbers need the width.
        cells = [Text(entry.name.replace(",", ",\n"))]
        cells += [Text(column.text(column.of(entry.results))) for column in shown]
        table.add_row(*cells, style="bold" if index == strong else None)
    console.print(table)
    print_concerns(concerns(entries), console)
    chosen = entries[strong or 0]
    command = in_shell(folder / chosen.name / "student.tflite", example_of(chosen.metrics))
    for line in (
        f"table:   {folder / 'sweep.csv'}",
        f"page:    {folder / 'sweep.html'}",
        f"try it:  {command}",
    ):
        console.print(line, markup=False, soft_wrap=True)
