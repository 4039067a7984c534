"""Models of the same names in runs on different tasks: one table, and whether one is better."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from tfdistil.errors import RunError
from tfdistil.report.units import NOTHING
from tfdistil.runs.run_metrics import Metrics, finished_metrics

LEVEL = 0.05
"""The p below which a difference is usually believed."""


def over_tasks(
    folders: Sequence[Path], model: str | None = None, against: str | None = None
) -> str:
    """A Markdown table: models in rows, the test score of each run in columns, and their mean.

    Args:
        folders: finished runs whose models have the same names, such as ``pre`` and ``post``; a run
            without a test set gives its score on dev.
        model: is tested against the next, by Wilcoxon's signed-rank test over the runs; None: what
            the first run delivers.
        against: None: nothing is tested.

    Raises:
        RunError: a run that is not finished, two of one name, or a model that is not in all runs.
    """
    runs: dict[str, Metrics] = {}
    for folder in folders:
        found = finished_metrics(folder)
        if found.name in runs:
            raise RunError(f"{folder}: another run is called {found.name!r}, too; name its recipe")
        runs[found.name] = found
    scores = {name: _scores(run) for name, run in runs.items()}
    models = list(dict.fromkeys(one for of in scores.values() for one in of))
    head = [
        "model",
        *(f"{name} ({run.metric}, {run.main_set})" for name, run in runs.items()),
        "mean",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for one in models:
        row = [of.get(one) for of in scores.values()]
        known = [score for score in row if score is not None]
        cells = [NOTHING if score is None else f"{score:.1f}" for score in row]
        mean = f"{statistics.fmean(known):.1f}" if len(known) == len(row) else NOTHING
        lines.append("| " + " | ".join([one, *cells, mean]) + " |")
    if len({run.metric for run in runs.values()}) > 1:
        lines += ["", "The mean is over different metrics."]
    if against is not None:
        lines += ["", _tested(scores, model or next(iter(runs.values())).main, against)]
    return "\n".join(lines)


def _scores(run: Metrics) -> dict[str, float]:
    last = run.main_set
    return {s.id: s.scores[last][run.metric] for s in run.systems if last in s.scores}


def _tested(scores: Mapping[str, Mapping[str, float]], model: str, against: str) -> str:
    """Wilcoxon's signed-rank test, one-sided: is the model better over the runs?"""
    from scipy.stats import wilcoxon

    for name, of in scores.items():
        for one in (model, against):
            if one not in of:
                raise RunError(
                    f"{name}: no model {one!r}; it has {', '.join(of)}, of which --model and "
                    "--against take one with --tasks"
                )
    # Rounded, so that 0.3 and 0.3 have one rank however they came about in binary.
    gains = [round(of[model] - of[against], 9) for of in scores.values()]
    won = f"better in {sum(gain > 0 for gain in gains)} of {len(gains)}"
    text = f"{model} against {against}: {won}, median gain {statistics.median(gains):+.1f}; "
    if not any(gains):
        return text + "no difference to test"
    p = float(wilcoxon(gains, alternative="greater").pvalue)
    least = 0.5 ** sum(gain != 0 for gain in gains)
    few = f", which of so few runs has p = {least:g} at the least" if least > LEVEL else ""
    return text + f"Wilcoxon's signed-rank test that it is better over all{few}: p = {p:.3f}"
