"""Many runs of one recipe: each teacher is trained once, finished points are not run again.

A sweep folder has a run folder for every point, ``sweep.json`` (which folder is which point), and
``sweep.csv`` and ``sweep.html`` over all points that are finished.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import keras

from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import Corpus, load_corpus
from tfdistil.errors import RunError, TfdistilError
from tfdistil.files import sha256
from tfdistil.models.checks import check_models
from tfdistil.models.graph import Models
from tfdistil.models.record import ModelRecord
from tfdistil.pipeline.run import check_stages, run
from tfdistil.recipe.loading import look_up
from tfdistil.recipe.recipe import Recipe
from tfdistil.report.sweep_table import Entry
from tfdistil.runs.changed_data import file_hashes, refuse_changed_data
from tfdistil.runs.folder import RunFolder, model_step
from tfdistil.runs.model_sharing import model_keys, shared_models, take_model, take_signals
from tfdistil.runs.run import Run
from tfdistil.runs.run_metrics import Metrics
from tfdistil.sweep.points import Plan, Point, record_points, recorded_points

_FINISHED = ("metrics.json", "report.html", "MODEL_CARD.md")


@dataclass(frozen=True)
class Swept:
    """What a sweep has.

    Attributes:
        entries: the finished points, those of earlier commands included.
        failed: point name to the error that ended its run.
    """

    entries: tuple[Entry, ...]
    failed: dict[str, str]

    def check(self) -> None:
        """Do nothing if no point failed.

        Raises:
            RunError: the first error of those that did, and what to do.
        """
        for name, error in self.failed.items():
            raise RunError(
                f"{', '.join(self.failed)} failed; {name}: {error}\n"
                "Once the cause is fixed, the same command runs what is missing"
            )


def sweep(plan: Plan, out: str | Path, screen: Screen | None = None) -> Swept:
    """Run every point of a plan that is not finished, and write the table and the page.

    Finished points whose ``export`` or ``benchmark`` have changed are delivered again, so that the
    table compares like with like.

    All points are checked against their teachers, as they are before training, before the first one
    is run. A point that fails does not keep the others from running.

    Args:
        plan: see `tfdistil.sweep.points.plan_sweep`.
        out: folder of the sweep.
        screen: where progress is shown.

    Raises:
        TfdistilError: a point whose stages do not fit its models, data that cannot be read or has
            changed, or a folder that was started with another recipe; nothing has been trained
            then.
    """
    screen, out = screen or Screen(), Path(out)
    folders = _claim(plan, out)
    finished = {name for name in folders if _is_finished(out / name)}
    again = {name for name in finished if folders[name].outdated()}
    todo = [p for p in plan.points if p.name in (plan.wanted - finished) | again]
    screen.line(f"{len(plan.wanted)} points into {out}, {len(todo)} to run")
    failed: dict[str, str] = {}
    sources = _check(plan, folders, {point.name for point in todo}, screen) if todo else {}
    try:
        for number, point in enumerate(todo, 1):
            screen.line(f"\n{point.name} ({number} of {len(todo)})")
            _take(out / point.name, sources[point.name])
            try:
                run(plan.recipes[point.name], out / point.name, plan.base, screen)
            except TfdistilError as error:
                failed[point.name] = str(error)
                screen.line(f"  failed: {error}")
            # What the models of a point leave behind in Keras must not add up over many points.
            keras.utils.clear_session()
            write_results(out)
    except KeyboardInterrupt:
        done = sum(_is_finished(out / name) for name in plan.wanted)
        screen.line(f"{done} of {len(plan.wanted)} points are finished; the same command goes on")
        raise
    return Swept(write_results(out), failed)


def _claim(plan: Plan, out: Path) -> dict[str, RunFolder]:
    """The run folders of all points; those that are there first, since they may refuse."""
    there = {point.name for point in recorded_points(out)}
    names = sorted(plan.recipes, key=lambda name: name not in there)
    folders = {name: RunFolder(out / name, plan.recipes[name]) for name in names if name in there}
    digest = cache(sha256)  # points have their data in common
    for folder in folders.values():
        refuse_changed_data(folder, plan.base, digest=digest)
    record_points(out, plan.points)
    for name in names:
        if name not in there:
            folders[name] = RunFolder(out / name, plan.recipes[name])
    return folders


def _is_finished(folder: Path) -> bool:
    return all((folder / name).exists() for name in _FINISHED)


class _Last:
    """Keeps the last thing that was made, and what it was made for."""

    def __init__(self) -> None:
        self.key: Any = None
        self.value: Any = None

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        if key != self.key:
            self.value = None  # two large corpora at once are one too many
            self.key, self.value = key, make()
        return self.value


def _check(
    plan: Plan, folders: dict[str, RunFolder], todo: set[str], screen: Screen
) -> dict[str, list[tuple[Path, str]]]:
    """Check every point that is to be run; returns the runs and models that each may take over."""
    corpora, encoders = _Last(), _Last()
    keys: dict[Path, dict[str, str]] = {}

    def read(recipe: Recipe, path: Path) -> Corpus:
        own = [recipe.models[name] for name in shared_models(recipe)]
        data = (recipe.data, recipe.task, recipe.seed, own)
        corpus = corpora.get(data, lambda: load_corpus(recipe, plan.base, screen.counter))
        keys[path] = model_keys(recipe, corpus, plan.base)
        return corpus

    for name in todo:
        try:
            check_models(plan.recipes[name], plan.base)
        except TfdistilError as error:
            raise type(error)(f"{name}: {error}") from None
    if plan.source is not None:
        source = RunFolder(plan.source)
        refuse_changed_data(source, plan.base)
        read(source.recipe, plan.source)
    for name, folder in folders.items():
        corpus = read(plan.recipes[name], folder.path)
        unfinished = not all(map(folder.is_done, map(model_step, plan.recipes[name].plan())))
        if name in todo and unfinished:
            sources = file_hashes(corpus.files, plan.base)
            folder.remember(base=str(plan.base.resolve()), sources=sources)
            work = Run(folder, corpus, screen)
            models = Models(work.recipe, corpus, plan.base)
            made = encoders.get(keys[folder.path], partial(_fresh, models, keys[folder.path]))
            try:
                check_stages(work, made)
            except TfdistilError as error:
                raise type(error)(f"{name}: {error}") from None
    found = {key for name in todo for key in keys[folders[name].path].values()}
    screen.line(f"  {_count(len(found))} for them")
    return {
        name: [
            (path, model)
            for path, others in keys.items()
            for model, key in keys[own].items()
            if path != own and others.get(model) == key
        ]
        for name in todo
        for own in [folders[name].path]
    }


def _fresh(models: Models, names: Iterable[str]) -> dict[str, ModelRecord]:
    return {name: models.fresh(name) for name in names}


def _count(teachers: int) -> str:
    return "one teacher" if teachers == 1 else f"{teachers} teachers"


def _take(path: Path, sources: list[tuple[Path, str]]) -> None:
    """Take over models and what was made of them from the runs that have them."""
    target = RunFolder(path)
    for other, model in sources:
        source = RunFolder(other)
        if source.is_done(model_step(model)):
            take_model(source, target, model)
            take_signals(source, target, model)


def write_results(out: Path) -> tuple[Entry, ...]:
    """Write ``sweep.csv`` and ``sweep.html`` of a sweep folder; returns the finished points."""
    from tfdistil.report import write_sweep_report

    points = [point for point in recorded_points(out) if _is_finished(out / point.name)]
    trees = [RunFolder(out / point.name).recipe.model_dump(mode="json") for point in points]
    keys = list(dict.fromkeys(a.partition("=")[0] for p in points for a in p.assignments))
    # Whole stages in a cell help nobody: the name of a variant stands for them.
    keys = [key for key in keys if not any(_has_parts(look_up(tree, key)) for tree in trees)]
    entries = tuple(
        _entry(point, tree, Metrics.load(out / point.name), keys)
        for point, tree in zip(points, trees, strict=True)
    )
    write_sweep_report(entries, out)
    return entries


def _entry(point: Point, tree: Mapping[str, Any], results: Metrics, keys: list[str]) -> Entry:
    """A finished point; what it does not assign is as its recipe, the tree, says."""
    assigned = dict(text.partition("=")[::2] for text in point.assignments)
    values = {key: assigned.get(key, _plain(look_up(tree, key))) for key in keys}
    return Entry(point.name, point.label, values, results)


def _has_parts(value: Any) -> bool:
    """Whether a value is a mapping or a list of mappings."""
    return isinstance(value, Mapping) or (
        isinstance(value, list) and any(isinstance(part, Mapping) for part in value)
    )


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)
