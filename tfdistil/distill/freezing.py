"""Which layer groups train in which phase of a stage."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfdistil.errors import RecipeError
from tfdistil.recipe.schema.stages import StageSpec


@dataclass(frozen=True)
class Phase:
    """A part of a stage with a fixed set of training groups and a fresh optimizer.

    Attributes:
        name: ``<stage>`` or ``<stage>.<group unfrozen last>``.
        groups: names of the groups that train.
        updates: optimizer steps at the most; None: as many as the epochs have.
    """

    name: str
    groups: tuple[str, ...]
    updates: int | None = None


def phases(
    stage: StageSpec, groups: Sequence[str], reached: Collection[str] | None = None
) -> list[Phase]:
    """The phases of a stage for a student with these groups, top to bottom.

    At once: one phase. Top down: the first group alone, then one more in each phase; a group once
    unfrozen stays so (XtremeDistil, Section 5.3). A group that no term reaches has no phase: in one
    of its own it would learn nothing.

    Args:
        stage: its ``groups``, ``unfreeze`` and ``stop.updates`` are used.
        groups: those of the student.
        reached: those that the terms depend on (`reached_groups`); None: all.

    Raises:
        RecipeError: the stage names a group the student does not have, or its stopping rule one
            that has no phase, or its terms depend on no group that trains.
    """
    chosen = list(groups) if stage.groups is None else stage.groups
    unknown = [name for name in chosen if name not in groups]
    if unknown:
        raise RecipeError(
            f"stage {stage.name!r} names the layer groups {unknown}; the student has {list(groups)}"
        )
    ordered = [name for name in groups if name in chosen]
    learning = [name for name in ordered if reached is None or name in reached]
    if not learning:
        raise RecipeError(
            f"stage {stage.name!r} trains the layer groups {ordered}, of which its terms depend on "
            f"none; they depend on {list(reached or ())}"
        )
    if stage.unfreeze == "top_down":
        ordered = learning
    limit = stage.stop.updates
    limits = limit if isinstance(limit, Mapping) else dict.fromkeys(ordered, limit)
    unknown = [name for name in limits if name not in ordered]
    if unknown:
        raise RecipeError(
            f"stage {stage.name!r}: stop.updates names the layer groups {unknown}; those that "
            f"train here are {ordered}"
        )
    if stage.unfreeze == "at_once":  # a mapping is no valid recipe then
        return [Phase(stage.name, tuple(ordered), None if isinstance(limit, Mapping) else limit)]
    return [
        Phase(f"{stage.name}.{name}", tuple(ordered[: i + 1]), limits.get(name))
        for i, name in enumerate(ordered)
    ]


def set_trainable(student: Any, groups: Sequence[str]) -> None:
    """Let only these layer groups learn.

    Every other weight is frozen, and so is every layer all of whose weights are: its normalisation
    then uses its stored statistics and does not change them. Dropout in frozen layers stays active,
    so that the trained layers see the same noise as later on.
    """
    wanted = {
        id(weight)
        for name, weights in student.layer_groups()
        if name in groups
        for weight in weights
    }
    student.trainable = True
    for layer in student._flatten_layers(include_self=False):
        own = [id(weight) for weight in layer.weights]
        layer.trainable = not own or any(weight in wanted for weight in own)
    for _, weights in student.layer_groups():
        for weight in weights:
            if weight.trainable or id(weight) not in wanted:
                weight.trainable = id(weight) in wanted
