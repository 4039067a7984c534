"""The page of a sweep: its points in tables and plots, with links to their reports."""

from __future__ import annotations

from collections.abc import Sequence

from tfdistil.report import units
from tfdistil.report.html import environment, task_name
from tfdistil.report.sweep_plots import latency, parameters
from tfdistil.report.sweep_table import Entry, best, concerns, sweep_tables
from tfdistil.report.table import Table, facts_table
from tfdistil.runs.run_metrics import metric_name, set_name


def render_sweep(entries: Sequence[Entry], name: str) -> str:
    """The page of a sweep as HTML; the same input gives the same text.

    Args:
        entries: the finished points; there may be none yet.
        name: of the sweep's folder.
    """
    template = environment().get_template("sweep.html.j2")
    if not entries:
        return template.render(name=name, subtitle="no point is finished yet", tables=[])
    first = entries[0].results
    subtitle = f"{first.name} · {task_name(first.task)} · {_points(len(entries))}"
    return template.render(
        name=name,
        subtitle=subtitle,
        sentence=_sentence(entries),
        concerns=concerns(entries),
        tables=sweep_tables(entries),
        points=[entry.name for entry in entries],
        plots=[plot for plot in (parameters(entries), latency(entries)) if plot is not None],
        keys=_keys(entries),
        environment=facts_table("Environment of the first point", first.environment),
        reference=first.reference,
    )


def _points(count: int) -> str:
    return "one point" if count == 1 else f"{count} points"


def _sentence(entries: Sequence[Entry]) -> str:
    index = best(entries)
    if index is None:
        return "No point has a score."
    entry = entries[index]
    results = entry.results
    where, dev = results.main_set, units.points(results.score(results.delivered, "dev"))
    there = f"; it has {units.points(entry.score)} on {set_name(where)}" if where != "dev" else ""
    return f"The best {metric_name(results.metric)} on dev, {dev}, is that of {entry.name}{there}."


def _keys(entries: Sequence[Entry]) -> Table | None:
    """What the points differ in, with the keys in full."""
    keys = list(entries[0].values)
    if not keys:
        return None
    rows = tuple((entry.name, *(entry.values[key] for key in keys)) for entry in entries)
    text = tuple(range(1, len(keys) + 1))
    return Table("Keys of the recipe that differ", ("point", *keys), rows, text=text)
