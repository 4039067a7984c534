"""Students of several members: the entries of `models` that one of them stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfdistil.recipe.schema.derived import MeanSpec
from tfdistil.recipe.schema.models import StudentSpec
from tfdistil.recipe.schema.parts import LARGEST

APART = 1_000_003
"""Of the seeds of members: layers of a student count on from its seed, runs from each other's."""


def member_names(name: str, spec: Any) -> list[str]:
    """What the members of an entry are called; none where it has one alone."""
    count = spec.members if isinstance(spec, StudentSpec) else 1
    return [f"{name}_{number}" for number in range(1, count + 1)] if count > 1 else []


def with_members(models: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The entries with every student of several members as these, and as their mean.

    Args:
        models: by name.
        seed: of a student without one of its own; members have theirs `APART`.
    """
    found: dict[str, Any] = {}
    for name, spec in models.items():
        members = member_names(name, spec)
        if not members:
            found[name] = spec
            continue
        first = seed if spec.seed is None else spec.seed
        for number, member in enumerate(members):
            found[member] = spec.model_copy(
                update={"members": 1, "seed": (first + number * APART) % (LARGEST + 1)}
            )
        found[name] = MeanSpec(mean_of=members, mean="geometric")
    return found
