"""From a recipe to a finished run folder, step by step, and on from wherever it stopped.

The steps and what they make::

    teacher/    the fine-tuned teacher, a Hugging Face folder
    cache/      the teacher's signals on train, dev and transfer
    student/    the distilled student, in it what it goes on from; phases/ has the weights after
                each phase
    twin/       the same student, trained on the labels alone
    student.tflite, metrics.json, report.html, MODEL_CARD.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import keras

from tfdistil.console import ProgressBar, Screen
from tfdistil.corpus import load_corpus
from tfdistil.data.example import Example
from tfdistil.distill.schedule import Schedule
from tfdistil.files import beside, new_folder
from tfdistil.model_checks import check_students, check_tables, plain_students
from tfdistil.model_factory import (
    Models,
    Teacher,
    copy_body,
    make_teacher,
    masking_for,
    save_student,
    save_teacher,
    with_mlm_head,
)
from tfdistil.recipe import Recipe
from tfdistil.run_folder import RunFolder
from tfdistil.runs import Run
from tfdistil.schema.models import FineTuneSpec, PretrainSpec
from tfdistil.schema.stages import PASSES, OptimizerSpec, StageSpec, StopSpec, TermSpec


def run(
    recipe: Recipe, out: str | Path, base: Path | None = None, screen: Screen | None = None
) -> dict[str, Any]:
    """Do everything a recipe asks for that is not done yet.

    Args:
        recipe: see `tfdistil.recipe`.
        out: the run folder; an unfinished run of the same recipe goes on.
        base: what relative paths in the recipe are relative to; the working directory if None.
        screen: where progress is shown.

    Returns:
        What ``metrics.json`` holds.

    Raises:
        TfdistilError: whatever is wrong with the recipe, the data, the checkpoint or the folder.
    """
    screen = screen or Screen()
    base = (base or Path()).resolve()
    keras.utils.set_random_seed(recipe.seed)
    folder = RunFolder(out, recipe)
    screen.line(f"{recipe.name}: {recipe.task.kind}, seed {recipe.seed}, into {out}")
    try:
        with screen, folder.alone():
            folder.remember(base=str(base))
            check_students(recipe, base)
            corpus = load_corpus(recipe, base, screen.counter)
            counts = (f"{name} {count:,}" for name, count in corpus.counts.items())
            screen.line("  " + ", ".join(counts))
            work = Run(folder, corpus, screen)
            folder.once("teacher", lambda: train_teacher(work))
            folder.once("student", lambda: distill(work))
            if recipe.twin:
                folder.once("twin", lambda: train_twin(work))
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
        _sets(work),
        work.corpus.task,
        work.folder.path,
        seed=seed,
        callbacks=lambda phase, updates: [ProgressBar(screen, phase, updates)],
        counter=screen.counter,
    )


def _sets(work: Run) -> dict[str, Sequence[Example]]:
    """The corpus' sets; part of transfer is held out where a stage is monitored on it."""
    sets: dict[str, Sequence[Example]] = dict(work.corpus.sets())
    if any(stage.stop.on == "transfer_held_out" for stage in work.recipe.distill):
        size = min(2000, len(work.corpus.transfer) // 10)
        sets["transfer_held_out"] = work.corpus.transfer[:size]
        sets["transfer"] = work.corpus.transfer[size:]
    return sets


def train_teacher(work: Run) -> dict[str, Any]:
    """Fine-tune the teacher on the labels (or take it as it is) and save it."""
    spec = work.recipe.teacher_spec()
    work.screen.line("teacher")
    teacher = untrained_teacher(work)
    check_stages(work, teacher)
    if spec.scratch is not None and spec.scratch.pretrain is not None:
        _pretrain(work, teacher, spec.scratch.pretrain)
    if spec.fine_tune is not False:
        schedule = _schedule(work, {"teacher": teacher}, work.recipe.teacher_seed)
        schedule.run([fine_tuning_stage(spec.fine_tune)])
    with new_folder(work.folder.path / "teacher") as target:
        save_teacher(teacher, work.corpus.task, target)
    return {"parameters": teacher.model.count_params()}


def untrained_teacher(work: Run) -> Teacher:
    """The teacher as it is before training: its checkpoint, or one made from nothing."""
    spec = work.recipe.teacher_spec()
    if spec.checkpoint is not None:
        checkpoint = beside(_base(work), spec.checkpoint)
        spec = spec.model_copy(update={"checkpoint": checkpoint})
    return make_teacher(spec, work.corpus, work.recipe.teacher_seed)


def check_stages(work: Run, teacher: Teacher) -> None:
    """Find out what the schedule asks for in vain now, not after hours of fine-tuning.

    Args:
        work: nothing is written to its folder.
        teacher: before or after its training.

    Raises:
        RecipeError: a student or a stage that does not fit, see `Schedule.check`.
    """
    check_tables(work.recipe, teacher, _base(work))
    models = _models(work, teacher, plain_students(work.recipe))
    schedule = _schedule(work, models, work.recipe.seed)
    for stage in work.recipe.distill:
        schedule.check(stage)


def _pretrain(work: Run, teacher: Teacher, spec: PretrainSpec) -> None:
    """Masked-language pre-training: one stage on a stream that is masked afresh in each pass."""
    model = with_mlm_head(teacher, work.recipe.teacher_seed)
    texts = [replace(e, tags=None, label=None) for e in (*work.corpus.train, *work.corpus.transfer)]
    held_out = max(1, min(500, len(texts) // 20))
    masking = masking_for(teacher, spec.probability)
    schedule = Schedule(
        {"encoder": Teacher(model, teacher.featurizer)},
        {"mlm": texts[:-held_out], "mlm_held_out": texts[-held_out:]},
        work.corpus.task,
        work.folder.path,
        seed=work.recipe.teacher_seed,
        callbacks=lambda phase, updates: [ProgressBar(work.screen, phase, updates)],
        transforms={"mlm": masking, "mlm_held_out": masking},
    )
    stage = StageSpec(
        name="pretrain",
        terms=[TermSpec(loss="masked_lm", stream="mlm", head="logits")],
        teacher=None,
        student="encoder",
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
    copy_body(model, teacher.model)


def fine_tuning_stage(spec: FineTuneSpec) -> StageSpec:
    """Fine-tuning is a stage like any other: cross-entropy on train, selected on the dev metric."""
    return StageSpec(
        name="fine_tune",
        terms=[TermSpec(loss="cross_entropy", stream="train", head="logits")],
        teacher=None,
        student="teacher",
        optimizer=OptimizerSpec(
            high=spec.learning_rate,
            schedule=spec.schedule,
            warmup=spec.warmup,
            layer_decay=spec.layer_decay,
            weight_decay=spec.weight_decay,
            clip=1.0,
        ),
        batch_size=spec.batch_size,
        stop=StopSpec(epochs=spec.epochs, patience=spec.patience),
    )


def distill(work: Run) -> dict[str, Any]:
    """Train the student through the recipe's stages and save it."""
    work.screen.line("student")
    models = _models(work, work.teacher(), work.recipe)
    facts = models[work.recipe.lineage("student")[-1]].facts
    for name, count in facts.items():
        work.screen.line(f"  {name.replace('_', ' ')} {count:,}")
    schedule = _schedule(work, models, work.recipe.seed)
    updates = schedule.run(work.recipe.distill)
    lineage = work.recipe.lineage("student")[::-1]
    with new_folder(work.folder.path / "student") as target:
        save_student(models["student"], target)
        for name in lineage[:-1]:
            save_student(models[name], target / name)
    return {
        "parameters": models["student"].model.count_params(),
        "updates": sum(updates.get(name, 0) for name in lineage),
        "phases": [asdict(result) for name in lineage for result in schedule.done.get(name, [])],
        "inputs": facts,
    }


def _models(work: Run, teacher: Teacher, recipe: Recipe) -> Models:
    return Models(recipe, work.corpus, teacher, _base(work))


def _base(work: Run) -> Path:
    """What relative paths in the recipe are relative to."""
    return Path(work.folder.manifest.get("base", "."))


def train_twin(work: Run) -> dict[str, Any]:
    """Train the student once more without the teacher.

    Same seed, same initial weights, same layer groups, same number of updates, the same optimizer
    as the student's longest stage; the only difference is that it sees nothing but the gold labels
    of train. The dev metric selects its best weights, as often as the student's.
    """
    recipe = work.recipe
    work.screen.line("student without distillation")
    twin = _models(work, work.teacher(), recipe).fresh("student")
    lineage = recipe.lineage("student")
    groups = [stage.groups for stage in recipe.distill if stage.student == lineage[-1]]
    facts = work.folder.facts("student")
    updates, made = facts["updates"], Counter[str]()
    for phase in facts["phases"]:
        made[phase["name"].partition(".")[0]] += phase["updates"]
    stages = [stage for stage in recipe.distill if stage.student in lineage]
    longest = max(stages, key=lambda stage: made[stage.name])
    every = longest.stop.every or max(1, updates // (longest.stop.epochs or PASSES))
    stage = StageSpec(
        name="labels_only",
        terms=[TermSpec(loss="cross_entropy", stream="train", head=recipe.export.head)],
        teacher=None,
        student="twin",
        groups=None if None in groups else list(dict.fromkeys(chain(*filter(None, groups)))),
        optimizer=longest.optimizer,
        batch_size=longest.batch_size,
        stop=StopSpec(updates=updates, every=every),
    )
    _schedule(work, {"twin": twin}, recipe.seed).run([stage])
    with new_folder(work.folder.path / "twin") as target:
        save_student(twin, target)
    return {"parameters": twin.model.count_params(), "updates": updates}
