"""Distillation objectives: pure functions of student, teacher and label signals.

Each takes tensors that are already aligned on *units* (the scored pieces) or on texts, and returns
a scalar: the mean over real units (or texts), so that the weights of terms do not depend on the
length of the texts or the size of the batch. The papers sum instead; that differs by a factor only.

A new objective is one function here (or anywhere) under `objective`, and one line in the contract
test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from keras import ops

from tfdistil.errors import RecipeError

Align = Literal["unit", "piece"]


@dataclass(frozen=True)
class Objective:
    """An objective and the signals it declares.

    Attributes:
        function: ``function(student, teacher?, target?, mask, **options)``; ``student`` and
            ``teacher`` are one tensor where one name was declared, else a list.
        student, teacher: names of signals, with ``{head}``, ``{output}`` and option names to fill
            in; empty ``teacher`` where none is needed.
        target: the ids that are passed as ``target``: ``{output}`` for the task's gold ids, or the
            name of targets a transform makes (``mlm``); None where there are none.
        per_output: whether the term stands for one copy per output of the task.
        align: ``unit`` (scored pieces or texts) or ``piece`` (every position, same tokenizer).
    """

    name: str
    function: Callable[..., Any]
    student: tuple[str, ...]
    teacher: tuple[str, ...]
    target: str | None
    per_output: bool
    align: Align


OBJECTIVES: dict[str, Objective] = {}


def objective(
    name: str,
    *,
    student: str | Sequence[str],
    teacher: str | Sequence[str] = (),
    target: str | None = None,
    align: Align = "unit",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as an objective; see `Objective` for the arguments."""

    def names(value: str | Sequence[str]) -> tuple[str, ...]:
        return (value,) if isinstance(value, str) else tuple(value)

    signals = names(student) + names(teacher)
    per_output = any("{output}" in signal for signal in (*signals, target or ""))

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        OBJECTIVES[name] = Objective(
            name, function, names(student), names(teacher), target, per_output, align
        )
        return function

    return register


def find_objective(name: str) -> Objective:
    """The objective of that name.

    Raises:
        RecipeError: an unknown name; the message lists the known ones.
    """
    if name not in OBJECTIVES:
        raise RecipeError(f"unknown loss {name!r}; there are {', '.join(sorted(OBJECTIVES))}")
    return OBJECTIVES[name]


def masked_mean(values: Any, mask: Any) -> Any:
    """Mean of ``values [...]`` where ``mask [...]`` is 1; 0 where the mask is empty."""
    mask = ops.cast(mask, values.dtype)
    return ops.sum(values * mask) / ops.maximum(ops.sum(mask), 1.0)


@objective("cross_entropy", student="{head}/{output}", target="{output}")
def cross_entropy(student: Any, target: Any, mask: Any) -> Any:
    """Cross-entropy with the gold labels: XtremeDistil, Equation 2 (mean instead of sum).

    Args:
        student: logits, float ``[..., labels]``.
        target: gold ids, int ``[...]``; negative where there is no label.
        mask: 1 at real units, ``[...]``.

    Returns:
        Mean of -log softmax(student)[target] over labelled real units.
    """
    known = ops.cast(target >= 0, "int32") * ops.cast(mask, "int32")
    log_p = ops.log_softmax(ops.cast(student, "float32"), axis=-1)
    ids = ops.maximum(target, 0)
    picked = ops.take_along_axis(log_p, ops.expand_dims(ids, -1), axis=-1)
    return masked_mean(-ops.squeeze(picked, -1), known)


@objective("masked_lm", student="{head}/mlm", target="mlm", align="piece")
def masked_lm(student: Any, target: Any, mask: Any) -> Any:
    """Cross-entropy of the masked pieces (Devlin et al. 2019): `cross_entropy` at every piece.

    Args:
        student: logits over the vocabulary, float ``[B, T, V]``.
        target: the pieces that were there, int ``[B, T]``; negative where nothing was masked.
        mask: 1 at real pieces, ``[B, T]``.
    """
    return cross_entropy(student, target, mask)


@objective("logit_mse", student="{head}/{output}", teacher="logits/{output}")
def logit_mse(student: Any, teacher: Any, mask: Any) -> Any:
    """Squared error of the teacher's logits: XtremeDistil, Equation 4 (mean instead of sum).

    The targets are the teacher's raw pre-softmax logits, as in the published code; the paper writes
    logit(p), which for a softmax differs from them by a constant per unit.

    Args:
        student, teacher: logits, float ``[..., labels]``.
        mask: 1 at real units, ``[...]``.

    Returns:
        Mean over real units of ½‖student - teacher‖².
    """
    error = ops.cast(student, "float32") - ops.cast(teacher, "float32")
    return masked_mean(0.5 * ops.sum(ops.square(error), axis=-1), mask)


@objective("soft_cross_entropy", student="{head}/{output}", teacher="logits/{output}")
def soft_cross_entropy(student: Any, teacher: Any, mask: Any, scale: float = 1.0) -> Any:
    """Cross-entropy with the teacher's distribution, as pQRNN and Eliquare use it.

    Args:
        student, teacher: logits, float ``[..., labels]``.
        mask: 1 at real units, ``[...]``.
        scale: s, multiplies the teacher's logits only; there is no T² factor.

    Returns:
        Mean over real units of -softmax(s·teacher) · log softmax(student).
    """
    p = ops.softmax(scale * ops.cast(teacher, "float32"), axis=-1)
    log_q = ops.log_softmax(ops.cast(student, "float32"), axis=-1)
    return masked_mean(-ops.sum(p * log_q, axis=-1), mask)
