"""From a recipe to a finished run folder, step by step, and on from wherever it stopped.

The steps and what they make::

    models/NAME/   each model of the recipe's plan, after those it needs; phases/ has its weights
                   after each phase, cache/ the signals of its teacher
    models/twin/   the student once more, trained on the labels alone
    student.tflite, metrics.json, report.html, MODEL_CARD.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import keras

from tfdistil.allocator import keep_freed_memory
from tfdistil.changed_data import file_hashes, refuse_changed_data
from tfdistil.console import ProgressBar, Screen
from tfdistil.corpus import load_corpus
from tfdistil.distill.fine_tuning import fine_tune
from tfdistil.distill.schedule import Schedule
from tfdistil.files import new_folder
from tfdistil.held_out import mlm_sets, sets_of
from tfdistil.models.checks import check_models, check_tables, plain_students
from tfdistil.models.graph import Models
from tfdistil.models.masked_language import copy_body, masking_for, with_mlm_head
from tfdistil.models.record import ModelRecord, save_model
from tfdistil.recipe import Recipe
from tfdistil.run_folder import RunFolder, model_step
from tfdistil.runs import TWIN, Run
from tfdistil.schema.models import EncoderSpec, PretrainSpec
from tfdistil.schema.stages import PASSES, OptimizerSpec, StageSpec, StopSpec, TermSpec
from tfdistil.tasks import describe_unknown


def run(
    recipe: Recipe, out: str | Path, base: Path | None = None, screen: Screen | None = None
) -> dict[str, Any]:
    """Do everything a recipe asks for that is not done yet.

    Args:
        recipe: see `tfdistil.recipe`.
        out: the run folder; an unfinished run of the same recipe goes on. Where ``export`` or
            ``benchmark`` of a finished one have changed, what depends on them is done again.
        base: what relative paths in the recipe are relative to; the working directory if None.
        screen: where progress is shown.

    Returns:
        What ``metrics.json`` holds.

    Raises:
        TfdistilError: whatever is wrong with the recipe, the data, the checkpoint or the folder.
    """
    keep_freed_memory()
    screen = screen or Screen()
    base = (base or Path()).resolve()
    keras.utils.set_random_seed(recipe.seed)
    folder = RunFolder(out, recipe)
    screen.line(f"{recipe.name}: {recipe.task.kind}, seed {recipe.seed}, into {out}")
    try:
        with screen, folder.alone():
            refuse_changed_data(folder, base)
            folder.adopt_recipe()
            folder.remember(base=str(base))
            check_models(recipe, base)
            corpus = load_corpus(recipe, base, screen.counter)
            folder.remember(sources=file_hashes(corpus.files, base))
            counts = (f"{name} {count:,}" for name, count in corpus.counts.items())
            screen.line("  " + ", ".join(counts))
            for name, found in corpus.unknown_labels.items():
                listed = describe_unknown(found)
                screen.line(f"  {name} has labels that train has not, each is a miss: {listed}")
            plan = recipe.plan()
            if unused := [name for name in recipe.models if name not in plan]:
                screen.line(f"  models that nothing needs are not made: {', '.join(unused)}")
            work = Run(folder, corpus, screen)
            untrained = {} if any(map(work.is_trained, plan)) else check_stages(work)
            for name in plan:
                folder.once(model_step(name), partial(train_model, work, name, untrained))
            if recipe.twin:
                folder.once(model_step(TWIN), lambda: train_twin(work))
            return _deliver(work)
    except KeyboardInterrupt:
        screen.line(f"\nstopped; to go on from here, give the same recipe and --out {out} again")
        raise


def _deliver(work: Run) -> dict[str, Any]:
    from tfdistil.delivery import deliver

    return deliver(work)


def _schedule(work: Run, models: dict[str, Any], seed: int) -> Schedule:
    screen = work.screen
    return Schedule(
        models,
        sets_of(work.recipe, work.corpus),
        work.corpus.task,
        work.folder.path,
        seed=seed,
        callbacks=lambda phase, updates: [ProgressBar(screen, phase, updates)],
        counter=screen.counter,
        head=work.recipe.export.head,
    )


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
    facts: dict[str, Any] = {"parameters": record.model.count_params(), "inputs": record.facts}
    spec, schedule = work.recipe.models[name], _schedule(work, models, work.recipe.seed_of(name))
    if isinstance(spec, EncoderSpec):
        facts |= _tune(work, name, spec, record, schedule)
    schedule.run(work.recipe.stages_of(name))
    facts["phases"] = [asdict(result) for result in schedule.done.get(name, [])]
    with new_folder(work.folder.path / model_step(name)) as target:
        save_model(record, work.corpus.task, target)
    return facts


def _trained(work: Run) -> Callable[[str], ModelRecord | None]:
    return lambda name: work.model(name) if work.is_trained(name) else None


def _tune(
    work: Run, name: str, spec: EncoderSpec, record: ModelRecord, schedule: Schedule
) -> dict[str, Any]:
    """The stages of an encoder that its own entry asks for: pre-training and fine-tuning."""
    if spec.scratch is not None and spec.scratch.pretrain is not None:
        _pretrain(work, name, record, spec.scratch.pretrain)
    if spec.fine_tune is False:
        return {}
    passes = f"{spec.fine_tune.epochs} passes or " if spec.fine_tune.epochs else ""
    minutes = f" or {spec.fine_tune.minutes:g} minutes" if spec.fine_tune.minutes else ""
    work.screen.line(
        f"  fine-tuning until dev stops rising, {passes}{spec.fine_tune.updates:,} updates"
        f"{minutes} at the most"
    )
    tuned = fine_tune(schedule, name, spec.fine_tune)
    if not tuned.flat:
        work.screen.line(
            "  the budget of fine-tuning ended before dev stopped rising: give "
            f"models.{name}.fine_tune more updates, or minutes, for a better teacher"
        )
    return {"fine_tune": asdict(tuned)}


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
        RecipeError: a model or a stage that does not fit, see `Schedule.check`.
    """
    models = Models(plain_students(work.recipe), work.corpus, work.base, made=made)
    check_tables(work.recipe, models["teacher"], work.base)
    schedule = _schedule(work, models, work.recipe.seed)
    for name in work.recipe.plan():
        models[name]
    for stage in work.recipe.distill:
        schedule.check(stage)
    specs = work.recipe.models
    return {name: one for name, one in models.items() if isinstance(specs[name], EncoderSpec)}


