"""From a recipe to a finished run folder, step by step, and on from wherever it stopped.

The steps and what they make::

    models/NAME/   each model of the recipe's plan, after those it needs; phases/ has its weights
                   after each phase, cache/ the signals of its teacher
    NAME.tflite, checkpoints/NAME/   what is delivered
    metrics.json, report.html, MODEL_CARD.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tfdistil.allocator import keep_freed_memory
from tfdistil.console.screen import Screen
from tfdistil.corpus.held_out import sets_of
from tfdistil.corpus.loading import load_corpus
from tfdistil.corpus.transfer import describe_drawn
from tfdistil.data.unscored import unscored_labels
from tfdistil.distill.bound_stage import bind_stage
from tfdistil.distill.optimizer import check_rates
from tfdistil.distill.precision import check_precision
from tfdistil.errors import RecipeError
from tfdistil.evaluation.concerns import small_sets
from tfdistil.files import new_folder
from tfdistil.models.checks import (
    check_int8,
    check_models,
    check_tables,
    check_taught,
    plain_students,
)
from tfdistil.models.graph import Models
from tfdistil.models.record import ModelRecord, save_model
from tfdistil.pipeline.anchor import score_anchor
from tfdistil.pipeline.shorthands import schedule_of, train_shorthands
from tfdistil.printable import listed
from tfdistil.recipe.recipe import Recipe
from tfdistil.recipe.schema.models import EncoderSpec
from tfdistil.recipe.schema.tuning import FineTuneSpec
from tfdistil.runs.changed_data import file_hashes, refuse_changed_data
from tfdistil.runs.folder import ANCHOR, RunFolder, model_step
from tfdistil.runs.run import Run
from tfdistil.runs.run_metrics import Metrics
from tfdistil.tasks import describe_unknown


def run(
    recipe: Recipe, out: str | Path, base: Path | None = None, screen: Screen | None = None
) -> Metrics:
    """Do everything a recipe asks for that is not done yet.

    Args:
        recipe: see `tfdistil.recipe.recipe`.
        out: the run folder; an unfinished run of the same recipe goes on. Where ``export`` or
            ``benchmark`` of a finished one have changed, what depends on them is done again.
        base: what relative paths in the recipe are relative to; the working directory if None.
        screen: where progress is shown.

    Returns:
        All that was measured, as ``metrics.json`` holds it.

    Raises:
        TfdistilError: whatever is wrong with the recipe, the data, the checkpoint or the folder.
    """
    keep_freed_memory()
    screen = screen or Screen()
    base = (base or Path()).resolve()
    keras.utils.set_random_seed(recipe.seed)
    folder = RunFolder(out, recipe)
    screen.line(f"{recipe.name}: {recipe.task.kind}, seed {recipe.seed}, into {out}")
    with screen, folder.alone():
        refuse_changed_data(folder, base)
        folder.adopt_recipe()
        folder.remember(base=str(base))
        check_models(recipe, base)
        corpus = load_corpus(recipe, base, screen.counter)
        folder.remember(sources=file_hashes(corpus.files, base))
        counts = (f"{n.replace('_', ' ')} {count:,}" for n, count in corpus.counts.items())
        screen.line("  " + ", ".join(counts))
        for line in describe_drawn(corpus.drawn):
            screen.line(f"  {line}")
        for name, found in corpus.unknown_labels.items():
            listed = describe_unknown(found)
            screen.line(f"  {name} has labels that train has not, each is a miss: {listed}")
        held_out = (*corpus.dev, *corpus.test)
        for line in unscored_labels(corpus.train, held_out, corpus.task.learns_from):
            screen.line(f"  {line}")
        for few in small_sets(corpus.task, corpus.score_sets()):
            screen.line(f"  {few}")
        plan = recipe.plan()
        if unused := [name for name in recipe.models if name not in plan]:
            screen.line(f"  models that nothing needs are not made: {', '.join(unused)}")
        work = Run(folder, corpus, screen)
        untrained = {} if any(map(work.is_trained, plan)) else check_stages(work)
        if recipe.anchor is not None:
            folder.once(ANCHOR, partial(score_anchor, work, recipe.anchor))
        for name in plan:
            folder.once(model_step(name), partial(train_model, work, name, untrained))
        return _deliver(work)


def _deliver(work: Run) -> Metrics:
    from tfdistil.pipeline.finalize import deliver

    return deliver(work)


def train_model(
    work: Run, name: str, untrained: MutableMapping[str, ModelRecord] | None = None
) -> dict[str, Any]:
    """Make a model as the recipe says, train it through its stages and save it.

    Args:
        work: the models that it needs are trained.
        name: of the model.
        untrained: models that are made already; this one is taken out, so that it can be freed.
    """
    work.screen.line(name)
    made = {name: untrained.pop(name)} if untrained and name in untrained else {}
    models = Models(work.recipe, work.corpus, work.base, _trained(work), made)
    record = models[name]
    for fact, count in record.facts.items():
        work.screen.line(f"  {fact.replace('_', ' ')} {count:,}")
    facts: dict[str, Any] = {
        "parameters": record.model.count_params(),
        "inputs": record.facts,
    }
    trained, begun = _trained_before(work, name, record), _head_weights(record)
    schedule = schedule_of(work, models, name)
    facts |= train_shorthands(work, name, record, schedule)
    schedule.run(work.recipe.stages_of(name))
    facts["corpus"] = schedule.corpus_counts or facts.get("corpus", {})
    facts["phases"] = [asdict(result) for result in schedule.done.get(name, [])]
    for signal, weights in _head_weights(record).items():
        if not all(map(np.array_equal, weights, begun[signal])):
            trained.add(signal)
    facts["trained_heads"] = sorted(trained)
    read = {f"{work.recipe.head_of(name)}/{output}" for output in work.corpus.task.reads}
    wanted = name in _must_answer(work.recipe)
    facts["answers"] = _scores(work, name, record) and (wanted or read <= trained)
    with new_folder(work.folder.path / model_step(name)) as target:
        save_model(record, work.corpus.task, target)
    return facts


def _scores(work: Run, name: str, record: ModelRecord) -> bool:
    """Whether a model's head scores the task, as that of a masked language model does not."""
    return work.corpus.task.reads <= set(record.model.outputs_of(work.recipe.head_of(name)))


