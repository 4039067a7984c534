"""The most probable label paths: Viterbi, and its K best.

Of paths with the same score, the one with the lowest label at the first word where they differ is
the better one, as far as float32 sums say that they are the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from tfdistil import device_ops
from tfdistil.crf.chain import Chain, boundary, centered, make_chain
from tfdistil.crf.constraints import NO_TAG, is_forbidden
from tfdistil.crf.residual import listed_and_rest

_NEVER = -1e30
"""What is forbidden costs this much here: more than any sum of scores, so that it can be told."""


class BestPaths(NamedTuple):
    """The K best label paths of each text, best first.

    Attributes:
        tags: int32 ``[B, K, U]``; `NO_TAG` at padding and in paths that do not exist.
        log_p: their log probabilities, float32 ``[B, K]``; `IMPOSSIBLE` where there is no path.
        log_residual: log of the probability of all others, float32 ``[B]``; `IMPOSSIBLE` where
            there are no others.
        count: how many there are, int32 ``[B]``: fewer than K where fewer are legal. A text
            without words has one, the empty one.
    """

    tags: Any
    log_p: Any
    log_residual: Any
    count: Any


def viterbi(emissions: Any, potentials: Any, mask: Any) -> Any:
    """The best path of each text, int32 ``[B, U]``, `NO_TAG` at padding.

    Args:
        emissions: float32 ``[B, U, L]``.
        potentials: float32 ``[L + 2, L]``, see `tfdistil.crf`.
        mask: 1 at real words, int ``[B, U]``, padding at the end.
    """
    chain = _strict_chain(emissions, potentials, mask)

    def onward(before, suffix):
        tag = device_ops.argmax(ops.take(chain.steps, before, axis=0) + suffix)
        return tag, tag

    start = ops.full_like(mask[:, 0], ops.shape(chain.steps)[-1] - 1, dtype="int32")
    _, tags = ops.scan(onward, start, _best_suffixes(chain))
    return ops.where(mask > 0, ops.transpose(tags), NO_TAG)


def k_best(emissions: Any, potentials: Any, mask: Any, k: int) -> BestPaths:
    """The K best paths with exact probabilities.

    Zhou et al. 2021, Algorithm 1, keeps the K best beginnings for each label. Here K beginnings are
    kept in all: those whose best way to go on is best. No better path is lost: one that begins in
    another way is behind K different paths already.

    Args:
        emissions, potentials, mask: as of `viterbi`.
        k: K, at least 1.
    """
    chain = _strict_chain(emissions, potentials, mask)
    size = ops.shape(chain.steps)[-1]  # labels and the boundary

    def onward(beginnings, suffix):
        # What a beginning loses against the best path, [B, K], and its last choice: which of the
        # beginnings before it goes on, and with which label. They are in the order of their labels.
        losses, chosen = beginnings
        ways = ops.take(chain.steps, chosen % size, axis=0) + ops.expand_dims(suffix, 1)
        ways = ways - ops.max(ways, axis=-1, keepdims=True) + ops.expand_dims(losses, -1)
        ways = ops.reshape(ways, (-1, k * size))
        chosen = ops.sort(ops.cast(ops.top_k(ways, k)[1], "int32"))
        here = device_ops.gather_along(ways, chosen), chosen
        return here, here

    none = ops.zeros_like(ops.repeat(mask[:, :1], k, axis=1), dtype="int32")
    one = ops.where(ops.arange(k) == 0, 0.0, ops.cast(none, "float32") + _NEVER)
    (losses, _), (_, chosen) = ops.scan(onward, (one, none + size - 1), _best_suffixes(chain))
    losses, order = ops.top_k(losses, k)

    def back(after, chosen):
        here = device_ops.gather_along(chosen, after // size)
        return here, here

    _, tags = ops.scan(back, ops.cast(order, "int32") * size, chosen, reverse=True)
    exists = losses > _NEVER / 2
    real = ops.logical_and(ops.expand_dims(exists, -1), ops.expand_dims(mask, 1) > 0)
    tags = ops.where(real, ops.transpose(tags, (1, 2, 0)) % size, NO_TAG)
    count = ops.sum(ops.cast(exists, "int32"), axis=-1)
    log_p, log_residual = listed_and_rest(emissions, potentials, tags, count, mask)
    return BestPaths(tags, log_p, log_residual, count)


def begins_within(emissions: Any, potentials: Any, mask: Any) -> Any:
    """Whether the best path would begin with a label that may begin no text, bool ``[B]``.

    Of a window that is not the first of its text this says that it begins within an entity, where
    no path over the window alone can be right.

    Args:
        emissions, potentials, mask: as of `viterbi`.
    """
    start = potentials[-2:-1]
    barred = is_forbidden(start)
    free = ops.where(barred, 0.0, start)
    free = ops.concatenate([potentials[:-2], free, potentials[-1:]], axis=0)
    first = ops.maximum(viterbi(emissions, free, mask)[:, 0], 0)
    return ops.logical_and(ops.take(barred[0], first), mask[:, 0] > 0)


def _strict_chain(emissions: Any, potentials: Any, mask: Any) -> Chain:
    """One in which no emission makes up for what is forbidden."""
    never = ops.where(is_forbidden(potentials), _NEVER, potentials)
    return make_chain(centered(emissions), never, mask, _NEVER)


def _best_suffixes(chain: Chain) -> Any:
    """The best way to go on from each label, less that from the best one, ``[U, B, L + 1]``."""

    def back(beyond, own):
        here = own + ops.max(ops.expand_dims(beyond, 1) + chain.steps, axis=2)
        here = here - ops.max(here, axis=1, keepdims=True)
        return here, here

    words = ops.swapaxes(chain.emissions, 0, 1)
    return ops.scan(back, boundary(chain, _NEVER), words, reverse=True)[1]