def _pretrain(work: Run, name: str, record: ModelRecord, spec: PretrainSpec) -> None:
    """Masked-language pre-training: one stage on a stream that is masked afresh in each pass."""
    seed, body = work.recipe.seed_of(name), f"{name}.body"
    encoder = with_mlm_head(record, seed)
    masking = masking_for(record, spec.probability)
    schedule = Schedule(
        {body: encoder},
        mlm_sets(work.corpus, seed),
        work.corpus.task,
        work.folder.path,
        seed=seed,
        callbacks=lambda phase, updates: [ProgressBar(work.screen, phase, updates)],
        transforms={"mlm": masking, "mlm_held_out": masking},
    )
    stage = StageSpec(
        name="pretrain",
        terms=[TermSpec(loss="masked_lm", stream="mlm", head="logits")],
        teacher=None,
        student=body,
        optimizer=OptimizerSpec(
            high=spec.learning_rate, schedule="linear", warmup=0.1, weight_decay=0.01, clip=1.0
        ),
        batch_size=spec.batch_size,
        stop=StopSpec(
            epochs=spec.updates,
            updates=spec.updates,
            every=max(1, spec.updates // 4),
            monitor="loss",
            on="mlm_held_out",
        ),
    )
    schedule.run([stage])
    copy_body(encoder.model, record.model)


def train_twin(work: Run) -> dict[str, Any]:
    """Train the student once more without the teacher.

    Same seed, same initial weights, same layer groups, same number of updates, the same optimizer
    as the student's longest stage; the only difference is that it sees nothing but the gold labels
    of train. The dev metric selects its best weights, as often as the student's.
    """
    recipe = work.recipe
    work.screen.line("student without distillation")
    lineage = recipe.lineage("student")
    twin = Models(recipe, work.corpus, work.base, _trained(work)).fresh(lineage[-1])
    made = Counter[str]()
    for phase in work.phases("student"):
        made[phase["name"].partition(".")[0]] += phase["updates"]
    updates = made.total()
    stages = [stage for stage in recipe.distill if stage.student in lineage]
    longest = max(stages, key=lambda stage: made[stage.name])
    every = longest.stop.every or max(1, updates // (longest.stop.epochs or PASSES))
    stage = StageSpec(
        name="labels_only",
        terms=[TermSpec(loss="cross_entropy", stream="train", head=recipe.export.head)],
        teacher=None,
        student=TWIN,
        groups=_groups_of(stages, twin.model),
        optimizer=longest.optimizer,
        batch_size=longest.batch_size,
        stop=StopSpec(updates=updates, every=every),
    )
    _schedule(work, {TWIN: twin}, recipe.seed).run([stage])
    with new_folder(work.folder.path / model_step(TWIN)) as target:
        save_model(twin, work.corpus.task, target)
    return {
        "parameters": twin.model.count_params(),
        "updates": updates,
        "head": recipe.export.head,
    }


def _groups_of(stages: Sequence[StageSpec], model: Any) -> list[str] | None:
    """The layer groups that any of the stages trains, as far as a model has them; None: all."""
    trained = [stage.groups for stage in stages]
    if None in trained:
        return None
    named = set(chain(*filter(None, trained)))
    return [name for name, _ in model.layer_groups() if name in named]
