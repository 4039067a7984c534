"""The stages that an entry of ``models`` asks for by itself, without a list of them.

A checkpoint is fine-tuned, a model from scratch is pre-trained on text first, a baseline learns the
labels for as many updates as the model that it is the baseline of. Each is a stage of a schedule
like those of ``distill``, so it is resumed, logged and shown as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from tfdistil.console.screen import ProgressBar
from tfdistil.corpus.held_out import mlm_sets, sets_of
from tfdistil.distill.fine_tuning import fine_tune
from tfdistil.distill.optimizer import parts_of
from tfdistil.distill.schedule import Schedule
from tfdistil.distill.terms import label_terms
from tfdistil.models.masked_language import copy_body, with_mlm_head
from tfdistil.models.record import ModelRecord
from tfdistil.recipe.schema.models import ScratchSpec
from tfdistil.recipe.schema.stages import (
    PASSES,
    NoiseSpec,
    OptimizerSpec,
    StageSpec,
    StopSpec,
    TermSpec,
)
from tfdistil.recipe.schema.tuning import FineTuneSpec
from tfdistil.runs.run import Run


def schedule_of(work: Run, models: Mapping[str, Any], name: str) -> Schedule:
    """What trains a model of a run, with the run's sets, folder and screen."""
    screen = work.screen
    return Schedule(
        models,
        sets_of(work.recipe, work.corpus),
        work.corpus.task,
        work.folder.path,
        seed=work.recipe.seed_of(name),
        callbacks=lambda phase, updates: [ProgressBar(screen, phase, updates)],
        counter=screen.counter,
        say=screen.line,
        head=work.recipe.head_of(name),
    )


def train_shorthands(
    work: Run, name: str, record: ModelRecord, schedule: Schedule
) -> dict[str, Any]:
    """Train a model as the keys of its own entry say.

    Args:
        work: the models that it needs are trained.
        name: of the model.
        record: the model, trained in place.
        schedule: has it under that name.

    Returns:
        What the run remembers of it.
    """
    spec = work.recipe.entries[name]
    facts: dict[str, Any] = {}
    for key, train in SHORTHANDS.items():
        value = getattr(spec, key, None)
        if value is not None and value is not False:
            facts |= train(work, name, record, schedule, value)
    return facts


def _pretrain(
    work: Run, name: str, record: ModelRecord, schedule: Schedule, scratch: ScratchSpec
) -> dict[str, Any]:
    """Masked-language pre-training: one stage on a stream that is masked afresh in each pass."""
    del schedule  # it has neither the model with the other head nor the sets
    spec = scratch.pretrain
    if spec is None:
        return {}
    seed, body = work.recipe.seed_of(name), f"{name}.body"
    encoder = with_mlm_head(record, seed)
    own = Schedule(
        {body: encoder},
        mlm_sets(work.corpus, seed),
        work.corpus.task,
        work.folder.path,
        seed=seed,
        callbacks=lambda phase, updates: [ProgressBar(work.screen, phase, updates)],
        say=work.screen.line,
    )
    stage = StageSpec(
        name="pretrain",
        terms=[TermSpec(loss="masked_lm", stream="mlm", head="logits")],
        noise=[NoiseSpec(kind="masking", probability=spec.probability)],
        teacher=None,
        student=body,
        optimizer=OptimizerSpec(
            learning_rate=spec.learning_rate,
            schedule="linear",
            warmup=0.1,
            weight_decay=0.01,
            clip=1.0,
        ),
        batch_size=spec.batch_size,
        precision=spec.precision,
        stop=StopSpec(
            epochs=spec.updates,
            updates=spec.updates,
            every=max(1, spec.updates // 4),
            monitor="loss",
            on="mlm_held_out",
        ),
    )
    own.run([stage])
    copy_body(encoder.model, record.model)
    return {"corpus": own.corpus_counts}


def _fine_tune(
    work: Run, name: str, record: ModelRecord, schedule: Schedule, spec: FineTuneSpec
) -> dict[str, Any]:
    """The gold labels of train until dev stops rising."""
    del record
    passes = f"{spec.epochs} passes or " if spec.epochs else ""
    minutes = f" or {spec.minutes:g} minutes" if spec.minutes else ""
    work.screen.line(
        f"  fine-tuning until dev stops rising, {passes}{spec.updates:,} updates{minutes} at the "
        "most"
    )
    tuned = fine_tune(schedule, name, spec, work.recipe.head_of(name))
    if not tuned.flat:
        work.screen.line(
            "  the budget of fine-tuning ended before dev stopped rising: give "
            f"models.{name}.fine_tune more updates, or minutes, for a better model"
        )
    return {"fine_tune": asdict(tuned)}


def _labels_only(
    work: Run, name: str, record: ModelRecord, schedule: Schedule, trained: str
) -> dict[str, Any]:
    """As much training as another model had, on the gold labels of train alone.

    Same seed, same initial weights, same layer groups, same number of updates, the same optimizer
    as the longest stage of the other; the only difference is what it learns from. The dev metric
    selects its best weights, as often as the other's.
    """
    recipe = work.recipe
    made = Counter[str]()
    for phase in work.phases(trained):
        made[phase["name"].partition(".")[0]] += phase["updates"]
    named = {stage.name for stage in recipe.stages_of_lineage(trained)}
    stages = [stage for stage in recipe.distill if stage.name in named]
    updates = sum(made[stage.name] for stage in stages)
    longest = max(stages, key=lambda stage: made[stage.name])
    every = longest.stop.every or max(1, updates // (longest.stop.epochs or PASSES))
    head = recipe.head_of(name)
    stage = StageSpec(
        name="labels_only",
        terms=label_terms(record.model, head),
        teacher=None,
        student=name,
        groups=_groups_of(stages, record.model),
        optimizer=_optimizer_of(longest, record.model),
        batch_size=longest.batch_size,
        noise=longest.noise,
        accumulate=longest.accumulate,
        precision=longest.precision,
        stop=StopSpec(updates=updates, every=every),
    )
    schedule.run([stage])
    return {"updates": updates, "head": head}


def _groups_of(stages: Sequence[StageSpec], model: Any) -> list[str] | None:
    """The layer groups that any of the stages trains, as far as a model has them; None: all."""
    trained = [stage.groups for stage in stages]
    if None in trained:
        return None
    named = set(chain(*filter(None, trained)))
    return [name for name, _ in model.layer_groups() if name in named]


def _optimizer_of(stage: StageSpec, model: Any) -> OptimizerSpec:
    """The optimizer of a stage, with the rates of those layer groups and parts that a model has."""
    names = {name for name, _ in [*model.layer_groups(), *parts_of(model)]}
    rates = {name: rate for name, rate in stage.optimizer.rates.items() if name in names}
    return stage.optimizer.model_copy(update={"rates": rates})


SHORTHANDS: dict[str, Callable[..., dict[str, Any]]] = {
    "scratch": _pretrain,
    "fine_tune": _fine_tune,
    "baseline_of": _labels_only,
}
"""By the key of an entry of ``models``, in the order they are trained in."""
