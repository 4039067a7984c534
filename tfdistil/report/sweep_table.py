"""The numbers of a sweep: a row per point, as CSV and as tables.

The columns are those of XtremeDistil's Table 16: score, deviation over languages, parameters,
compression, speed-up in batches and for one text; beside the run's own teacher and beside the
reference shape.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev
from typing import Any

from tfdistil.report import units
from tfdistil.report.table import Table
from tfdistil.runs.run_metrics import Metrics, Reference, System, metric_name, set_name, smaller

Number = float | None
Other = Callable[[Metrics], System | Reference | None]
"""What the file is compared with."""


@dataclass(frozen=True)
class Entry:
    """A finished point.

    Attributes:
        name: of the point and its folder.
        label: what stands beside it in a plot.
        values: of the keys that differ between points.
        results: of its run.
    """

    name: str
    label: str
    values: Mapping[str, str]
    results: Metrics

    @property
    def score(self) -> Number:
        """The metric of what the run delivers, on test where there is one."""
        return self.results.score(self.results.delivered, self.results.main_set)


@dataclass(frozen=True)
class Column:
    """A number of every point.

    Attributes:
        name: in the CSV.
        group: what stands above the title.
        title: in tables.
        text: the number as people read it.
        of: the number, None where it was not measured.
    """

    name: str
    group: str
    title: str
    text: Callable[[Number], str]
    of: Callable[[Metrics], Number]


def _over_languages(statistic: Callable[[Sequence[float]], float], least: int) -> Any:
    def of(results: Metrics) -> Number:
        scores = list(results.delivered.languages.values())
        return statistic(scores) if len(scores) >= least else None

    return of


def _latency(kind: str, key: str) -> Callable[[Metrics], Number]:
    def of(results: Metrics) -> Number:
        latency = results.delivered.latency
        times = getattr(latency, f"{kind}_ms") if latency else None
        return times.get(key) if times else None

    return of


def _ratio(than: str, kind: str) -> Callable[[Metrics], Number]:
    def of(results: Metrics) -> Number:
        ratio = results.delivered.ratios.get(than)
        found = getattr(ratio, kind) if ratio else None
        return found["median"] if found else None

    return of


def _fewer(other: Other) -> Callable[[Metrics], Number]:
    def of(results: Metrics) -> Number:
        than = other(results)
        return than.parameters / results.delivered.parameters if than else None

    return of


def _beside(than: str, group: str, other: Other) -> list[Column]:
    size = Column(
        f"smaller_than_{than}",
        group,
        "smaller",
        units.ratio,
        lambda r: smaller(r.delivered, other(r)),
    )
    return [
        Column(f"fewer_parameters_than_{than}", group, "parameters", units.ratio, _fewer(other)),
        size,
        Column(f"faster_online_than_{than}", group, "faster", units.ratio, _ratio(than, "online")),
        Column(
            f"faster_batch_than_{than}", group, "in batches", units.ratio, _ratio(than, "batch")
        ),
    ]


def _score(system: Callable[[Metrics], System | None], where: str) -> Callable[[Metrics], Number]:
    return lambda results: results.score(system(results), where)


def _other_score(metric: str, results: Metrics) -> Number:
    """A metric besides the main one, of what the run delivers, on the main set."""
    return results.delivered.scores.get(results.main_set, {}).get(metric)


def file_name(entries: Sequence[Entry]) -> str:
    """What the delivered files are called, ``student int8`` say, if all are of one kind."""
    names = {entry.results.delivered.name for entry in entries}
    return names.pop() if len(names) == 1 else "file"


def columns(entries: Sequence[Entry]) -> list[Column]:
    """All numbers of a point; the points say what metric, file and reference are called."""
    results, file = entries[0].results, file_name(entries)
    metric = metric_name(results.metric)
    where = set_name(results.main_set)
    reference = results.reference.name if results.reference else "reference"
    made: list[Column] = []
    for kind, title, system in (
        ("teacher", "teacher", lambda r: r.teacher),
        ("student", "student", lambda r: r.keras),
        ("file", file, lambda r: r.delivered),
    ):
        made += [
            Column(f"{kind}_{name}", f"{metric}, {title}", name, units.points, _score(system, name))
            for name in ("dev", "test")
        ]
    main = results.main_set
    own = results.delivered.scores.get(main, {})
    made += [
        Column(
            f"file_{main}_{name}",
            f"{file} on {where}",
            metric_name(name),
            units.points,
            partial(_other_score, name),
        )
        for name in own
        if name != results.metric
    ]
    languages = f"languages of {where}"
    return [
        *made,
        Column(
            "retention",
            "",
            "of teacher",
            units.percent,
            lambda r: r.delivered.retention.get(r.main_set),
        ),
        Column("mean", languages, "mean", units.points, _over_languages(fmean, 1)),
        Column("deviation", languages, "σ", units.points, _over_languages(stdev, 2)),
        Column("parameters", "", "parameters", units.count, lambda r: r.delivered.parameters),
        Column("bytes", "", "file", units.size, lambda r: r.delivered.bytes),
        Column("ms_online", "ms", "one text", units.milliseconds, _latency("online", "p50")),
        Column("ms_batch", "ms", "one batch", units.milliseconds, _latency("batch", "p50")),
        Column("calls_online", "timed", "calls", units.count, _latency("online", "calls")),
        Column("batch", "timed", "batch", units.count, _latency("batch", "batch")),
        Column("calls_batch", "timed", "batches", units.count, _latency("batch", "calls")),
        *_beside("teacher", "than the teacher", lambda r: r.teacher),
        *_beside("reference", f"than {reference}", lambda r: r.reference),
    ]


def to_csv(entries: Sequence[Entry]) -> str:
    """A row per point: its name, the keys of the sweep, the metric's name, and every number.

    Numbers stand as they were measured, unrounded; a cell is empty where nothing was.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if entries:
        keys, cells = list(entries[0].values), columns(entries)
        writer.writerow(["point", *keys, "metric", *(column.name for column in cells)])
        for entry in entries:
            numbers = [column.of(entry.results) for column in cells]
            row = [entry.name, *(entry.values[key] for key in keys), entry.results.metric]
            writer.writerow([*row, *("" if n is None else n for n in numbers)])
    return text.getvalue()


