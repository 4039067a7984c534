"""The systems of a run that answer and are scored: its models, and the files made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfdistil.recipe.schema.models import StudentSpec

if TYPE_CHECKING:
    from tfdistil.recipe.recipe import Recipe
    from tfdistil.runs.run_metrics import Role

SUFFIX = ".tflite"
"""Of a file, and of its id: no model's name has a dot."""


@dataclass(frozen=True)
class SystemId:
    """A model of a run, in Keras or as a file.

    Attributes:
        model: its entry in the recipe's ``models``.
        is_file: whether it is ``MODEL.tflite``.
    """

    model: str
    is_file: bool = False

    @classmethod
    def parse(cls, text: str) -> SystemId:
        """``student`` or ``student.tflite``."""
        return cls(text.removesuffix(SUFFIX), text.endswith(SUFFIX))

    def __str__(self) -> str:
        return self.model + (SUFFIX if self.is_file else "")


def models_of(recipe: Recipe) -> tuple[SystemId, ...]:
    """The models that are scored in Keras, in the order they are trained in."""
    return tuple(map(SystemId, recipe.plan()))


def files_of(recipe: Recipe) -> tuple[SystemId, ...]:
    """The files that a run delivers."""
    specs = recipe.deliveries.items()
    return tuple(SystemId(name, is_file=True) for name, spec in specs if spec.tflite is not False)


def main_of(recipe: Recipe) -> SystemId:
    """What the scores are reported of: the file of what is delivered first, or else the model."""
    return SystemId(recipe.main, recipe.deliveries[recipe.main].tflite is not False)


def teacher_of(system: SystemId, recipe: Recipe) -> str | None:
    """The first of the models that a system, or what it is the baseline of, was taught by."""
    taught = recipe.teachers_of(recipe.baselines().get(system.model, system.model))
    return taught[-1] if taught else None


def baseline_of(model: str, recipe: Recipe) -> str | None:
    """The same model trained without a teacher, where there is one."""
    return next((name for name, of in recipe.baselines().items() if of == model), None)


def name_of(system: SystemId, recipe: Recipe) -> str:
    """What a system is called in tables."""
    name = system.model.replace("_", " ")
    if system.is_file:
        quantize = recipe.export_of(system.model).quantize
        return f"{name} {'float32' if quantize == 'none' else quantize}"
    of = recipe.baselines().get(system.model)
    if of is not None:
        return f"{of.replace('_', ' ')} (no distillation)"
    is_student = isinstance(recipe.root_spec(system.model), StudentSpec)
    if is_student and len(members := recipe.members_of(system.model)) > 1:
        return f"{name} (mean of {len(members)})"
    if recipe.teachers_of(system.model):
        return f"{name} (distilled)"
    return f"{name} (labels only)" if is_student else name


def role_of(system: SystemId, recipe: Recipe) -> Role:
    """What a system is in its run, see `tfdistil.runs.run_metrics.Role`."""
    if system.is_file:
        return "file"
    if system.model in recipe.baselines():
        return "baseline"
    if system.model == teacher_of(main_of(recipe), recipe):
        return "teacher"
    return "assistant" if system.model in recipe.teachers_of(recipe.main) else "student"