def _trained_before(work: Run, name: str, record: ModelRecord) -> set[str]:
    """The heads that a model has of others, or of a checkpoint, and that had been trained."""
    if sources := work.recipe.sources_of(name):
        facts = [work.folder.facts(model_step(one)) for one in sources]
        heads = record.model.head_layers  # of older runs that do not say
        return set.intersection(*({*own.get("trained_heads", heads)} for own in facts))
    report = getattr(record.model, "load_report", None)
    return set() if report is None else {*record.model.head_layers} - {*report.fresh_heads}


def _head_weights(record: ModelRecord) -> dict[str, list[np.ndarray]]:
    """What scores, by signal; an assistant's, say, is as it began when its training is over."""
    return {
        signal: [np.copy(keras.ops.convert_to_numpy(weight)) for weight in layer.weights]
        for signal, layer in record.model.head_layers.items()
    }


def _must_answer(recipe: Recipe) -> list[str]:
    """What is fine-tuned, becomes a file, is a baseline, or has the scores that are reported."""
    files = [name for name, spec in recipe.deliveries.items() if spec.tflite is not False]
    wanted = {recipe.main, *files, *recipe.baselines()}
    entries = recipe.entries
    return [n for n in recipe.plan() if n in wanted or getattr(entries[n], "fine_tune", False)]


def _trained(work: Run) -> Callable[[str], ModelRecord | None]:
    return lambda name: work.model(name) if work.is_trained(name) else None


def check_stages(
    work: Run, made: Mapping[str, ModelRecord] | None = None
) -> dict[str, ModelRecord]:
    """Find out what the schedule asks for in vain now, not after hours of fine-tuning.

    Args:
        work: nothing is written to its folder.
        made: models that are made already, trained or not.

    Returns:
        The encoders of the recipe as they are before training.

    Raises:
        RecipeError: a model or a stage that does not fit, see `bind_stage`, or a run whose
            scores no model gives.
    """
    models = Models(plain_students(work.recipe), work.corpus, work.base, made=made)
    check_tables(work.recipe, models, work.corpus, work.base)
    for name in work.recipe.plan():
        models[name]
    for name in _must_answer(work.recipe):
        if not _scores(work, name, models[name]):
            raise RecipeError(
                f"models.{name} is fine-tuned or delivered for the task, but its head "
                f"{work.recipe.head_of(name)!r} does not score it; give it one that scores "
                f"{listed(sorted(work.corpus.task.reads))}, first of its heads"
            )
        check_int8(work.recipe, name, models[name].model)
    sets, task = sets_of(work.recipe, work.corpus), work.corpus.task
    for name in work.recipe.plan():
        if isinstance(tuned := getattr(work.recipe.entries[name], "fine_tune", None), FineTuneSpec):
            model, place = models[name].model, f"models.{name}.fine_tune"
            check_rates(tuned.rates, model, f"{place}.rates")
            check_precision(tuned.precision, model, f"{place}.precision")
        for stage in work.recipe.stages_of(name):
            bound = bind_stage(stage, models, sets, task, work.recipe.head_of(name))
            if stage.teacher is not None:
                read = {signal for term in bound.terms for signal in term.teacher}
                read.update(bound.drawn_by)
                for teacher in work.recipe.members_of(stage.teacher):
                    check_taught(work.recipe, teacher, models, read)
    specs = work.recipe.entries
    return {name: one for name, one in models.items() if isinstance(specs[name], EncoderSpec)}
