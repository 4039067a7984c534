"""Tasks by the words a recipe and the command line use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfdistil.tasks.base import IGNORE, Output, Prediction, Span, Task
from tfdistil.tasks.classes import Classes, Pair
from tfdistil.tasks.constant import chance_score, constant_score
from tfdistil.tasks.intent_slots import IntentSlots
from tfdistil.tasks.tags import Tags
from tfdistil.tasks.text import Text
from tfdistil.tasks.unknown import describe_unknown, unknown_labels

TASKS: dict[str, Any] = {t.kind: t for t in (Tags, IntentSlots, Classes, Pair, Text)}


def task_from_json(data: Mapping[str, Any]) -> Task:
    """Rebuild the task that `Task.to_json` wrote.

    Raises:
        KeyError: a kind this version does not know.
    """
    return TASKS[data["kind"]].from_json(data)


__all__ = [
    "IGNORE",
    "TASKS",
    "Classes",
    "IntentSlots",
    "Output",
    "Pair",
    "Prediction",
    "Span",
    "Tags",
    "Task",
    "Text",
    "chance_score",
    "constant_score",
    "describe_unknown",
    "task_from_json",
    "unknown_labels",
]
