"""The tables that the page and the model card share."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, stdev
from typing import Any

from tfdistil.report import units
from tfdistil.report.table import Table, words
from tfdistil.runs.run_metrics import (
    Metrics,
    Reference,
    System,
    faster,
    metric_name,
    set_name,
    smaller,
)

QUANTILES = ("p50", "p90", "p99")
IN_BITS = {"bits_per_byte"}
"""Scores that are no percentages."""


def _quantiles(system: System | Reference) -> tuple[str, ...]:
    online = system.latency.online_ms if system.latency else {}
    return tuple(units.milliseconds(online.get(key)) for key in QUANTILES)


def _kept(results: Metrics, system: System, name: str) -> float | None:
    """A teacher keeps all of itself."""
    return 100.0 if system is results.teacher else system.retention.get(name)


def systems_table(results: Metrics) -> Table:
    """One row per system: metric and retention per set, parameters; bytes and latency of files."""
    sets, metric = results.sets, metric_name(results.metric)
    sized = any(system.bytes is not None for system in results.systems)
    quantiles = QUANTILES if any(system.latency for system in results.systems) else ()
    kept = [name for name in sets if name in results.delivered.retention]
    rows = []
    for system in results.systems:
        rows.append(
            (
                system.name,
                *(units.points(results.score(system, name)) for name in sets),
                *(units.percent(_kept(results, system, name)) for name in kept),
                units.count(system.parameters),
                *([units.size(system.bytes)] if sized else []),
                *(_quantiles(system) if quantiles else ()),
            )
        )
    if results.anchor is not None:
        rows.append(
            (
                results.anchor.name,
                *(units.points(results.score(results.anchor, name)) for name in sets),
                *(units.NOTHING for _ in (*kept, "parameters")),
                *([units.size(results.anchor.bytes)] if sized else []),
                *(units.NOTHING for _ in quantiles),
            )
        )
    groups = [("", 1), (metric, len(sets)), ("retention", len(kept)), ("", 1 + sized)]
    groups.append(("ms per text", len(quantiles)))
    names = [set_name(name) for name in sets]
    return Table(
        "Quality, size and speed of every system of this run",
        (
            "system",
            *names,
            *map(set_name, kept),
            "parameters",
            *(["file"] if sized else []),
            *quantiles,
        ),
        tuple(rows),
        tuple((title, columns) for title, columns in groups if columns),
        next((i for i, s in enumerate(results.systems) if s is results.delivered), None),
    )


def metrics_table(results: Metrics) -> Table | None:
    """Every other score, by set and system; None where the main metric is the only one."""
    names: list[str] = []
    for system in results.systems:
        for scores in system.scores.values():
            names += [name for name in scores if name not in names and name != results.metric]
    if not names:
        return None
    names = [results.metric, *names]
    rows = [
        (
            f"{set_name(where)}: {system.name}",
            *(_metric(name, system.scores[where].get(name)) for name in names),
        )
        for where in results.sets
        for system in results.systems
        if where in system.scores
    ]
    head = ("set and system", *map(metric_name, names))
    percent = "" if IN_BITS & {*names} else ", in percent"
    return Table(f"All metrics{percent}", head, tuple(rows))


def _metric(name: str, value: float | None) -> str:
    return units.significant(value) if name in IN_BITS else units.points(value)


def speed_table(results: Metrics) -> Table | None:
    """Every timed model; scores are left out, since the reference shape has none."""
    if not results.timed:
        return None
    timed = results.timed
    rows = []
    for system in timed:
        latency = system.latency
        assert latency is not None
        own = system if isinstance(system, System) else None
        if own is results.teacher:
            own = None
        row = [
            system.name + (" (random weights)" if isinstance(system, Reference) else ""),
            units.size(system.bytes),
            *_quantiles(system),
            *(units.milliseconds((latency.batch_ms or {}).get(key)) for key in QUANTILES),
            units.count(latency.queries_per_second),
            units.size(latency.peak_rss_bytes),
        ]
        for other in (results.teacher, results.reference):
            if other is not None:
                row += [
                    units.ratio(smaller(own, other) if own else None),
                    units.ratio(faster(own, other) if own else None),
                ]
        rows.append(tuple(row))
    groups = [("", 2), ("one text, ms", 3), ("one batch, ms", 3), ("", 2)]
    head = ["model", "file", *QUANTILES, *QUANTILES, "texts/s", "peak memory"]
    for other, title in ((results.teacher, "than teacher"), (results.reference, "than reference")):
        if other is not None:
            groups.append((title, 2))
            head += ["smaller", "faster"]
    strong = next((i for i, s in enumerate(timed) if s is results.delivered), None)
    caption = "Size and speed in the same runtime, in the same run"
    return _without_empty(Table(caption, tuple(head), tuple(rows), tuple(groups), strong))


def _without_empty(table: Table) -> Table:
    """Leave out columns in which nothing was measured."""
    keep = [
        column
        for column in range(len(table.head))
        if column == 0 or any(row[column] != units.NOTHING for row in table.rows)
    ]
    groups, start = [], 0
    for title, columns in table.groups:
        width = sum(start <= column < start + columns for column in keep)
        start += columns
        if width:
            groups.append((title, width))
    return Table(
        table.caption,
        tuple(table.head[column] for column in keep),
        tuple(tuple(row[column] for column in keep) for row in table.rows),
        tuple(groups),
        table.strong,
        table.text,
    )


def corpus_table(results: Metrics) -> Table | None:
    """What text there was in each language, and how often it was drawn; models alike together."""
    alike: list[tuple[list[str], Mapping[str, Mapping[str, float]]]] = []
    for model, languages in results.corpus.items():
        known = next((models for models, counts in alike if counts == languages), None)
        if known is None:
            alike.append(([model], languages))
        else:
            known.append(model)
    rows = [
        (
            f"{', '.join(models)}: {language}" if len(alike) > 1 else language,
            *(units.plain(counts[key]) for key in ("lines", "bytes", "words", "pieces", "rows")),
            f"{counts['pieces'] / max(1, counts['words']):.2f}",
            units.plain(counts["unknown"]),
            units.share(counts["share"]),
        )
        for models, languages in alike
        for language, counts in languages.items()
    ]
    head = ["language", "lines", "bytes", "words", "pieces", "rows", "pieces per word"]
    head += ["unknown", "share drawn"]
    caption = "Text of the corpus, held-out parts included, and the share of what was drawn"
    return Table(caption, tuple(head), tuple(rows)) if rows else None


def drawn_table(results: Metrics) -> Table | None:
    """How many of its sentences each transfer file gave, where they are limited."""
    rows = [
        (file, units.plain(of["sentences"]), units.plain(of["drawn"]))
        for file, of in results.drawn.items()
    ]
    caption = "Transfer sentences that were drawn of each file"
    return Table(caption, ("file", "sentences", "drawn"), tuple(rows)) if rows else None


def languages_table(results: Metrics) -> Table | None:
    """The main metric by language: a column per system, with mean and deviation over languages."""
    where = results.main_set
    several = [system for system in results.systems if len(system.languages) > 1]
    tables = {system.name: system.languages for system in several}
    codes = sorted({code for row in tables.values() for code in row})
    if not codes:
        return None
    rows = [(code, *(units.points(row.get(code)) for row in tables.values())) for code in codes]
    for name, of in (("mean", fmean), ("standard deviation", stdev)):
        rows.append((name, *(units.points(of(row.values())) for row in tables.values())))
    caption = f"{metric_name(results.metric)} by language on {set_name(where)}"
    return Table(caption, ("language", *tables), tuple(rows))


def labels_table(results: Metrics) -> Table | None:
    """Precision, recall and F1 by label of the delivered model, beside the teacher's F1."""
    where, delivered, teacher = results.main_set, results.delivered, results.teacher
    own, other = delivered.labels, teacher.labels if teacher else {}
    if not own:
        return None
    rows = []
    for label, scores in sorted(own.items(), key=lambda item: (-_support(item[1]), item[0])):
        row = [label, units.count(scores.get("support"))]
        row += [units.points(scores.get(key)) for key in ("precision", "recall", "f1")]
        if other:
            base = other.get(label, {}).get("f1")
            f1 = scores.get("f1")
            gap = None if base is None or f1 is None else f1 - base
            row += [units.points(base), units.signed(gap)]
        rows.append(tuple(row))
    head = ["label", "examples", "precision", "recall", "F1"]
    if other:
        head += ["teacher F1", "difference"]
    return Table(f"{delivered.name} by label on {set_name(where)}", tuple(head), tuple(rows))