MAIN = (
    "file_dev",
    "file_test",
    "retention",
    "deviation",
    "parameters",
    "bytes",
    "ms_online",
    "fewer_parameters_than_teacher",
    "smaller_than_teacher",
    "faster_online_than_teacher",
    "faster_batch_than_teacher",
    "fewer_parameters_than_reference",
    "smaller_than_reference",
    "faster_online_than_reference",
    "faster_batch_than_reference",
)
"""The columns of Table 16 and a few more; the others are where they come from."""


def shown_columns(entries: Sequence[Entry], names: Sequence[str]) -> list[Column]:
    """Those of the columns that have a number at any point, in the order of the CSV."""
    every = [column for column in columns(entries) if column.name in names]
    return [c for c in every if any(c.of(entry.results) is not None for entry in entries)]


def concerns(entries: Sequence[Entry]) -> list[str]:
    """The concerns of all points, each with the point it is about."""
    return [f"{entry.name}: {line}" for entry in entries for line in entry.results.concerns]


def best(entries: Sequence[Entry]) -> int | None:
    """Index of the first point with the highest score on dev; None where there is no score.

    To choose by test would make its score there too good to be true.
    """
    scores = [
        (entry.results.score(entry.results.delivered, "dev"), -index)
        for index, entry in enumerate(entries)
    ]
    known = [(score, place) for score, place in scores if score is not None]
    return -max(known)[1] if known else None


def sweep_tables(entries: Sequence[Entry]) -> list[Table]:
    """A row per point: first what they are compared by, then where that comes from.

    Args:
        entries: at least one.
    """
    others = [c.name for c in columns(entries) if c.name not in MAIN]
    return [
        _table("Quality and cost of every point", entries, shown_columns(entries, MAIN)),
        _table("All scores and times", entries, shown_columns(entries, others)),
    ]


def _table(caption: str, entries: Sequence[Entry], shown: Sequence[Column]) -> Table:
    rows = tuple(
        (entry.name, *(column.text(column.of(entry.results)) for column in shown))
        for entry in entries
    )
    groups = [("", 1)]
    for column in shown:
        title, count = groups[-1]
        same = column.group == title
        groups[-1:] = [(title, count + 1)] if same else [(title, count), (column.group, 1)]
    head = ("point", *(column.title for column in shown))
    return Table(caption, head, rows, tuple(groups), best(entries))


def pareto(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the points that no other one beats in cost or score without losing in the other.

    Args:
        points: ``(cost, score)``; less of the first and more of the second is better.

    Returns:
        By cost, the cheapest first; of equal points the first alone.
    """
    best, front = float("-inf"), []
    for index in sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1])):
        if points[index][1] > best:
            best = points[index][1]
            front.append(index)
    return front
