"""The page of a sweep: tables over its points, score against cost (XtremeDistil's Figure 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfdistil.report import units
from tfdistil.report.html import environment, task_name
from tfdistil.report.plots import Plot, log_ticks
from tfdistil.report.results import metric_name, set_name
from tfdistil.report.svg import COLOURS, INK, PAPER, canvas, inline_svg
from tfdistil.report.sweep_table import Entry, best, pareto, sweep_tables
from tfdistil.report.tables import Table, facts_table

_MOST_LABELS = 16
"""With more points than this, only those on the front are named."""


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
        tables=sweep_tables(entries),
        points=[entry.name for entry in entries],
        plots=[plot for plot in (parameters(entries), latency(entries)) if plot is not None],
        keys=_keys(entries),
        environment=facts_table("Environment of the first point", first.part("environment")),
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
    where = set_name(results.main_set or "")
    return (
        f"The best {metric_name(results.metric)} on {where}, {units.points(entry.score)}, is that "
        f"of {entry.name}."
    )


def _keys(entries: Sequence[Entry]) -> Table | None:
    """What the points differ in, with the keys in full."""
    keys = list(entries[0].values)
    if not keys:
        return None
    rows = tuple((entry.name, *(entry.values[key] for key in keys)) for entry in entries)
    text = tuple(range(1, len(keys) + 1))
    return Table("Keys of the recipe that differ", ("point", *keys), rows, text=text)


def parameters(entries: Sequence[Entry]) -> Plot | None:
    """The score of each file against its parameters (Figure 1a)."""
    costs = [entry.results.delivered for entry in entries]
    return _against(
        entries,
        [None if system is None else system.parameters for system in costs],
        "parameters",
        "parameters",
        units.count,
    )


def latency(entries: Sequence[Entry]) -> Plot | None:
    """The score of each file against its median time for one text (Figure 1b)."""
    costs = [entry.results.delivered for entry in entries]
    return _against(
        entries,
        [None if system is None else system.online for system in costs],
        "latency",
        "ms for one text",
        units.milliseconds,
    )


def _against(
    entries: Sequence[Entry],
    costs: Sequence[float | None],
    name: str,
    label: str,
    text: Callable[[float | None], str],
) -> Plot | None:
    shown = [
        (entry, cost, score)
        for entry, cost in zip(entries, costs, strict=True)
        if cost and (score := entry.score) is not None
    ]
    if len(shown) < 2:
        return None
    results = shown[0][0].results
    metric = f"{metric_name(results.metric)} on {set_name(results.main_set or '')}"
    front = pareto([(cost, score) for _, cost, score in shown])
    with canvas(5.4, 3.8) as (figure, axes):
        low, high = min(cost for _, cost, _ in shown), max(cost for _, cost, _ in shown)
        if high > 8 * low:
            axes.set_xscale("log")
            log_ticks(axes, text)
        else:
            axes.xaxis.set_major_formatter(lambda value, _: text(value))
            axes.locator_params(axis="x", nbins=5)
        axes.margins(x=0.14, y=0.14)
        axes.plot(
            [shown[i][1] for i in front],
            [shown[i][2] for i in front],
            color=COLOURS["tflite"],
            marker="o",
            markersize=6,
            label="no point is both cheaper and better",
        )
        rest = [i for i in range(len(shown)) if i not in front]
        if rest:
            axes.plot(
                [shown[i][1] for i in rest],
                [shown[i][2] for i in rest],
                color=INK,
                marker="o",
                markersize=5,
                markerfacecolor=PAPER,
                linestyle="none",
                label="the others",
            )
        for i in front if len(shown) > _MOST_LABELS else range(len(shown)):
            entry, cost, score = shown[i]
            place, above = (0, 7), "bottom"
            if i in rest:
                place, above = (0, -7), "top"
            axes.annotate(
                entry.label,
                (cost, score),
                place,
                textcoords="offset points",
                ha="center",
                va=above,
                fontsize=8,
            )
        teachers = {
            entry.results.score(entry.results.teacher, entry.results.main_set)
            for entry, _, _ in shown
        }
        if len(teachers) == 1 and (teacher := teachers.pop()) is not None:
            axes.axhline(
                teacher, color=COLOURS["teacher"], linestyle="--", linewidth=1.2, label="teacher"
            )
        axes.set_xlabel(label)
        axes.set_ylabel(metric)
        figure.legend(loc="outside lower center", ncols=2)
        description = "; ".join(
            f"{entry.name}: {units.points(score)} at {text(cost)}" for entry, cost, score in shown
        )
        svg = inline_svg(figure, name, f"{metric} against {label}", f"{description}.")
    return Plot(svg, f"{metric} of each point's file against {label}.")
