"""The end of ``tfdistil run``: the table, where the report is, and what to type next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tfdistil.report.next_command import example_of, in_shell
from tfdistil.report.sweep_table import Entry, best, concerns, file_name, shown_columns
from tfdistil.report.units import NOTHING, SIZE, SPEED, compared, size
from tfdistil.runs.run_metrics import Metrics

SETS = {"dev": "dev", "test": "test", "test_unseen": "test, not in train"}


def summary_table(metrics: Metrics) -> Table:
    """Every system in a row: scores, what is left of the teacher, size, latency."""
    metric, last = metrics.metric, metrics.main_set
    title = f"{metrics.name}: {metric.replace('_', ' ')}"
    table = Table(title=title, title_justify="left")
    table.add_column("system")
    for name in metrics.sets:
        table.add_column(SETS[name], justify="right")
    table.add_column("of teacher", justify="right")
    table.add_column("parameters", justify="right")
    table.add_column("file", justify="right")
    table.add_column("p50 ms", justify="right")
    for system in metrics.systems:
        kept = system.retention.get(last)
        own = "100 %" if system is metrics.teacher else NOTHING
        table.add_row(
            system.name,
            *(f"{system.scores[name][metric]:.2f}" for name in metrics.sets),
            own if kept is None else f"{kept:.1f} %",
            f"{system.parameters / 1e6:.2f} M",
            size(system.bytes),
            NOTHING if system.online is None else f"{system.online:.3f}",
        )
    anchor = metrics.anchor
    if anchor:
        scores = (f"{anchor.scores[name][metric]:.2f}" for name in metrics.sets)
        table.add_row(anchor.name, *scores, NOTHING, NOTHING, size(anchor.bytes), NOTHING)
    reference = metrics.reference
    if reference:
        table.add_row(
            f"{reference.name} (no score)",
            *("" for _ in metrics.sets),
            "",
            f"{reference.parameters / 1e6:.0f} M",
            size(reference.bytes),
            f"{reference.latency.online_ms['p50']:.3f}",
        )
    return table


def print_concerns(lines: Sequence[str], console: Console) -> None:
    """Write what must be read before the scores are believed."""
    for line in lines:
        console.print(f"WARNING: {line}", markup=False, soft_wrap=True, style="bold red")


def print_summary(metrics: Metrics, folder: Path) -> None:
    """Write the table, the ratios, the report's path and the next command."""
    console = Console(highlight=False)
    console.print(summary_table(metrics))
    for name, ratio in metrics.delivered.ratios.items():
        online = compared(ratio.online["median"], SPEED)
        batch = f", {compared(ratio.batch['median'], SPEED)} in batches" if ratio.batch else ""
        console.print(
            f"against the {name} in the same runtime: {compared(ratio.bytes, SIZE)}, "
            f"{online} online{batch}",
            markup=False,
            soft_wrap=True,
        )
    print_concerns(metrics.concerns, console)
    console.print(f"report:  {folder / 'report.html'}", markup=False, soft_wrap=True)
    if metrics.delivered.export:
        command = in_shell(folder / metrics.main, example_of(metrics.examples))
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
    lines = [f"table:   {folder / 'sweep.csv'}", f"page:    {folder / 'sweep.html'}"]
    if chosen.results.delivered.export:
        file = folder / chosen.name / chosen.results.main
        lines.append(f"try it:  {in_shell(file, example_of(chosen.results.examples))}")
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
