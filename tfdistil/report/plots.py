"""The pictures of a report. Matplotlib is loaded when one is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfdistil.report import units
from tfdistil.report.history import History, Phase
from tfdistil.report.svg import COLOURS, FAINT, INK, canvas, inline_svg
from tfdistil.runs.run_metrics import Metrics, System, metric_name, set_name

_SPARE = ("reference", "file")
"""Colours of models beyond those with one of their own; they take turns."""
_MARKERS = {"teacher": "s", "baseline": "v", "student": "o", "file": "D", "reference": "X"}
_MORE = ("^", "p", "*", "h")
"""Markers of further systems of the same kind."""
_MOST_LANGUAGES = 40
_LETTER = 0.017
"""Width of a small letter as a share of the axis."""


@dataclass(frozen=True)
class Plot:
    """A picture with what stands under it.

    Attributes:
        svg: an ``<svg>`` element for the inside of a page.
        caption: one sentence, plain text.
    """

    svg: str
    caption: str


def all_plots(results: Metrics, history: History) -> list[Plot]:
    """Every picture there are numbers for."""
    made = [
        *learning_curves(results, history),
        loss_curves(results, history),
        score_and_size(results),
        latencies(results),
        languages(results),
    ]
    return [plot for plot in made if plot is not None]


def _model_name(results: Metrics, model: str) -> str:
    system = results.system(model)
    return system.name if system and system.role == "baseline" else model.replace("_", " ")


def _role(results: Metrics, model: str) -> str:
    """What a model is, as far as it has a colour: what is delivered, its teacher, its baseline."""
    if model == results.delivered.model:
        return "student"
    system = results.system(model)
    return system.role if system and system.role in ("teacher", "baseline") else ""


def _colour(results: Metrics, model: str, others: Sequence[str]) -> str:
    role = _role(results, model)
    if not role:
        extra = [name for name in others if not _role(results, name)]
        role = _SPARE[extra.index(model) % len(_SPARE)]
    return COLOURS[role]


def _monitors_loss(results: Metrics, phase: Phase) -> bool:
    return results.monitors.get(phase.stage) == "loss"


def learning_curves(results: Metrics, history: History) -> list[Plot]:
    """The dev metric over updates: the teachers in one picture, the students in another.

    Phases whose best weights were chosen by a loss have no dev metric and leave a gap.
    """
    metric = metric_name(results.metric)
    teaches = [s.model for s in results.systems if s.role in ("teacher", "assistant")]
    teachers = [name for name in history.models if name.partition(".")[0] in teaches]
    students = [name for name in history.models if name not in teachers]
    plots = []
    for name, title, models in (
        ("teacher-curve", "Fine-tuning the teacher", teachers),
        ("student-curve", "Training the student", students),
    ):
        curves = {
            model: [p for p in history.models[model] if not _monitors_loss(results, p)]
            for model in models
        }
        plot = _curves(results, name, title, f"{metric} on dev", "monitored", curves, history)
        if plot is not None:
            plots.append(plot)
    return plots


def loss_curves(results: Metrics, history: History) -> Plot | None:
    """The training loss of every model over its updates."""
    models = dict(history.models)
    title = "Training loss"
    return _curves(results, "loss-curve", title, "loss", "loss", models, history, log=True)


def _curves(
    results: Metrics,
    name: str,
    title: str,
    label: str,
    value: str,
    models: dict[str, list[Phase]],
    history: History,
    log: bool = False,
) -> Plot | None:
    models = {m: phases for m, phases in models.items() if any(p.values.get(value) for p in phases)}
    if not models:
        return None
    ends = []
    with canvas(height=3.2 + 0.18 * len(models)) as (figure, axes):
        values: list[float] = []
        for model, phases in models.items():
            xs: list[float] = []
            ys: list[float] = []
            for phase in phases:
                x, y = phase.curve(value)
                xs += [*x, math.nan] if log else x
                ys += [*y, math.nan] if log else y
            values += [y for y in ys if math.isfinite(y)]
            colour = _colour(results, model, list(history.models))
            role = _role(results, model)
            axes.plot(
                xs,
                ys,
                color=colour,
                label=_short(_model_name(results, model)),
                marker=_MARKERS.get(role, "."),
                markersize=3.5,
                linestyle="--" if role == "baseline" else "-",
            )
            finite = [y for y in ys if math.isfinite(y)]
            if finite:
                text = f"{finite[0]:.4g} at first, {finite[-1]:.4g} at the end"
                best = "" if log else f", {max(finite):.4g} at best"
                ends.append(f"{_model_name(results, model)}: {text}{best}")
        if log and values and min(values) > 0 and max(values) > 5 * min(values):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(_tick)
            axes.yaxis.set_minor_formatter(_few_ticks(min(values), max(values)))
        if results.delivered.model in models:
            _stage_lines(axes, history.models[results.delivered.model])
        axes.set_xlabel("updates")
        axes.set_ylabel(label)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 0 else "")
        axes.locator_params(axis="x", nbins=5)
        if len(models) > 1:
            figure.legend(loc="outside lower center", ncols=1 + (len(models) < 3))
        description = f"{label} over updates. " + "; ".join(ends) + "."
        svg = inline_svg(figure, name, title, description)
    note = " Loss values of different lines are not comparable." if log else ""
    return Plot(svg, f"{title}: {label} over updates.{note}")


def _stage_lines(axes: Any, phases: list[Phase]) -> None:
    """A line where a stage of the student begins, with its name if there is room."""
    starts = [
        phase
        for before, phase in zip([None, *phases], phases, strict=False)
        if before is None or before.stage != phase.stage
    ]
    if len(starts) < 2:
        return
    left, right = axes.get_xlim()
    ends = [*(phase.start for phase in starts[1:]), right]
    for phase, end in zip(starts, ends, strict=True):
        axes.axvline(phase.start, color=INK, linewidth=0.8, linestyle=":")
        if (end - phase.start) / (right - left) > _LETTER * len(phase.stage):
            axes.annotate(
                phase.stage,
                (phase.start, 1.0),
                (2, 2),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                fontsize=8,
            )


def score_and_size(results: Metrics) -> Plot | None:
    """The main score of each system against the bytes of its file, on a logarithmic axis."""
    where = results.main_set
    shown = [
        (system, system.bytes, score)
        for system in results.systems
        if (score := results.score(system, where)) is not None and system.bytes
    ]
    if len(shown) < 2:
        return None
    metric = metric_name(results.metric)
    with canvas() as (figure, axes):
        axes.set_xscale("log")
        roles: list[str] = []
        for system, count, score in shown:
            again = roles.count(system.role)
            roles.append(system.role)
            axes.plot(
                [count],
                [score],
                color=COLOURS.get(system.role, INK),
                marker=(_MARKERS.get(system.role, "o"), *_MORE)[again % (1 + len(_MORE))],
                markersize=8,
                linestyle="none",
                label=f"{_short(system.name)} ({units.size(count)})",
            )
        sizes = [count for _, count, _ in shown]
        axes.set_xlim(min(sizes) / 2.5, max(sizes) * 2.5)
        axes.margins(y=0.2)
        log_ticks(axes, lambda size: units.size(size).replace(".0 ", " "))
        axes.set_xlabel("size of the file")
        axes.set_ylabel(f"{metric} on {set_name(where)}")
        figure.legend(loc="outside lower center", ncols=1)
        description = "; ".join(
            f"{system.name}: {units.points(score)} at {units.size(count)}"
            for system, count, score in shown
        )
        svg = inline_svg(figure, "size", f"{metric} against file size", f"{description}.")
    return Plot(svg, f"{metric} on {set_name(where)} against file size (logarithmic).")


def latencies(results: Metrics) -> Plot | None:
    """The time for one text where two or more were timed: a bar to the median, a whisker to p99."""
    timed = [(one, one.latency.online_ms) for one in results.timed if one.latency]
    if len(timed) < 2:
        return None
    with canvas(height=1.2 + 0.48 * len(timed)) as (figure, axes):
        medians = [times["p50"] for _, times in timed]
        highest = max(times["p99"] for _, times in timed)
        axes.set_xscale("log")
        # Bars need a beginning; on a logarithmic axis it is the decade below the smallest value.
        start = 10 ** math.floor(math.log10(min(medians) * 0.7))
        for row, (system, times) in enumerate(timed):
            median, tail = times["p50"], times["p99"]
            role = system.role if isinstance(system, System) else "reference"
            colour = COLOURS.get(role, INK)
            axes.barh(row, median - start, left=start, height=0.55, color=colour)
            axes.plot([median, tail], [row, row], color=INK, linewidth=1.2)
            axes.plot([tail], [row], color=INK, marker="|", markersize=8)
            axes.annotate(
                f"{units.milliseconds(median)} ms",
                (tail, row),
                (6, 0),
                textcoords="offset points",
                va="center",
            )
        axes.set_xlim(start, highest * 9)
        axes.set_yticks(range(len(timed)), [_short(system.name, 24) for system, _ in timed])
        axes.set_ylim(len(timed) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        log_ticks(axes, _tick)
        axes.set_xlabel("ms for one text")
        description = "; ".join(
            f"{system.name}: median {units.milliseconds(times['p50'])} ms"
            for system, times in timed
        )
        svg = inline_svg(figure, "latency", "Time for one text", f"{description}.")
    return Plot(
        svg, "Time for one text (batch 1, logarithmic): the bar ends at p50, the whisker at p99."
    )


def _short(text: str, most: int = 28) -> str:
    """Long names would leave no room for the picture."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _tick(value: float, _: int | None = None) -> str:
    return f"{value:,.6g}"


