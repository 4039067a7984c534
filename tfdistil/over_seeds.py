"""Runs of one recipe with several seeds as one table: mean ± standard deviation."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfdistil.errors import RunError
from tfdistil.files import read_json


def over_seeds(folders: Sequence[Path]) -> str:
    """A Markdown table: systems in rows; score and share of the teacher's per set in columns.

    The share is taken within each run, against the teacher of the same seed. The deviation is that
    of the sample (n - 1); a single run has none.

    Args:
        folders: finished runs that differ in nothing but the seed.

    Raises:
        RunError: a run that is not finished, runs of different recipes, or a seed twice.
    """
    runs = [_metrics(folder) for folder in folders]
    first = runs[0]
    for folder, run in zip(folders, runs, strict=True):
        for key in ("name", "metric", "task"):
            if run[key] != first[key]:
                raise RunError(
                    f"{folder}: {key} is {run[key]!r}, but {first[key]!r} in {folders[0]}; only "
                    "runs of one recipe have a mean"
                )
    seeds = [run["seed"] for run in runs]
    if len(set(seeds)) < len(seeds):
        raise RunError(f"the seeds are {', '.join(map(str, seeds))}; each may occur once")
    metric = first["metric"]
    sets = list(first["systems"][0]["scores"])
    head = ["system", *(cell for name in sets for cell in (name, "of teacher"))]
    lines = [
        f"{first['name']}: {metric}, seeds {', '.join(map(str, seeds))}",
        "",
        "| " + " | ".join(head) + " |",
        "|---|" + "---:|" * (len(head) - 1),
    ]
    for number, system in enumerate(first["systems"]):
        cells = [system["name"]]
        for name in sets:
            scores = [run["systems"][number]["scores"][name][metric] for run in runs]
            teachers = [run["systems"][0]["scores"][name][metric] for run in runs]
            shares = [100 * s / t if t else 0.0 for s, t in zip(scores, teachers, strict=True)]
            cells += [_spread(scores), _spread(shares) + " %"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _metrics(folder: Path) -> dict[str, Any]:
    file = folder / "metrics.json"
    if not file.is_file():
        raise RunError(f"{folder}: no metrics.json; give folders of finished runs")
    return read_json(file)


def _spread(values: Sequence[float]) -> str:
    mean = f"{statistics.fmean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.1f}"