def unknown_table(results: Metrics) -> Table | None:
    """Labels of the sets that train does not have, and how often each set has them."""
    sets = list(results.unknown_labels)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name, outputs in results.unknown_labels.items():
        for output, labels in outputs.items():
            for label, count in labels.items():
                found.setdefault((output, label), {})[name] = count
    rows = [
        (label, words(output), *(units.plain(counts.get(name, 0)) for name in sets))
        for (output, label), counts in found.items()
    ]
    caption = "Labels that train does not have: each is a miss in every score"
    head = ("label", "kind", *map(set_name, sets))
    return Table(caption, head, tuple(rows), text=(1,)) if rows else None


def _support(scores: Mapping[str, Any]) -> float:
    return float(scores.get("support") or 0)


def phases_table(results: Metrics) -> Table | None:
    """What each stage and unfrozen layer group gave, as in XtremeDistil's Table 4."""
    phases = results.phases.get(results.delivered.model, ())
    if len(phases) < 2:
        return None
    metric = metric_name(results.metric)
    rows = []
    for phase in phases:
        stage, _, group = phase.name.partition(".")
        monitored = results.monitors.get(stage, "metric") == "loss"
        rows.append(
            (
                stage,
                group or "all at once",
                units.plain(phase.updates),
                f"{phase.best:.4g}" if monitored else units.NOTHING,
                units.points(phase.score),
            )
        )
    head = ("stage", "unfrozen", "updates", "held-out loss", f"{metric} on dev")
    return Table("After each stage and layer group", head, tuple(rows), text=(1,))


def clock_table(results: Metrics) -> Table | None:
    """Wall-clock time of each step."""
    clock = results.wall_clock_s
    if not clock:
        return None
    rows = [(words(name), units.duration(seconds)) for name, seconds in clock.items()]
    if len(rows) > 1 and "total" not in clock:
        rows.append(("total", units.duration(sum(clock.values()))))
    return Table("Wall-clock time", ("step", "time"), tuple(rows))
