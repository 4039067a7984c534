"""The oracle: every label path of a text, one by one, in float64."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from tfdistil.crf.constraints import IMPOSSIBLE


@dataclass(frozen=True)
class Enumerated:
    """All legal paths of a text, best first; of equal ones the lexicographically lowest is first.

    Attributes:
        paths: ``[n, U]``; scores: ``[n]``; log_p: ``[n]``.
    """

    paths: np.ndarray
    scores: np.ndarray
    log_p: np.ndarray

    @property
    def log_z(self) -> float:
        return float(np.logaddexp.reduce(self.scores))

    def log_p_of(self, tags) -> float:
        (found,) = np.flatnonzero((self.paths == np.asarray(tags)).all(-1))
        return float(self.log_p[found])

    def log_residual(self, listed) -> float:
        """Of all paths that are not listed; `IMPOSSIBLE` where there are none."""
        left = np.array([path not in {*map(tuple, listed)} for path in map(tuple, self.paths)])
        return float(np.logaddexp.reduce(self.log_p[left])) if left.any() else IMPOSSIBLE

    def marginals(self, labels: int) -> np.ndarray:
        return np.einsum("n,nul->ul", np.exp(self.log_p), np.eye(labels)[self.paths])


def enumerate_paths(emissions, potentials) -> Enumerated:
    """All legal paths of one text, ``[U, L]``, without padding."""
    emissions, potentials = np.asarray(emissions, "f8"), np.asarray(potentials, "f8")
    words, labels = emissions.shape
    paths = np.array([*product(range(labels), repeat=words)], int)
    steps, start, end = potentials[:-2], potentials[-2], potentials[-1]
    parts = [emissions[np.arange(words), paths], steps[paths[:, :-1], paths[:, 1:]]]
    if words:
        parts += [start[paths[:, :1]], end[paths[:, -1:]]]
    parts = np.concatenate(parts, axis=1)
    legal = (parts > IMPOSSIBLE / 2).all(axis=1)
    paths, scores = paths[legal], parts[legal].sum(axis=1)
    order = np.lexsort((*paths.T[::-1], -scores))
    paths, scores = paths[order], scores[order]
    return Enumerated(paths, scores, scores - np.logaddexp.reduce(scores))


@dataclass(frozen=True)
class Batch:
    """Texts of unequal length, padded with noise; the arguments of the functions under test."""

    emissions: np.ndarray
    potentials: np.ndarray
    mask: np.ndarray

    @property
    def lengths(self) -> list[int]:
        return self.mask.sum(axis=1).tolist()

    def text(self, i: int) -> Enumerated:
        return enumerate_paths(self.emissions[i, : self.lengths[i]], self.potentials)

    def texts(self) -> list[Enumerated]:
        return [self.text(i) for i in range(len(self.mask))]


def iob2(types: int) -> np.ndarray:
    """The legal steps of O and types with B and I, bool ``[L + 2, L]``, written down by hand."""
    labels = 1 + 2 * types
    legal = np.ones((labels + 2, labels), bool)
    for inside in range(2, labels, 2):
        legal[:-1, inside] = False
        legal[[inside - 1, inside], inside] = True
    return legal


def iobes() -> np.ndarray:
    """The same for O, B, I, E, S of one type; an entity must end with E or be S."""
    o, b, i, e, s = range(5)
    legal = np.zeros((7, 5), bool)
    for outside in (o, e, s, 5):
        legal[outside, [o, b, s]] = True
    for within in (b, i):
        legal[within, [i, e]] = True
    legal[6, [o, e, s]] = True
    return legal


SCHEMES = {"none": np.ones((6, 4), bool), "iob2": iob2(2), "iobes": iobes()}


def random_batch(
    seed: int, lengths, scheme: str = "iob2", words: int | None = None, whole: bool = False
) -> Batch:
    """Scores from a normal distribution, or whole numbers, which makes ties."""
    rng = np.random.default_rng(seed)
    legal = SCHEMES[scheme]
    words = max(lengths) if words is None else words

    def draw(*shape):
        if whole:
            return rng.integers(-1, 2, shape).astype("float32")
        return rng.normal(scale=1.5, size=shape).astype("float32")

    potentials = np.where(legal, draw(*legal.shape), IMPOSSIBLE).astype("float32")
    mask = (np.arange(words) < np.array(lengths)[:, None]).astype("int32")
    return Batch(draw(len(lengths), words, legal.shape[1]), potentials, mask)