def _few_ticks(low: float, high: float) -> Callable[[float, int | None], str]:
    """Text for the ticks between powers of ten, where fewer than two of those are in sight."""
    inside = math.floor(math.log10(high)) - math.ceil(math.log10(low)) + 1
    return lambda value, _: _tick(value) if inside < 2 and f"{value:e}"[0] in "25" else ""


def log_ticks(axes: Any, text: Callable[[float], str]) -> None:
    """Few ticks at powers of ten on a logarithmic x axis, with their text."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_major_formatter(lambda value, _: text(value))
    axes.xaxis.set_minor_formatter(NullFormatter())


def languages(results: Metrics) -> Plot | None:
    """The main score by language: the teacher beside what the run delivers."""
    where = results.main_set
    chosen = [s for s in (results.teacher, results.delivered) if s]
    codes = sorted({code for system in chosen for code in system.languages})
    if not 2 <= len(codes) <= _MOST_LANGUAGES:
        return None
    metric = metric_name(results.metric)
    height = 0.8 / len(chosen)
    with canvas(height=1.3 + 0.24 * len(codes) * len(chosen)) as (figure, axes):
        for place, system in enumerate(chosen):
            rows = [system.languages.get(code, math.nan) for code in codes]
            offset = (place - (len(chosen) - 1) / 2) * height
            bars = axes.barh(
                [i + offset for i in range(len(codes))],
                rows,
                height=height * 0.92,
                color=COLOURS.get(system.role, INK),
                label=_short(system.name, 24),
            )
            texts = ["" if math.isnan(row) else units.points(row) for row in rows]
            axes.bar_label(bars, texts, padding=3, fontsize=9)
        axes.set_yticks(range(len(codes)), [_short(code, 12) for code in codes])
        axes.set_ylim(len(codes) - 0.5, -0.5)
        axes.set_xlim(0, 112)
        axes.set_xticks(range(0, 101, 20))
        axes.grid(visible=False, axis="y")
        axes.spines["left"].set_color(FAINT)
        axes.set_xlabel(f"{metric} on {set_name(where)}")
        figure.legend(loc="outside lower center", ncols=2)
        description = "; ".join(
            f"{code}: "
            + ", ".join(f"{s.name} {units.points(s.languages.get(code))}" for s in chosen)
            for code in codes
        )
        svg = inline_svg(figure, "languages", f"{metric} by language", f"{description}.")
    return Plot(svg, f"{metric} by language on {set_name(where)}.")
