"""Terms on pieces that are computed where there is something to guess, and nowhere else.

Of a batch's pieces a masked language model guesses 15 %. The scores of all others, each as wide as
the vocabulary, would be made, normalized and kept for the gradient only to count for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from tfdistil.distill.terms import Term

_STEP = 64
"""Places come in multiples of it, since JAX compiles for each number of them."""


def places_key(target: str) -> str:
    """What a batch calls the places of a target of pieces.

    They are int32 ``[S]``, row · T + position of each piece that has one, then -1.
    """
    return f"places/{target}"


def places_of(chosen: np.ndarray, share: float) -> np.ndarray:
    """The places of the chosen pieces, see `places_key`.

    Args:
        chosen: bool ``[B, T]``.
        share: of the pieces that are chosen, about: as many places there are at least.
    """
    found = np.flatnonzero(chosen)
    least = max(len(found), int(share * chosen.size), 1)
    places = np.full(-(-least // _STEP) * _STEP, -1, np.int32)
    places[: len(found)] = found
    return places


class Places:
    """The places that the terms of a stage look at.

    A term is computed at the places of its target if it reads one and signals with a row for each
    piece. Where all terms of a stream that read scores of pieces do so at the same places, models
    are told to score nothing else.

    Args:
        terms: of the stage.
        student, teacher: the models that their signals are read off; a teacher where one runs in
            the step.
    """

    def __init__(self, terms: Sequence[Term], student: Any, teacher: Any = None):
        self._sides = {"student": _Side(student), "teacher": _Side(teacher)}
        self._placed = {term.label for term in terms if self._has_places(term)}
        self._targets = {
            stream: self._common_target([term for term in terms if term.stream == stream])
            for stream in {term.stream for term in terms}
        }

    def _has_places(self, term: Term) -> bool:
        names = {"student": term.student, "teacher": term.teacher}
        if term.align != "subword" or term.target is None:
            return False
        return not any(
            self._sides[side].level(name) == "window" for side in names for name in names[side]
        )

    def _common_target(self, terms: Sequence[Term]) -> str | None:
        """The one at whose places alone terms read scores of pieces."""
        scores = self._sides["student"].scores | self._sides["teacher"].scores
        targets = {
            term.target if term.label in self._placed else None
            for term in terms
            if scores.intersection((*term.student, *term.teacher))
        }
        return targets.pop() if len(targets) == 1 else None

    def inputs(self, stream: str, batch: Mapping[str, Any]) -> dict[str, Any]:
        """What models read of a stream's batch: with ``scored`` where some pieces are enough."""
        places = self._scored(stream, batch)
        return dict(batch) | ({} if places is None else {"scored": ops.maximum(places, 0)})

    def _scored(self, stream: str, batch: Mapping[str, Any]) -> Any:
        target = self._targets[stream]
        return None if target is None else batch.get(places_key(target))

    def of(self, term: Term, batch: Mapping[str, Any]) -> Any:
        """The places of a term in a batch, int ``[S]``; None: it is computed at all pieces."""
        if term.label not in self._placed or term.target is None:
            return None
        return batch.get(places_key(term.target))

    def signals(self, term: Term, batch: Mapping[str, Any], side: str, found: list[Any]) -> list:
        """Signals that a term reads off a ``student`` or ``teacher``, at its places."""
        places = self.of(term, batch)
        if places is None:
            return found
        own = self._sides[side]
        there = own.scores if self._scored(term.stream, batch) is not None else frozenset()
        return [
            signal if name in there or own.level(name) == "model" else _rows(signal, places)
            for name, signal in zip(getattr(term, side), found, strict=True)
        ]

    def targets(self, term: Term, batch: Mapping[str, Any], target: Any, mask: Any) -> dict:
        """Target and mask of a term, at its places."""
        places = self.of(term, batch)
        if places is None:
            return {"target": target, "mask": mask}
        there = ops.cast(places >= 0, mask.dtype)
        return {"target": _rows(target, places), "mask": _rows(mask, places) * there}


class _Side:
    """A model whose signals terms read, or none.

    Attributes:
        scores: its scores of pieces, which it can make of some pieces alone.
    """

    def __init__(self, model: Any):
        self._model = model
        specs: Mapping[str, Any] = getattr(model, "head_specs", {})
        self.scores = frozenset(name for name, spec in specs.items() if spec.level == "subword")

    def level(self, signal: str) -> str:
        return self._model.level(signal)


def _rows(signal: Any, places: Any) -> Any:
    """``[B, T, ...]`` to ``[S, ...]``; of a place that is none, anything."""
    rows = ops.reshape(signal, (-1, *signal.shape[2:]))
    return ops.take(rows, ops.maximum(places, 0), axis=0)
