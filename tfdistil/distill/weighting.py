"""How the values of a stage's terms add up to its loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import keras
from keras import ops

MOST = 100.0
"""The greatest λ, and 1 / MOST the least: the best λ is 1 / 2L, which has no bound where a term's
value L goes to 0, and a loss that is learnt would take over from all others."""


@dataclass(frozen=True)
class Weighting:
    """What each term adds to the loss.

    Attributes:
        function: ``function(value, weight, **parameters)``: of the term's value and the weight that
            the recipe gives it.
        parameters: scalars that each term owns and learns, with what they begin at.
        constraint: where an update that leaves their range puts them.
    """

    function: Callable[..., Any]
    parameters: Mapping[str, float] = field(default_factory=dict)
    constraint: keras.constraints.Constraint | None = None


class LogRange(keras.constraints.Constraint):
    """The logs of 1 / ``most`` to ``most``."""

    def __init__(self, most: float):
        self.most = most

    def __call__(self, value: Any) -> Any:
        """The nearest in the range."""
        return ops.clip(value, -math.log(self.most), math.log(self.most))


def fixed(value: Any, weight: float) -> Any:
    """The recipe's weights: Σ w_i L_i."""
    return weight * value


def uncertainty(value: Any, weight: float, log_weight: Any) -> Any:
    """Learned weights: Σ λ_i L_i - ½ Σ log λ_i (multi-grained distillation, Equation 9).

    The log of λ is what learns, from 0 on, so that λ is positive and begins at 1; it stays between
    1 / `MOST` and `MOST`. The recipe's weights are not looked at; with this weighting it has none.
    """
    del weight
    return ops.exp(log_weight) * value - 0.5 * log_weight


WEIGHTINGS = {
    "fixed": Weighting(fixed),
    "uncertainty": Weighting(uncertainty, {"log_weight": 0.0}, LogRange(MOST)),
}
"""By the name that ``weighting`` has in a recipe."""
