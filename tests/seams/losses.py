"""Losses that systems bring with them: pure functions, which a test registers as it needs them."""

from __future__ import annotations

from keras import ops

from tfdistil.distill.objectives import masked_mean


def attention_mse(student, teacher, mask):
    """DeGenaro and Kalita 2022, Equation 4 summed over layers.

    The mean is over heads and pairs of real pieces.
    """
    pairs = ops.expand_dims(mask, 1) * ops.expand_dims(mask, 2)
    return _adjacent_mse(student, teacher, 1, pairs)


def states_mse(student, teacher, mask):
    """Their Equation 5 summed over layers; the mean is over the width and real pieces."""
    return _adjacent_mse(student, teacher, -1, mask)


def _adjacent_mse(student, teacher, axis, mask):
    """A layer learns the mean of two neighbours, of which all lower ones come before all upper."""
    lower, upper = teacher[: len(student)], teacher[len(student) :]
    return sum(
        masked_mean(ops.mean(ops.square((a + b) / 2 - s), axis=axis), mask)
        for s, a, b in zip(student, lower, upper, strict=True)
    )


def pieces_in_pairs(mask, **others):
    """What `attention_mse` is a mean over."""
    return ops.sum(ops.square(ops.sum(ops.cast(mask, "float32"), axis=1)))


def softened(student, teacher, mask, temperature):
    """Singh et al. 2023, Equations 4 and 5: soft targets, here with both sides softened."""
    p = ops.softmax(teacher / temperature, axis=-1)
    log_q = ops.log_softmax(student / temperature, axis=-1)
    return masked_mean(-ops.sum(p * log_q, axis=-1), mask)
