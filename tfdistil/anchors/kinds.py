"""The anchors by the names that recipes and commands have for them."""

from __future__ import annotations

from collections.abc import Sequence

from tfdistil.anchors.fasttext_model import FastText
from tfdistil.anchors.light import LightAnchor
from tfdistil.anchors.naive import Majority, SecondText
from tfdistil.data.example import Example
from tfdistil.errors import RunError
from tfdistil.tasks import Task

Anchor = LightAnchor | FastText | Majority | SecondText
ANCHORS: dict[str, type[Anchor]] = {
    "light": LightAnchor,
    "fasttext": FastText,
    "majority": Majority,
    "second": SecondText,
}
"""What needs no teacher: trained on the labels of a run."""


def train_anchor(name: str, task: Task, examples: Sequence[Example], seed: int) -> Anchor:
    """An anchor, trained.

    Args:
        name: one of `ANCHORS`.
        task: what is predicted.
        examples: its labelled train set.
        seed: where anything is drawn.

    Raises:
        RunError: a task without labels, or one that this anchor is not for, or the extra
            ``anchors`` is not installed.
    """
    if not task.outputs:
        raise RunError(
            f"{name} learns from labels, and this task has none: compare with another model or run"
        )
    return ANCHORS[name](task, examples, seed)
