"""A batch of texts as one chain: padding is a label, so no sum over paths needs a mask.

A label of its own, the boundary, stands at padding, before the first word and after the last one.
Steps from it to a label are the start scores, steps to it the end scores; it never is at a word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from keras import ops

from tfdistil.crf.constraints import IMPOSSIBLE


class Chain(NamedTuple):
    """Scores over L + 1 labels, the last of them the boundary.

    Attributes:
        emissions: float32 ``[B, U, L + 1]``.
        steps: from row to column, float32 ``[L + 1, L + 1]``.
    """

    emissions: Any
    steps: Any


def constrained(potentials: Any, legal: np.ndarray) -> Any:
    """Potentials with `IMPOSSIBLE` where a table of the same shape, `legal_steps`, says no.

    No gradient goes there.
    """
    return ops.where(ops.convert_to_tensor(legal), potentials, IMPOSSIBLE)


def centered(emissions: Any) -> Any:
    """Emissions ``[..., L]`` less the best of each word: small sums are exact sums in float32.

    No probability depends on what is added to all labels of a word, so no gradient is lost either.
    """
    return emissions - ops.stop_gradient(ops.max(emissions, axis=-1, keepdims=True))


def make_chain(emissions: Any, potentials: Any, mask: Any, forbidden: float = IMPOSSIBLE) -> Chain:
    """The chain of a batch.

    Args:
        emissions: ``[B, U, L]``.
        potentials: ``[L + 2, L]``.
        mask: 1 at real words, int ``[B, U]``.
        forbidden: the score of a boundary at a word and of a label at padding.
    """
    word = ops.expand_dims(mask, -1) > 0
    emissions = ops.concatenate(
        [ops.where(word, emissions, forbidden), ops.where(word, forbidden, 0.0)], axis=-1
    )
    return Chain(emissions, chain_steps(potentials))


def chain_steps(potentials: Any) -> Any:
    """`Chain.steps` of potentials ``[L + 2, L]``."""
    to_boundary = ops.reshape(ops.pad(potentials[-1], [[0, 1]]), (-1, 1))
    return ops.concatenate([potentials[:-1], to_boundary], axis=1)


def boundary(chain: Chain, elsewhere: float) -> Any:
    """Scores ``[B, L + 1]`` of a place where only the boundary stands."""
    labels = ops.full_like(chain.emissions[:, 0, :-1], elsewhere)
    return ops.pad(labels, [[0, 0], [0, 1]])


def suffix_sums(chain: Chain) -> tuple[Any, Any]:
    """The backward recursion: log of the sum over all ways to go on from a label.

    Returns:
        float32 ``[B, U, L + 1]``, the word's own emission counted and the step to it not, less a
        scale of each place, float32 ``[B, U]``, so that labels can be told apart in long texts.
    """
    return _log_sums(chain, chain.steps, reverse=True)


def prefix_sums(chain: Chain) -> tuple[Any, Any]:
    """The forward recursion: the same of all ways to a label."""
    return _log_sums(chain, ops.transpose(chain.steps), reverse=False)


def _log_sums(chain: Chain, steps: Any, reverse: bool) -> tuple[Any, Any]:
    def step(beyond, own):
        sums, scale = beyond
        sums = own + ops.logsumexp(ops.expand_dims(sums, 1) + steps, axis=2)
        top = ops.stop_gradient(ops.max(sums, axis=1))
        here = sums - ops.expand_dims(top, -1), scale + top
        return here, here

    words = ops.swapaxes(chain.emissions, 0, 1)
    outside = boundary(chain, IMPOSSIBLE)
    _, (sums, scale) = ops.scan(step, (outside, outside[:, -1]), words, reverse=reverse)
    return ops.swapaxes(sums, 0, 1), ops.transpose(scale)


def in_chain(steps: Any, tags: Any, mask: Any) -> tuple[Any, Any]:
    """Tags ``[B, K, U]`` with the boundary at padding, and what stands before each of them.

    `NO_TAG` at a word reads as label 0. Before the first place is the boundary.
    """
    outside = ops.shape(steps)[-1] - 1
    tags = ops.where(ops.expand_dims(mask, 1) > 0, ops.maximum(tags, 0), outside)
    first = ops.full_like(tags[:, :, :1], outside)
    return tags, ops.concatenate([first, tags[:, :, :-1]], axis=-1)


def log_onward(chain: Chain, before: Any) -> Any:
    """How a path goes on: log P(label | label before), float32 ``[B, K, U, L + 1]``.

    A CRF is a Markov chain, whose steps are weighted by all ways to go on from them. That a path's
    probability is a product of these keeps it exact where it is near 1.

    Args:
        chain: of B texts.
        before: the label before each place of each path, int ``[B, K, U]``.
    """
    suffixes, _ = suffix_sums(chain)
    steps = ops.take(chain.steps, before, axis=0) + ops.expand_dims(suffixes, 1)
    return ops.log_softmax(steps, axis=-1)


def pick(scores: Any, tags: Any) -> Any:
    """The score of each tag: ``[..., labels]`` at int ``[...]``."""
    return ops.squeeze(ops.take_along_axis(scores, ops.expand_dims(tags, -1), axis=-1), -1)
