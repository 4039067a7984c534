"""Runs of one recipe with several seeds as one table: mean ± standard deviation."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from tfdistil.errors import RunError
from tfdistil.report.units import NOTHING
from tfdistil.runs.run_metrics import finished_metrics


def over_seeds(folders: Sequence[Path]) -> str:
    """A Markdown table: systems in rows; score and share of the teacher's per set in columns.

    The share is taken within each run, against the teacher of the same seed. The deviation is that
    of the sample (n - 1); a single run has none.

    Args:
        folders: finished runs that differ in nothing but the seed.

    Raises:
        RunError: a run that is not finished, runs of different recipes, or a seed twice.
    """
    runs = [finished_metrics(folder) for folder in folders]
    first = runs[0]
    for folder, run in zip(folders, runs, strict=True):
        for key in ("name", "metric", "task"):
            own, other = getattr(run, key), getattr(first, key)
            if own != other:
                raise RunError(
                    f"{folder}: {key} is {own!r}, but {other!r} in {folders[0]}; only runs of one "
                    "recipe have a mean"
                )
    seeds = [run.seed for run in runs]
    if len(set(seeds)) < len(seeds):
        raise RunError(f"the seeds are {', '.join(map(str, seeds))}; each may occur once")
    metric, sets = first.metric, first.sets
    head = ["system", *(cell for name in sets for cell in (name, "of teacher"))]
    lines = [
        f"{first.name}: {metric}, seeds {', '.join(map(str, seeds))}",
        "",
        "| " + " | ".join(head) + " |",
        "|---|" + "---:|" * (len(head) - 1),
    ]
    for folder, run in zip(folders, runs, strict=True):
        here, there = ([(s.id, s.name) for s in of.systems] for of in (run, first))
        if here != there or run.sets != sets:
            raise RunError(
                f"{folder}: other systems or sets than in {folders[0]}; only runs of one recipe "
                "have a mean"
            )
    for same in zip(*(run.systems for run in runs), strict=True):
        cells = [same[0].name]
        for name in sets:
            scores = [one.scores[name][metric] for one in same]
            shares = [one.retention[name] for one in same if name in one.retention]
            cells += [_spread(scores), f"{_spread(shares)} %" if shares else NOTHING]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _spread(values: Sequence[float]) -> str:
    mean = f"{statistics.fmean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.1f}"
