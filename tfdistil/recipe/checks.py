"""Whether the parts of a recipe go together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tfdistil.printable import listed
from tfdistil.recipe.members import member_names
from tfdistil.recipe.schema.derived import BaselineSpec, DerivedSpec, MeanSpec
from tfdistil.recipe.schema.graph import MisplacedError
from tfdistil.recipe.schema.models import StudentSpec
from tfdistil.recipe.schema.parts import LONGEST_NAME
from tfdistil.recipe.schema.stages import StageSpec

if TYPE_CHECKING:
    from tfdistil.recipe.recipe import Recipe

BASELINE = "baseline"
"""The model that ``baseline: true`` stands for."""
REPORTED = {"test", "corpus_test"}
"""Sets that nothing is trained on."""
TUNING = re.compile(r"fine_tune|cool_down|rate_\d+|pretrain|labels_only")
"""Names of the stages that entries of ``models`` ask for by themselves."""


def check_recipe(recipe: Recipe) -> None:
    """Find whether the parts of a recipe go together, as far as the recipe tells.

    Raises:
        ValueError: they do not; a `MisplacedError` says which key is to be changed.
    """
    few = recipe.data.low_resource
    if few is not None and few.per == "class" and recipe.task.kind == "tags":
        raise ValueError(
            "data.low_resource.per: class needs sentences with a class, which task tags does "
            "not have; use per: language"
        )
    if recipe.anchor is not None and not recipe.task.is_labelled:
        raise MisplacedError("an anchor learns from labels, which task text has not", "anchor")
    if not recipe.task.is_labelled:
        _check_unlabelled(recipe)
    elif recipe.data.demo is None and not recipe.data.train:
        raise MisplacedError(
            f"task {recipe.task.kind} learns from labels; give data.train, or task: text", "data"
        )
    names = [stage.name for stage in recipe.distill]
    if len(set(names)) < len(names):
        raise ValueError(f"stage names must be unique, got {', '.join(names)}")
    if BASELINE in recipe.models and recipe.baseline:
        raise MisplacedError(
            f"{BASELINE!r} is the model that baseline: true makes; choose another name, or "
            "set baseline: false",
            *("models", BASELINE),
        )
    for name in recipe.models:
        _check_members(recipe, name)
    for name in recipe.models:
        _check_origin(recipe, name)
    for name in recipe.models:
        _check_circle(recipe, name)
    for name in recipe.models:
        _check_model(recipe, name)
    for number, stage in enumerate(recipe.distill):
        _check_stage(recipe, number, stage)
    if not recipe.deliver and "student" not in recipe.models:
        raise ValueError(
            "models has no 'student', so say what is delivered, as in "
            f"deliver: {{{next(iter(recipe.models))}: {{tflite: true}}}}"
        )
    for name in recipe.deliver:
        _check_delivery(recipe, name)
    for name in recipe.deliveries:
        _check_head(recipe, name)
        _check_is_trained(recipe, name)
    recipe.plan()


def _check_unlabelled(recipe: Recipe) -> None:
    """Nothing of a run on text alone needs labels."""
    for name, spec in recipe.models.items():
        if getattr(spec, "fine_tune", False):
            raise MisplacedError(
                f"models.{name} is fine-tuned on labels, which task: text has not; set "
                f"models.{name}.fine_tune: false, and fine-tune what this run delivers in another",
                *("models", name, "fine_tune"),
            )
        if isinstance(spec, BaselineSpec):
            raise MisplacedError(
                f"models.{name} is a baseline, which learns from labels, and task: text has none; "
                "write it as a model of its own, with a stage without a teacher",
                *("models", name, "baseline_of"),
            )
        if isinstance(spec, StudentSpec):
            raise MisplacedError(
                f"models.{name} is a {spec.kind}, which guesses no masked pieces, as all models of "
                "task: text do; train encoders here, and give it one of them as its teacher in a "
                "run with labels",
                *("models", name, "kind"),
            )
    if not recipe.deliver:
        raise ValueError(
            "task: text delivers encoders for other runs; say which, as in "
            f"deliver: {{{next(reversed(recipe.models))}: {{checkpoint: true}}}}"
        )
    for name, delivery in recipe.deliver.items():
        if delivery.tflite is not False:
            raise MisplacedError(
                f"deliver.{name}.tflite needs a task that a device can answer, and this is text; "
                "give checkpoint: true, and make the file in a run that fine-tunes it",
                *("deliver", name, "tflite"),
            )


def _origins(recipe: Recipe, name: str) -> tuple[str, tuple[str, ...]]:
    """The key by which an entry names others, and these; none where it names none."""
    spec = recipe.named[name]
    if isinstance(spec, DerivedSpec):
        return "from", (spec.from_,)
    if isinstance(spec, MeanSpec):
        return "mean_of", tuple(spec.mean_of)
    return ("baseline_of", (spec.baseline_of,)) if isinstance(spec, BaselineSpec) else ("", ())


def _check_members(recipe: Recipe, name: str) -> None:
    members = member_names(name, recipe.models[name])
    if members and len(members[-1]) > LONGEST_NAME:
        raise MisplacedError(
            f"models.{name}: the names of its members, {members[-1]} and others, are longer than "
            f"{LONGEST_NAME} letters; give it a shorter one",
            *("models", name),
        )
    if taken := recipe.models.keys() & {*members}:
        raise MisplacedError(
            f"models.{min(taken)} has the name of a member of {name!r}; choose another name",
            *("models", min(taken)),
        )


def _check_origin(recipe: Recipe, name: str) -> None:
    key, others = _origins(recipe, name)
    for other in others:
        if other not in recipe.named:
            raise MisplacedError(
                f"models.{name} has {key}: {other!r}, which is no model; there are "
                f"{', '.join(recipe.named)}",
                *("models", name, key),
            )
        if isinstance(recipe.named[other], MeanSpec):
            raise MisplacedError(
                f"models.{name} has {key}: {other!r}, which is a mean and has no weights of its "
                "own; name one of the models that it is the mean of",
                *("models", name, key),
            )


def _check_circle(recipe: Recipe, name: str, *before: str) -> None:
    key, others = _origins(recipe, name)
    for other in others:
        if other in (*before, name):
            circle = " begins as ".join((*before, name, other))
            raise MisplacedError(circle, "models", name, key)
        _check_circle(recipe, other, *before, name)


def _check_model(recipe: Recipe, name: str) -> None:
    spec = recipe.models[name]
    for number, change in enumerate(spec.apply if isinstance(spec, DerivedSpec) else ()):
        if change.kind.endswith("_vocabulary") and recipe.task.continuation:
            raise MisplacedError(
                f"models.{name}.apply.{number}: {change.kind} makes other pieces of words, "
                "and with task.continuation: true models are compared piece by piece; set "
                "continuation: false, which compares them word by word",
                *("models", name, "apply", number),
            )
    if isinstance(spec, BaselineSpec) and not recipe.stages_of_lineage(spec.baseline_of):
        raise MisplacedError(
            f"models.{name} is the baseline of {spec.baseline_of!r}, which no stage trains",
            *("models", name, "baseline_of"),
        )
    if not isinstance(spec, StudentSpec):
        return
    # A run keeps its recipe with every default written out: the default asks for nothing.
    named = spec.encoder != StudentSpec.model_fields["encoder"].default
    encoder = recipe.models.get(spec.encoder)
    if named and encoder is None:
        raise MisplacedError(
            f"models.{name} takes its pieces from {spec.encoder!r}, which is no model; there "
            f"are {', '.join(recipe.models)}",
            *("models", name, "encoder"),
        )
    if named and isinstance(recipe.root_spec(spec.encoder), StudentSpec):
        raise MisplacedError(
            f"models.{name} takes its pieces from {spec.encoder!r}, which must be an encoder, "
            "with a checkpoint or scratch",
            *("models", name, "encoder"),
        )
    pretrained = spec.embedding.of == "pretrained"
    if pretrained and getattr(encoder, "checkpoint", None) is None:
        raise MisplacedError(
            f"models.{name}.embedding.of: pretrained needs an encoder with a checkpoint",
            *("models", name, "embedding", "of"),
        )


def _check_stage(recipe: Recipe, number: int, stage: StageSpec) -> None:
    there = {"student": recipe.models, "teacher": recipe.named}
    for key, name in (("student", stage.student), ("teacher", stage.teacher)):
        if name is not None and name not in there[key]:
            advice = "; set teacher: null if it learns from labels" if key == "teacher" else ""
            raise MisplacedError(
                f"stage {stage.name!r} has the {key} {name!r}; there are the models "
                f"{', '.join(there[key])}{advice}",
                *("distill", number, key),
            )
    student = recipe.root_spec(stage.student)
    dropping = student.drops_pieces if isinstance(student, StudentSpec) else None
    if dropping and stage.teacher is not None and recipe.task.continuation:
        raise MisplacedError(
            f"models.{stage.student}.{dropping} drops pieces that the teacher reads, and with "
            "task.continuation: true models are compared piece by piece; leave it out, or set "
            "continuation: false, which compares them word by word",
            *("models", stage.student, dropping),
        )
    if stage.teacher == stage.student:
        raise MisplacedError(
            f"stage {stage.name!r} has {stage.student!r} as its student and as its teacher; "
            "set teacher: null if it learns from labels",
            *("distill", number, "student"),
        )
    drawn = {name for term in stage.terms for name in term.pool}
    if reported := sorted(drawn & REPORTED):
        raise MisplacedError(
            f"stage {stage.name!r} draws from {reported[0]!r}, which scores are reported on; what "
            "is trained on cannot be tested on",
            *("distill", number, "terms"),
        )
    spec = recipe.models[stage.student]
    if isinstance(spec, MeanSpec):
        raise MisplacedError(
            f"stage {stage.name!r} trains {stage.student!r}, which is a mean and has no weights of "
            f"its own; train {', '.join(spec.mean_of)}",
            *("distill", number, "student"),
        )
    if isinstance(spec, BaselineSpec):
        raise MisplacedError(
            f"stage {stage.name!r} trains {stage.student!r}, which is a baseline and learns "
            "from the labels alone",
            *("distill", number, "student"),
        )
    if not isinstance(spec, StudentSpec) and TUNING.fullmatch(stage.name):
        raise MisplacedError(
            f"stage {stage.name!r} has the name of a stage that the entry of "
            f"{stage.student!r} in models may ask for; choose another name",
            *("distill", number, "name"),
        )
    if isinstance(recipe.root_spec(stage.student), StudentSpec):
        known = recipe.heads_of(stage.student)
        named = filter(None, (stage.stop.head, *(term.head for term in stage.terms)))
        for head in sorted(set(named) - set(known)):
            raise ValueError(
                f"stage {stage.name!r} uses the head {head!r}; the model {stage.student!r} "
                f"has {list(known)}"
            )


def _check_delivery(recipe: Recipe, name: str) -> None:
    if name not in recipe.named:
        raise MisplacedError(
            f"deliver names {name!r}, which is no model; there are {', '.join(recipe.named)}",
            *("deliver", name),
        )
    root = recipe.root_spec(name)
    if recipe.deliver[name].checkpoint and isinstance(root, StudentSpec):
        raise MisplacedError(
            f"deliver.{name}.checkpoint needs an encoder, but {name!r} is a {root.kind}; it "
            "can be delivered as tflite: true",
            *("deliver", name, "checkpoint"),
        )
    if recipe.deliver[name].checkpoint and isinstance(spec := recipe.named[name], MeanSpec):
        raise MisplacedError(
            f"deliver.{name}.checkpoint: {name!r} is a mean, which no Hugging Face folder holds; "
            f"deliver {listed(spec.mean_of)}, or {name!r} as tflite: true",
            *("deliver", name, "checkpoint"),
        )


def _check_head(recipe: Recipe, name: str) -> None:
    if recipe.deliveries[name].tflite is False:
        return
    head, known = recipe.export_of(name).head, recipe.heads_of(name)
    if head is not None and head not in known:
        raise ValueError(f"export.head {head!r} is no head of {name!r}; it has {', '.join(known)}")


def _check_is_trained(recipe: Recipe, name: str) -> None:
    for member in recipe.members_of(name):
        specs = [recipe.spec_of(one) for one in recipe.lineage(member)]
        tuned = any(isinstance(s, BaselineSpec) or getattr(s, "fine_tune", False) for s in specs)
        is_student = isinstance(recipe.root_spec(member), StudentSpec)
        if is_student and not tuned and not recipe.stages_of_lineage(member):
            of = "" if member == name else f" as a part of {name!r}"
            raise MisplacedError(f"no stage trains {member!r}, which is delivered{of}", "distill")
