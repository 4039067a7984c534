"""Losses of multi-grained distillation (Zhou et al. 2021) as pure functions.

Each is a sum over the words of a text and a mean over the texts that have words. Student and
teacher are given by emissions, float32 ``[B, U, L]``, and potentials, float32 ``[L + 2, L]`` (see
`tfdistil.crf`); ``mask`` is 1 at real words, int ``[B, U]``. The teacher's best paths are as
`tfdistil.crf.paths.BestPaths` has them.
"""

from __future__ import annotations

from typing import Any

from keras import ops

from tfdistil.crf.likelihood import are_legal, log_marginals, log_probabilities
from tfdistil.crf.residual import are_listed, listed_and_rest


def counted_texts(mask: Any, tags: Any = None) -> Any:
    """The texts that a loss is a mean over: 1 or 0 for each, float32 ``[B]``.

    Args:
        mask: 1 at real words, int ``[B, U]``.
        tags: int ``[B, U]``, negative where a word has none: its text is not counted.
    """
    counted = ops.any(mask > 0, axis=-1)
    if tags is not None:
        known = ops.all(ops.logical_or(tags >= 0, mask == 0), axis=-1)
        counted = ops.logical_and(counted, known)
    return ops.cast(counted, "float32")


def legal_texts(potentials: Any, tags: Any, mask: Any) -> Any:
    """The same of a likelihood: texts whose labels are known and legal, float32 ``[B]``.

    Args:
        potentials: the student's, ``[L + 2, L]``.
        tags, mask: as of `crf_nll`.
    """
    legal = are_legal(potentials, ops.expand_dims(tags, 1), mask)[:, 0]
    return counted_texts(mask, tags) * ops.cast(legal, "float32")


def listed_texts(count: Any, mask: Any) -> Any:
    """The same of losses on listed paths: texts with words and a list, float32 ``[B]``.

    Args:
        count: paths in the list of each text, int ``[B]``.
        mask: 1 at real words, int ``[B, U]``.
    """
    return counted_texts(mask) * ops.cast(count > 0, "float32")


def _mean(values: Any, counted: Any) -> Any:
    return ops.sum(values * counted) / ops.maximum(ops.sum(counted), 1.0)


def crf_nll(emissions: Any, potentials: Any, tags: Any, mask: Any) -> Any:
    """Negative log-likelihood of hard labels: Equation 7.

    Args:
        emissions, potentials, mask: see the module.
        tags: gold ids or the teacher's best path, int ``[B, U]``; a text in which a real word has a
            negative one is not counted, nor is one whose labels are forbidden, such as a window
            that begins within an entity.
    """
    paths = ops.expand_dims(tags, 1)
    log_p = log_probabilities(emissions, potentials, paths, mask)[:, 0]
    return _mean(-log_p, legal_texts(potentials, tags, mask))


def sequence_cross_entropy(
    emissions: Any, potentials: Any, tags: Any, log_p: Any, log_residual: Any, count: Any, mask: Any
) -> Any:
    """Cross-entropy over the teacher's K best paths and the rest of the mass: Equation 4.

    Args:
        emissions, potentials, mask: the student's, see the module.
        tags, log_p, log_residual, count: the teacher's, ``[B, K, U]``, ``[B, K]``, ``[B]``, and
            ``[B]``; a text without any path is not counted.
    """
    log_q, log_rest = listed_and_rest(emissions, potentials, tags, count, mask)
    listed = ops.sum(_listed(log_p, count) * log_q, axis=-1)
    return _mean(-listed - ops.exp(log_residual) * log_rest, listed_texts(count, mask))


def fuzzy_cross_entropy(
    emissions: Any, potentials: Any, tags: Any, log_p: Any, log_residual: Any, count: Any, mask: Any
) -> Any:
    """Cross-entropy of the mass on all K paths together: Equation 6.

    Arguments are those of `sequence_cross_entropy`, which is the same for K = 1.
    """
    log_q, log_rest = listed_and_rest(emissions, potentials, tags, count, mask)
    listed = ops.sum(_listed(log_p, count), axis=-1) * ops.logsumexp(log_q, axis=-1)
    return _mean(-listed - ops.exp(log_residual) * log_rest, listed_texts(count, mask))


def _listed(log_p: Any, count: Any) -> Any:
    """The probabilities of the first paths, 0 for the rest, ``[B, K]``."""
    return ops.where(are_listed(log_p, count), ops.exp(log_p), 0.0)


def token_emissions(emissions: Any, teacher_emissions: Any, mask: Any) -> Any:
    """Cross-entropy of single labels, from emissions alone: Equation 10, the paper's Token-em.

    The paper calls it a KL divergence, which it is but for the teacher's entropy, and has T and L
    the wrong way round: the sum over words goes to L, that over labels to T.
    """
    p = ops.softmax(teacher_emissions, axis=-1)
    return _of_words(p * ops.log_softmax(emissions, axis=-1), mask)


def token_marginals(
    emissions: Any, potentials: Any, teacher_emissions: Any, teacher_potentials: Any, mask: Any
) -> Any:
    """Cross-entropy of single labels, from the marginals of both CRFs: the paper's Token-pos."""
    p = ops.exp(log_marginals(teacher_emissions, teacher_potentials, mask))
    return _of_words(p * log_marginals(emissions, potentials, mask), mask)


def _of_words(log_likelihoods: Any, mask: Any) -> Any:
    of_words = ops.sum(log_likelihoods, axis=-1) * ops.cast(mask, "float32")
    return _mean(-ops.sum(of_words, axis=-1), counted_texts(mask))
