"""Runs against others, their own teacher or a light model, on the same sentences: gain and luck."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tfdistil.anchors.kinds import ANCHORS, Anchor, train_anchor
from tfdistil.data.example import Example
from tfdistil.errors import RunError
from tfdistil.evaluation.comparison import Predictions, stored_predictions
from tfdistil.evaluation.concerns import ABOVE
from tfdistil.metrics.bootstrap import Statistics, paired_bootstrap
from tfdistil.metrics.tables import rows_by_language
from tfdistil.recipe.systems import SystemId, files_of, main_of, models_of, teacher_of
from tfdistil.runs.folder import EVALUATIONS
from tfdistil.runs.run import Run, open_run

HEAD = "| set | sentences | against | here | gain | 95 % interval | of it | 95 % interval |"


@dataclass(frozen=True)
class _Side:
    """What sentences add to a metric, by set and by language in it; means over runs."""

    metric: str
    examples: Mapping[str, tuple[Example, ...]]
    statistics: Mapping[str, Statistics]


def over_sentences(
    folders: Sequence[Path], against: Sequence[Path | str], system: str | None = None
) -> str:
    """A Markdown table: per set the mean score of both sides, the gain, and what is kept.

    A set in several languages has a row for each, too.

    The intervals are those of the paired bootstrap over sentences (`paired_bootstrap`): what each
    sentence adds to the metric is averaged over the runs of a side, so runs with several seeds are
    one system. The luck of the seeds is not in the interval; `over_seeds` shows that.

    Args:
        folders: finished runs.
        against: other finished runs on the same sentences, or one system of the same runs, such
            as ``teacher``, ``baseline`` or ``student.tflite``, or one of `ANCHORS`.
        system: whose answers of ``folders`` count, and of the other runs too; None: what each run
            delivers first.

    Raises:
        RunError: a run that is not finished or has no such system, or other sentences.
    """
    runs = _open(folders)
    recipe = runs[0].recipe
    own = {str(one) for one in (*models_of(recipe), *files_of(recipe))}
    other = str(against[0]) if len(against) == 1 and str(against[0]) in own else None
    here = _side(runs, partial(_stored, system))
    anchors: dict[tuple[Example, ...], Anchor] = {}
    if other is None and len(against) == 1 and str(against[0]) in ANCHORS:
        there = _side(runs, partial(_trained, str(against[0]), anchors))
        title = f"{against[0]}: {next(iter(anchors.values()))}"
    else:
        if other is None and not Path(against[0]).exists():
            raise RunError(
                f"{against[0]}: not a run folder, and {folders[0]} has no such model; it has "
                f"{', '.join(sorted(own))}, and {', '.join(ANCHORS)} can be trained now"
            )
        there = _side(runs if other else _open(against), partial(_stored, other or system))
        title = other or ", ".join(map(str, against))
    if here.metric != there.metric or _differ(here.examples, there.examples):
        raise RunError(f"{folders[0]} and {against[0]} do not have the same dev and test sentences")
    others = [name for name in recipe.deliveries if name != recipe.main]
    hint = f" (--model also takes {', '.join(others)})" if others and not system else ""
    lines = [
        f"{here.metric}, {system or main_of(recipe)} against {title}{hint}",
        "",
        HEAD,
        "|---|" + "---:|" * 7,
    ]
    above, is_teacher = False, other is not None and other == teacher_of(main_of(recipe), recipe)
    for name, statistics in here.statistics.items():
        if not _have_alike(name, here, there):
            continue
        found = paired_bootstrap(there.statistics[name], statistics)
        cells = [
            name,
            str(len(statistics.sums)),
            f"{found.first:.1f}",
            f"{found.second:.1f}",
            f"{found.difference:+.1f}",
            f"{found.low:+.1f} to {found.high:+.1f}",
            f"{found.retention:.1f} %",
            f"{found.retention_low:.1f} to {found.retention_high:.1f} %",
        ]
        lines.append("| " + " | ".join(cells) + " |")
        above = above or (is_teacher and found.retention > 100)
    if above:
        lines += ["", ABOVE]
    return "\n".join(lines)


def _open(folders: Sequence[Path | str]) -> list[Run]:
    return [open_run(folder, labelled_only=True) for folder in folders]


def _side(runs: Sequence[Run], answers: Callable[[Run], Predictions]) -> _Side:
    metric = ""
    examples: dict[str, tuple[Example, ...]] = {}
    found: list[dict[str, Statistics]] = []
    for run in runs:
        folder, task = run.folder.path, run.corpus.task
        sets = {name: _gold(rows) for name, rows in run.corpus.score_sets().items()}
        if found and _differ(sets, examples):
            first = runs[0].folder.path
            raise RunError(f"{folder} and {first} do not have the same dev and test sentences")
        if found:  # what all runs so far have alike
            sets = {name: rows for name, rows in sets.items() if examples.get(name) == rows}
        metric, examples, given = task.metric, sets, answers(run)
        found.append({name: task.statistics(sets[name], given[name]) for name in sets})
    means = {
        name: Statistics(one.metric, np.mean([of[name].sums for of in found], axis=0))
        for name, one in found[0].items()
        if name in examples
    }
    by_language = {}
    for name, one in means.items():
        by_language[name] = one
        rows = rows_by_language([example.language for example in examples[name]])
        if len(rows) > 1:
            for code, own in rows.items():
                by_language[f"{name}, {code}"] = Statistics(one.metric, one.sums[own])
    return _Side(metric, examples, by_language)


_Examples = Mapping[str, tuple[Example, ...]]


def _differ(one: _Examples, other: _Examples) -> bool:
    """Of dev and test; what train has of test differs with train."""
    return any(one.get(name) != other.get(name) for name in ("dev", "test"))


def _have_alike(name: str, here: _Side, there: _Side) -> bool:
    """Whether a row, which is a set or a language in it, is of the same sentences."""
    of = name.partition(", ")[0]
    return here.examples[of] == there.examples.get(of)


def _stored(system: str | None, run: Run) -> Predictions:
    chosen = main_of(run.recipe) if system is None else SystemId.parse(system)
    done = [step for step in EVALUATIONS if run.folder.is_done(step)]
    scored = [id for step in done for id in run.folder.facts(step)["systems"]]
    if str(chosen) not in scored:
        there = f"there are those of {', '.join(scored)}" if scored else "the run is not finished"
        raise RunError(f"{run.folder.path}: no answers of {chosen}; {there}")
    return stored_predictions(run, chosen)


def _trained(name: str, anchors: dict[tuple[Example, ...], Anchor], run: Run) -> Predictions:
    """Answers of an anchor; runs with the same train set share one, kept in ``anchors``."""
    gold = _gold(run.corpus.train)
    if gold not in anchors:
        anchors[gold] = train_anchor(name, run.corpus.task, gold, run.recipe.seed)
    sets = run.corpus.score_sets()
    return {name: anchors[gold].predict(examples) for name, examples in sets.items()}


def _gold(examples: Sequence[Example]) -> tuple[Example, ...]:
    """Words and labels alone: the same sentence may have come from another place."""
    return tuple(
        Example(e.words, tags=e.tags, label=e.label, second=e.second, language=e.language)
        for e in examples
    )
