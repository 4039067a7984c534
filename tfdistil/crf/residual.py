"""The probability of all paths but those of a list, without 1 - p.

Where a list holds nearly all of the mass, 1 minus its sum is the rounding error of float32. So the
mass of the others is summed itself: each of them leaves the tree of the listed paths at one place,
with a label that no listed path has after the same labels. The mass of all that leave there is the
probability of the labels before, times that of the step out.
"""

from __future__ import annotations

from typing import Any

from keras import ops

from tfdistil.crf.chain import centered, in_chain, log_onward, make_chain, pick
from tfdistil.crf.constraints import IMPOSSIBLE, is_forbidden


def log_residual(emissions: Any, potentials: Any, tags: Any, count: Any, mask: Any) -> Any:
    """Log probability of all paths that are not listed: log(1 - p_sum) of Zhou et al. 2021.

    Args:
        emissions: float32 ``[B, U, L]``.
        potentials: float32 ``[L + 2, L]``, see `tfdistil.crf`.
        tags: the list, int ``[B, K, U]``, in any order; a path may be listed twice.
        count: how many of the list are read, the first ones, at least 1, int32 ``[B]``.
        mask: 1 at real words, int ``[B, U]``, padding at the end.

    Returns:
        float32 ``[B]``, `IMPOSSIBLE` with a gradient of 0 where no other path is legal.
    """
    return listed_and_rest(emissions, potentials, tags, count, mask)[1]


def listed_and_rest(
    emissions: Any, potentials: Any, tags: Any, count: Any, mask: Any
) -> tuple[Any, Any]:
    """Log probabilities of listed paths, float32 ``[B, K]``, and `log_residual`, in one go.

    Paths beyond the count have `IMPOSSIBLE`; arguments are those of `log_residual`.
    """
    chain = make_chain(centered(emissions), potentials, mask)
    tags, before = in_chain(chain.steps, tags, mask)
    onward = log_onward(chain, before)
    own = pick(onward, tags)
    listed = are_listed(tags, count)
    log_p = ops.where(listed, ops.sum(own, axis=-1), IMPOSSIBLE)
    # The mass of all paths that are like this one up to a place and go on from there with a label.
    leaving = ops.expand_dims(ops.cumsum(own, axis=-1) - own, -1) + onward
    others = _leaves(tags, listed, ops.shape(onward)[-1])
    others = ops.logical_and(others, ops.logical_not(is_forbidden(leaving)))
    mass = ops.logsumexp(ops.where(others, leaving, IMPOSSIBLE), axis=(1, 2, 3))
    return log_p, ops.where(ops.any(others, axis=(1, 2, 3)), mass, IMPOSSIBLE)


def are_listed(paths: Any, count: Any) -> Any:
    """Which of the K paths ``[B, K, ...]`` are among the first ``count [B]``: bool ``[B, K]``."""
    return ops.arange(ops.shape(paths)[1]) < ops.expand_dims(count, -1)


def _leaves(tags: Any, listed: Any, size: int) -> Any:
    """Which labels leave the tree of listed paths, once at each node, bool ``[B, K, U, size]``.

    A node, which is what paths have in common up to a place, belongs to the first path through it.
    """
    k = ops.shape(tags)[1]
    equal = ops.equal(ops.expand_dims(tags, 2), ops.expand_dims(tags, 1))  # [B, K, K, U]
    differ = ops.cast(ops.logical_not(equal), "int32")
    same = ops.equal(ops.cumsum(differ, axis=-1) - differ, 0)  # the labels before this place
    same = ops.logical_and(same, ops.reshape(listed, (-1, 1, k, 1)))
    earlier = ops.reshape(ops.arange(k) < ops.expand_dims(ops.arange(k), -1), (1, k, k, 1))
    first = ops.logical_not(ops.any(ops.logical_and(same, earlier), axis=2))
    first = ops.logical_and(first, ops.expand_dims(listed, -1))
    taken = ops.einsum(
        "bkmu,bmul->bkul", ops.cast(same, "float32"), ops.one_hot(tags, size, dtype="float32")
    )
    return ops.logical_and(ops.expand_dims(first, -1), ops.equal(taken, 0))
