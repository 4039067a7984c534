"""Scores and probabilities of label paths, and of single labels."""

from __future__ import annotations

from typing import Any

from keras import ops

from tfdistil.crf.chain import (
    centered,
    chain_steps,
    in_chain,
    log_onward,
    make_chain,
    pick,
    prefix_sums,
    suffix_sums,
)
from tfdistil.crf.constraints import is_forbidden


def path_scores(emissions: Any, potentials: Any, tags: Any, mask: Any) -> Any:
    """The scores of label paths: Zhou et al. 2021, Equation 2, with start and end scores.

    The paper's sum ends at L - 1 and so leaves the last word's emission out; here it is in.

    Args:
        emissions: float32 ``[B, U, L]``.
        potentials: float32 ``[L + 2, L]``, see `tfdistil.crf`.
        tags: int ``[B, K, U]``; what stands at padding is not read.
        mask: 1 at real words, int ``[B, U]``, padding at the end.

    Returns:
        float32 ``[B, K]``; 0 for a text without words.
    """
    chain = make_chain(emissions, potentials, mask)
    tags, before = in_chain(chain.steps, tags, mask)
    steps = pick(ops.take(chain.steps, before, axis=0) + ops.expand_dims(chain.emissions, 1), tags)
    return ops.sum(steps, axis=-1) + ops.take(chain.steps[:, -1], tags[:, :, -1])


def log_partition(emissions: Any, potentials: Any, mask: Any) -> Any:
    """The logarithm of Equation 1's denominator, float32 ``[B]``; arguments as of `path_scores`."""
    chain = make_chain(emissions, potentials, mask)
    suffixes, scale = suffix_sums(chain)
    return ops.logsumexp(suffixes[:, 0] + chain.steps[-1], axis=-1) + scale[:, 0]


def log_probabilities(emissions: Any, potentials: Any, tags: Any, mask: Any) -> Any:
    """Equation 1: log probabilities of label paths, float32 ``[B, K]``.

    Arguments are those of `path_scores`; less `log_partition` these are the same, but less exact.
    """
    chain = make_chain(centered(emissions), potentials, mask)
    tags, before = in_chain(chain.steps, tags, mask)
    return ops.sum(pick(log_onward(chain, before), tags), axis=-1)


def are_legal(potentials: Any, tags: Any, mask: Any) -> Any:
    """Whether no step of a path is forbidden, bool ``[B, K]``.

    The probability of a legal path may be as small as that of a forbidden one; its steps tell.

    Args:
        potentials, tags, mask: as of `path_scores`.
    """
    steps = chain_steps(potentials)
    tags, before = in_chain(steps, tags, mask)
    into = is_forbidden(pick(ops.take(steps, before, axis=0), tags))
    end = is_forbidden(ops.take(steps[:, -1], tags[:, :, -1]))
    return ops.logical_not(ops.logical_or(ops.any(into, axis=-1), end))


def log_marginals(emissions: Any, potentials: Any, mask: Any) -> Any:
    """Log probabilities of each label of each word, by forward-backward.

    Args:
        emissions, potentials, mask: as of `path_scores`.

    Returns:
        float32 ``[B, U, L]``, about `IMPOSSIBLE` for what no legal path has, and at padding.
    """
    chain = make_chain(centered(emissions), potentials, mask)
    (prefixes, _), (suffixes, _) = prefix_sums(chain), suffix_sums(chain)
    through = prefixes + suffixes - chain.emissions
    return ops.log_softmax(through, axis=-1)[:, :, :-1]


def marginals(emissions: Any, potentials: Any, mask: Any) -> Any:
    """The probability of each label of each word, float32 ``[B, U, L]``; 0 at padding."""
    return ops.exp(log_marginals(emissions, potentials, mask))
