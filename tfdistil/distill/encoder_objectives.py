"""Objectives between encoders that read the same pieces: Eliquare and CAMeMBERT.

Both sides are signals of every piece (``align: subword``), so the teacher runs in each step on what
the student sees, masked or not. A term with ``target: mlm`` is a mean over the masked pieces alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from keras import ops

from tfdistil.distill.objectives import masked_mean, objective
from tfdistil.options import Between

ROWS = {"layers": Sequence[Sequence[int]]}
"""Rows ``[student, teacher, teacher]`` of layer numbers: a layer learns the mean of two."""


@objective(
    "softened_cross_entropy",
    student="{head}/mlm",
    teacher="{teacher_head}/mlm",
    align="subword",
)
def softened_cross_entropy(
    student: Any,
    teacher: Any,
    mask: Any,
    target: Any = None,
    temperature: Annotated[float, Between(0.01, 100)] = 2.0,
    squared: bool = True,
) -> Any:
    """Cross-entropy of softened distributions: Eliquare, Equations 4 and 5 (Hinton et al. 2015).

    Equation 5 as printed divides ``exp f`` by τ above and below the line, which cancels, and has a
    minus sign nowhere; meant is softmax(f/τ), of both sides, and -Σ p log q.

    Args:
        student, teacher: logits, float ``[..., K]``.
        mask: 1 at real pieces, ``[...]``.
        target: where given, pieces with a negative one do not count, int ``[...]``.
        temperature: τ > 0.
        squared: times τ², so that the gradient does not shrink with 1/τ².

    Returns:
        Mean over pieces of -softmax(teacher/τ) · log softmax(student/τ), by default times τ².
    """
    p = ops.softmax(ops.cast(teacher, "float32") / temperature, axis=-1)
    log_q = ops.log_softmax(ops.cast(student, "float32") / temperature, axis=-1)
    factor = temperature**2 if squared else 1.0
    return factor * masked_mean(-ops.sum(p * log_q, axis=-1), _counted(mask, target))


@objective("hidden_cosine", student="hidden", teacher="hidden", align="subword")
def hidden_cosine(student: Any, teacher: Any, mask: Any, target: Any = None) -> Any:
    """Angle between states of the last layers: Eliquare, Equation 6 (mean instead of sum).

    On hidden states, as in the work the paper builds on (Sanh et al. 2020). Its own sentence says
    logits, which are ``student_signal: "{head}/mlm"`` and ``teacher_signal: "{teacher_head}/mlm"``.

    Args:
        student, teacher: float ``[..., D]``.
        mask: 1 at real pieces, ``[...]``.
        target: as of `softened_cross_entropy`.

    Returns:
        Mean over pieces of 1 - cos(student, teacher).
    """
    s = ops.normalize(ops.cast(student, "float32"), axis=-1, epsilon=1e-12)
    t = ops.normalize(ops.cast(teacher, "float32"), axis=-1, epsilon=1e-12)
    return masked_mean(1 - ops.sum(s * t, axis=-1), _counted(mask, target))


def _counted(mask: Any, target: Any) -> Any:
    """The real pieces, of which those with a target where there is one."""
    mask = ops.cast(mask, "int32")
    return mask if target is None else mask * ops.cast(target >= 0, "int32")


def _pieces(mask: Any, padding: bool = False, **others: Any) -> Any:
    """What `states_mse` is a mean over: real pieces."""
    del others
    return ops.sum(_counting(mask, padding))


def _pairs(mask: Any, padding: bool = False, **others: Any) -> Any:
    """What `attention_mse` is a mean over: pairs of real pieces."""
    del others
    return ops.sum(ops.square(ops.sum(_counting(mask, padding), axis=1)))


def _counting(mask: Any, padding: bool) -> Any:
    mask = ops.cast(mask, "float32")
    return ops.ones_like(mask) if padding else mask


@objective(
    "attention_mse",
    student="attention/{layers[0]}",
    teacher=("attention/{layers[1]}", "attention/{layers[2]}"),
    align="subword",
    count=_pairs,
    hints=ROWS,
    counts_padding="padding",
)
def attention_mse(
    student: Sequence[Any], teacher: Sequence[Any], mask: Any, padding: bool = False
) -> Any:
    """Squared error of attention maps: CAMeMBERT, Equation 4, summed over the rows of ``layers``.

    The paper pads to 128 pieces and takes the mean over all elements (Equation 6); here padding is
    left out unless it is asked for. Then rows are padded to the ``max_length`` of the model: what a
    piece of padding attends to and what its states are depends on its place, so that there is no
    other way to have the sum over it than to compute it.

    Args:
        student: maps, one for each row, float ``[B, heads, T, T]``.
        teacher: first maps of all rows, then second ones.
        mask: 1 at real pieces, ``[B, T]``.
        padding: count pairs with padding, too; see `Objective.counts_padding`.

    Returns:
        Σ over rows of the mean over heads and pairs of real pieces of ((t + t')/2 - s)².
    """
    mask = _counting(mask, padding)
    pairs = ops.expand_dims(mask, 1) * ops.expand_dims(mask, 2)
    return _mse_to_means(student, teacher, 1, pairs)


@objective(
    "states_mse",
    student="hidden/{layers[0]}",
    teacher=("hidden/{layers[1]}", "hidden/{layers[2]}"),
    align="subword",
    count=_pieces,
    hints=ROWS,
    counts_padding="padding",
)
def states_mse(
    student: Sequence[Any], teacher: Sequence[Any], mask: Any, padding: bool = False
) -> Any:
    """Squared error of hidden states: CAMeMBERT, Equation 5, summed over the rows of ``layers``.

    Layer 0 is the embeddings. Where they are frozen their row has no gradient; in a term of its own
    it is logged apart.

    Args:
        student: states, one for each row, float ``[B, T, D]``.
        teacher: first states of all rows, then second ones.
        mask: 1 at real pieces, ``[B, T]``.
        padding: count it, too; see `Objective.counts_padding`.

    Returns:
        Σ over rows of the mean over real pieces and dimensions of ((t + t')/2 - s)².
    """
    return _mse_to_means(student, teacher, -1, _counting(mask, padding))


def _mse_to_means(student: Any, teacher: Sequence[Any], axis: int, mask: Any) -> Any:
    mine = student if isinstance(student, (list, tuple)) else [student]  # of one row, not a list
    theirs = [ops.cast(layer, "float32") for layer in teacher]
    total = 0.0
    for s, a, b in zip(mine, theirs[: len(mine)], theirs[len(mine) :], strict=True):
        squares = ops.square((a + b) / 2 - ops.cast(s, "float32"))
        total += masked_mean(ops.mean(squares, axis=axis), mask)
    return total
