"""How the values of a stage's terms add up to its loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from keras import ops


@dataclass(frozen=True)
class Weighting:
    """What each term adds to the loss.

    Attributes:
        function: ``function(value, weight, **parameters)``: of the term's value and the weight that
            the recipe gives it.
        parameters: scalars that each term owns and learns, with what they begin at.
    """

    function: Callable[..., Any]
    parameters: Mapping[str, float] = field(default_factory=dict)


def fixed(value: Any, weight: float) -> Any:
    """The recipe's weights: Σ w_i L_i."""
    return weight * value


def uncertainty(value: Any, weight: float, log_weight: Any) -> Any:
    """Learned weights: Σ λ_i L_i - ½ Σ log λ_i (multi-grained distillation, Equation 9).

    The log of λ is what learns, from 0 on, so that λ stays above 0 and begins at 1. The recipe's
    weights are not looked at; with this weighting it has none.
    """
    del weight
    return ops.exp(log_weight) * value - 0.5 * log_weight


WEIGHTINGS = {
    "fixed": Weighting(fixed),
    "uncertainty": Weighting(uncertainty, {"log_weight": 0.0}),
}
"""By the name that ``weighting`` has in a recipe."""
