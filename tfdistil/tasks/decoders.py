"""From scores to labels, by the kind of the head that gave the scores. NumPy only.

A model says which kind each of its outputs has, and the constants of that head
(`tfdistil.heads.model.HeadedModel.decoding`); a file for the device says it in ``tfdistil.json``.
Both are read here, so both give the same labels. A new kind is one class under `decoder`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfdistil.crf.constraints import IMPOSSIBLE, legal_steps
from tfdistil.crf.decoding import k_best, marginals, path_score, viterbi
from tfdistil.registry import entering
from tfdistil.tasks.base import Output
from tfdistil.tasks.iob2 import best_legal_path, probabilities


class Decoder:
    """The decoder of a linear head: the legal labels with the highest sum of scores.

    Args:
        labels: scores in a row.

    Further arguments of a subclass are the constants of its head, as arrays of float64; its
    constructor raises ValueError where one has another shape than it needs.
    """

    def __init__(self, labels: int):
        self.labels = labels

    def words(self, scores: np.ndarray, start: np.ndarray, follow: np.ndarray) -> np.ndarray:
        """Labels of all words together.

        Args:
            scores: float ``[words, labels]``.
            start: bool ``[labels]``; follow: bool ``[labels, labels]``: what may begin a text and
                what may follow what, see `tfdistil.tasks.iob2.allowed_transitions`.

        Returns:
            Legal ids, int ``[words]``.
        """
        return best_legal_path(scores, start, follow)

    def probabilities(
        self, scores: np.ndarray, start: np.ndarray, follow: np.ndarray, path: np.ndarray
    ) -> list[float]:
        """The probability of each label of a path ``[words]``; the rest as of `words`."""
        del start, follow
        return probabilities(scores, path)

    def score(self, scores: np.ndarray, path: np.ndarray) -> float:
        """What `words` finds the most of: the score of a path ``[words]``, at least one word."""
        return float(scores[np.arange(len(path)), path].sum())

    def k_best(
        self, scores: np.ndarray, start: np.ndarray, follow: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The k best paths; the rest as of `words`.

        Returns:
            Legal ids, int ``[n, words]``, best first, and the probability of each path, ``[n]``; n
            is less than k where fewer paths are legal.

        Raises:
            ValueError: a head that gives no probabilities of paths.
        """
        raise ValueError(
            "the model's head scores one word at a time; k sequences need one of the kind crf"
        )

    def text(self, scores: np.ndarray) -> tuple[int, float]:
        """The label of a text, from its scores ``[labels]``, and its probability."""
        best = int(scores.argmax())
        # What `probabilities` gives, without the steps that many rows need.
        odds = np.exp(scores - scores[best], dtype=np.float64)
        return best, 1.0 / float(odds.sum())


DECODERS: dict[str, Callable[..., Decoder]] = {"linear": Decoder}
"""By the kind of the head."""


def decoder(kind: str) -> Callable[[Callable[..., Decoder]], Callable[..., Decoder]]:
    """Register a class of decoders under the kind of head it is for.

    Raises:
        ValueError: there is one for that kind.
    """
    return entering(DECODERS, kind)


@decoder("crf")
class CrfDecoder(Decoder):
    """The best legal path of a CRF, and the marginal probability of each of its labels.

    Args:
        labels: L.
        potentials: float ``[L + 2, L]``, see `tfdistil.crf`.
    """

    def __init__(self, labels: int, potentials: np.ndarray):
        super().__init__(labels)
        if potentials.shape != (labels + 2, labels):
            raise ValueError(f"potentials are {list(potentials.shape)} for {labels} labels")
        self.potentials = potentials

    def words(self, scores: np.ndarray, start: np.ndarray, follow: np.ndarray) -> np.ndarray:
        """See `Decoder.words`."""
        return viterbi(scores, self._legal(start, follow))

    def probabilities(
        self, scores: np.ndarray, start: np.ndarray, follow: np.ndarray, path: np.ndarray
    ) -> list[float]:
        """See `Decoder.probabilities`."""
        found = marginals(scores, self._legal(start, follow))
        return found[np.arange(len(path)), path].tolist()

    def score(self, scores: np.ndarray, path: np.ndarray) -> float:
        """See `Decoder.score`."""
        return path_score(scores, self.potentials, path)

    def k_best(
        self, scores: np.ndarray, start: np.ndarray, follow: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Decoder.k_best`."""
        return k_best(scores, self._legal(start, follow), k)

    def _legal(self, start: np.ndarray, follow: np.ndarray) -> np.ndarray:
        return np.where(legal_steps(start, follow), self.potentials, IMPOSSIBLE)


def read_decoders(data: Mapping[str, Any], outputs: tuple[Output, ...]) -> dict[str, Decoder]:
    """The decoder of each of a task's outputs.

    Args:
        data: output to its ``kind`` and ``constants`` (name to nested lists of numbers), as plain
            JSON data; an output that is not there has a linear head.
        outputs: the task's.

    Raises:
        ValueError: an unknown kind or output, or constants that do not fit the kind.
    """
    names = [output.name for output in outputs]
    if unknown := sorted(set(data) - set(names)):
        raise ValueError(f"head of an output {unknown[0]!r:.40}, which the task does not have")
    found = {}
    for output in outputs:
        given = data.get(output.name, {"kind": "linear"})
        if not isinstance(given, dict) or not isinstance(given.get("constants", {}), dict):
            raise ValueError(f"head of {output.name!r} is no object with a kind and constants")
        kind = given.get("kind")
        if not isinstance(kind, str) or kind not in DECODERS:
            raise ValueError(
                f"head of {output.name!r} is of the unknown kind {kind!r:.40}; this version knows "
                f"{', '.join(DECODERS)}"
            )
        constants = {
            name: _numbers(name, value) for name, value in given.get("constants", {}).items()
        }
        try:
            found[output.name] = DECODERS[kind](len(output.labels), **constants)
        except (TypeError, ValueError) as error:
            raise ValueError(f"head of {output.name!r} of the kind {kind}: {error}") from None
    return found


def _numbers(name: str, value: Any) -> np.ndarray:
    try:
        array = np.array(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.array(np.nan)
    if not np.isfinite(array).all():
        raise ValueError(f"constant {name!r:.40} of a head is no array of finite numbers")
    return array
