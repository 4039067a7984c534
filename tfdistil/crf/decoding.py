"""Decoding one text with a CRF, in float64. NumPy only: the runtime reads potentials off the file.

What the potentials forbid is impossible here, whatever the emissions. Of paths with the same score,
the one with the lowest label at the first word where they differ is the better one.
"""

from __future__ import annotations

import numpy as np

from tfdistil.crf.constraints import is_forbidden


def viterbi(emissions: np.ndarray, potentials: np.ndarray) -> np.ndarray:
    """The best path.

    Args:
        emissions: ``[U, L]``.
        potentials: ``[L + 2, L]``, see `tfdistil.crf`.

    Returns:
        Label ids, int32 ``[U]``.
    """
    steps, start, end = _parts(potentials)
    suffixes = np.array(emissions, np.float64)
    tags = np.zeros(len(suffixes), np.int32)
    beyond = end
    for place in reversed(range(len(suffixes))):
        suffixes[place] += beyond
        beyond = (steps + suffixes[place]).max(axis=1)
    from_here = start
    for place, suffix in enumerate(suffixes):
        tags[place] = (from_here + suffix).argmax()
        from_here = steps[tags[place]]
    return tags


def path_score(emissions: np.ndarray, potentials: np.ndarray, tags: np.ndarray) -> float:
    """The sum of a path's emissions and potentials, -inf if it is forbidden.

    Args:
        emissions, potentials: as of `viterbi`.
        tags: label ids, int ``[U]``, U at least 1.
    """
    steps, start, end = _parts(potentials)
    own = np.asarray(emissions, np.float64)[np.arange(len(tags)), tags].sum()
    return float(own + start[tags[0]] + steps[tags[:-1], tags[1:]].sum() + end[tags[-1]])


def k_best(emissions: np.ndarray, potentials: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The K best paths.

    Args:
        emissions, potentials: as of `viterbi`.
        k: K, at least 1.

    Returns:
        Label ids int32 ``[n, U]``, best first, and their probabilities, float64 ``[n]``. n is K, or
        less where fewer paths are legal.
    """
    steps, start, end = _parts(potentials)
    labels, words = len(start), len(emissions)
    if not words:
        return np.zeros((1, 0), np.int32), np.ones(1)
    # The K best ways to go on from each label, [L, K], best first.
    beyond = np.full((labels, k), -np.inf)
    beyond[:, 0] = end
    pointers = np.empty((words, labels * k), np.int64)
    suffixes = np.empty((words, labels, k))
    for place in reversed(range(words)):
        suffixes[place] = np.asarray(emissions[place], np.float64)[:, None] + beyond
        ways = (steps[:, :, None] + suffixes[place]).reshape(labels, labels * k)
        chosen = np.argsort(-ways, axis=1, kind="stable")[:, :k]
        beyond = np.take_along_axis(ways, chosen, axis=1)
        pointers[place] = chosen.ravel()
    scores = (start[:, None] + suffixes[0]).ravel()
    state = np.argsort(-scores, kind="stable")[:k]
    state = state[scores[state] > -np.inf]
    log_p = scores[state] - _log_partition(emissions, potentials)
    tags = np.empty((len(state), words), np.int32)
    for place in range(words):
        tags[:, place] = state // k
        if place + 1 < words:
            state = pointers[place + 1][state]
    return tags, np.exp(log_p)


def marginals(emissions: np.ndarray, potentials: np.ndarray) -> np.ndarray:
    """The probability of each label of each word, float64 ``[U, L]``, by forward-backward.

    Args:
        emissions, potentials: as of `viterbi`.
    """
    steps, start, end = _parts(potentials)
    suffixes = _log_sums(emissions[::-1], end, steps)[::-1]
    prefixes = _log_sums(emissions, start, steps.T)
    through = prefixes + suffixes - emissions
    odds = np.exp(through - through.max(axis=1, keepdims=True, initial=-np.inf))
    return odds / odds.sum(axis=1, keepdims=True)


def _log_partition(emissions: np.ndarray, potentials: np.ndarray) -> float:
    steps, start, end = _parts(potentials)
    return float(np.logaddexp.reduce(start + _log_sums(emissions[::-1], end, steps)[-1]))


def _log_sums(emissions: np.ndarray, beyond: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Log of the sum over all ways to a label of each word, ``[U, L]``.

    ``beyond [L]`` is the score of the first word's labels.
    """
    found = np.array(emissions, np.float64)
    for own in found:
        own += beyond
        beyond = np.logaddexp.reduce(steps + own, axis=1)
    return found


def _parts(potentials: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps ``[L, L]``, start and end scores ``[L]``; -inf where they forbid."""
    scores = np.where(is_forbidden(potentials), -np.inf, np.asarray(potentials, np.float64))
    return scores[:-2], scores[-2], scores[-1]
