"""CRF heads in a first recipe: on teacher and student, with the losses that go with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from tfdistil.errors import RecipeError

OUTPUTS = {"tags": ("tags", ()), "intent_slots": ("slots", ("intent",))}
"""Of each task with labels of words: the output that a CRF is for, and the others."""

LOSSES = {"cross_entropy": "crf_nll", "soft_cross_entropy": "sequence_cross_entropy"}
"""A loss on single labels to the one on label paths."""


def with_crf(
    task: str, models: Mapping[str, Mapping[str, Any]], stages: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The models with CRF heads and the stages with losses on label paths.

    Args:
        task: its kind.
        models: entries of ``models``.
        stages: entries of ``distill``.

    Raises:
        RecipeError: a task without labels of words.
    """
    if task not in OUTPUTS:
        raise RecipeError(
            f"a CRF labels words, which the task {task} does not; use it with "
            f"{' or '.join(OUTPUTS)}"
        )
    return (
        {name: {**entry, **_heads(entry)} for name, entry in models.items()},
        [{**stage, "terms": _terms(task, stage["terms"])} for stage in stages],
    )


def _heads(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Of what is made of another model the heads are that one's."""
    if "from" in entry:
        return {}
    return {"heads": {"labels" if "kind" in entry else "logits": "crf"}}


def _terms(task: str, terms: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    words, others = OUTPUTS[task]
    found: list[dict[str, Any]] = []
    for term in terms:
        found.append({**term, "loss": LOSSES[term["loss"]], "output": words})
        # A list in two terms would be an anchor in the file.
        found += [{**deepcopy(dict(term)), "output": other} for other in others]
    return found
