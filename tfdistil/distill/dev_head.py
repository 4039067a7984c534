"""The head that the dev metric of a stage is read off."""

from __future__ import annotations

from tfdistil.distill.terms import signals_of
from tfdistil.errors import RecipeError
from tfdistil.recipe.schema.stages import StageSpec


def dev_head(stage: StageSpec, delivered: str, default: str = "labels") -> str:
    """The head that decides about a stage's best weights, whatever the order of its terms.

    The one that ``stop.head`` names, else the one that the terms read. Where they read several, or
    none as terms on states do, it is the delivered one.

    Args:
        stage: its ``terms`` and ``stop`` are used.
        delivered: the head that is exported.
        default: the head of terms that name none.

    Raises:
        RecipeError: the terms read several heads, but not the delivered one.
    """
    if stage.stop.head is not None:
        return stage.stop.head
    read = sorted(
        {
            term.head or default
            for term in stage.terms
            if any("{head}" in signal for signal in signals_of(term).student)
        }
    )
    if len(read) == 1:
        return read[0]
    if read and delivered not in read:
        raise RecipeError(
            f"stage {stage.name!r} has terms on the heads {', '.join(read)}; name the one that the "
            f"dev metric is read off, such as stop: {{head: {read[0]}}}"
        )
    return delivered
