"""Score against cost of a sweep's points, as in XtremeDistil's Figure 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfdistil.report import units
from tfdistil.report.plots import Plot, log_ticks
from tfdistil.report.svg import COLOURS, INK, PAPER, canvas, inline_svg
from tfdistil.report.sweep_table import Entry, pareto
from tfdistil.runs.run_metrics import metric_name, set_name

_FONT = 8.0
"""Size of the labels, in points of 1/72 inch."""
_MARGIN = 0.14
"""Room beside the outermost points, as a share of the range."""
_PLACES = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""Sides of a point where its label may stand, best first."""


def parameters(entries: Sequence[Entry]) -> Plot | None:
    """The score of each file against its parameters (Figure 1a)."""
    return _against(
        entries,
        [entry.results.delivered.parameters for entry in entries],
        "parameters",
        "parameters",
        units.count,
    )


def latency(entries: Sequence[Entry]) -> Plot | None:
    """The score of each file against its median time for one text (Figure 1b)."""
    return _against(
        entries,
        [entry.results.delivered.online for entry in entries],
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
    metric = f"{metric_name(results.metric)} on {set_name(results.main_set)}"
    front = pareto([(cost, score) for _, cost, score in shown])
    with canvas(5.4, 3.8) as (figure, axes):
        low, high = min(cost for _, cost, _ in shown), max(cost for _, cost, _ in shown)
        if high > 8 * low:
            axes.set_xscale("log")
            log_ticks(axes, text)
        else:
            _linear_ticks(axes, low, high, text)
        axes.margins(x=_MARGIN, y=_MARGIN)
        axes.plot(
            [shown[i][1] for i in front],
            [shown[i][2] for i in front],
            color=COLOURS["file"],
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
        order = [*front, *rest]
        _label(figure, axes, [(shown[i][0].label, *shown[i][1:]) for i in order])
        description = "; ".join(
            f"{entry.name}: {units.points(score)} at {text(cost)}" for entry, cost, score in shown
        )
        svg = inline_svg(figure, name, f"{metric} against {label}", f"{description}.")
    return Plot(
        svg,
        f"{metric} of each point's file against {label}; the line joins the best at their cost.",
    )


def _label(figure: Any, axes: Any, points: Sequence[tuple[str, float, float]]) -> None:
    """Name the points where there is room, the first ones first; the table names them all."""
    figure.draw_without_rendering()  # the layout settles where the axes are
    scale = figure.dpi / 72
    frame = axes.get_window_extent()
    marks = [axes.transData.transform((cost, score)) for _, cost, score in points]
    taken = [(x - 4 * scale, y - 4 * scale, x + 4 * scale, y + 4 * scale) for x, y in marks]
    for (text, cost, score), (x, y) in zip(points, marks, strict=True):
        # The browser draws the text with its own font; a letter is about 0.55 of its size.
        width, height = 0.55 * _FONT * len(text) * scale, _FONT * scale
        for right, up in _PLACES:
            left = x - width / 2 + right * (width / 2 + 7 * scale)
            low = y - height / 2 + up * (height / 2 + 7 * scale)
            box = (left, low, left + width, low + height)
            inside = frame.x0 <= box[0] and box[2] <= frame.x1 and box[3] <= frame.y1
            if inside and low >= frame.y0 and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                axes.annotate(
                    text,
                    (cost, score),
                    ((left + width / 2 - x) / scale, (low + height / 2 - y) / scale),
                    textcoords="offset points",
                    ha="center",
                    va="center",
                    fontsize=_FONT,
                )
                break


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _linear_ticks(axes: Any, low: float, high: float, text: Callable[[float | None], str]) -> None:
    from matplotlib.ticker import MaxNLocator

    room = _MARGIN * (high - low)
    low, high = low - room, high + room
    ticks = [float(x) for x in MaxNLocator(5).tick_values(low, high) if low <= x <= high]
    axes.set_xticks(ticks, tick_texts(ticks, text))


def tick_texts(ticks: Sequence[float], text: Callable[[float | None], str]) -> list[str]:
    """What stands under the ticks; with more digits where two would read the same."""
    texts = [text(tick) for tick in ticks]
    if len(set(texts)) < len(texts):
        texts = [f"{tick:,.0f}" if tick >= 10_000 else f"{tick:.6g}" for tick in ticks]
    return texts
