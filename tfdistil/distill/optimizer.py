"""AdamW with a warm-up, a decay and a factor per layer group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

from tfdistil.errors import RecipeError
from tfdistil.recipe.schema.stages import OptimizerSpec

if keras.backend.backend() == "tensorflow":
    from tfdistil.distill.tensorflow_adam import AdamUpdate
else:

    class AdamUpdate(keras.optimizers.AdamW):  # type: ignore[no-redef]
        """Other backends use Keras' own update."""


@keras.saving.register_keras_serializable("tfdistil")
class WarmupDecay(keras.optimizers.schedules.LearningRateSchedule):
    """A linear rise from 0 to ``peak``, then a decay to ``final``, or none.

    Args:
        peak, final: learning rates.
        steps: all updates; the decay ends there.
        warmup: updates spent rising.
        shape: ``cosine``, ``linear`` or ``constant``.
        accumulate: batches to an update; an optimizer that accumulates counts batches here.
    """

    def __init__(
        self, peak: float, final: float, steps: int, warmup: int, shape: str, accumulate: int = 1
    ):
        self.peak, self.final, self.steps, self.warmup = peak, final, steps, warmup
        self.shape, self.accumulate = shape, accumulate

    def __call__(self, step: Any) -> Any:
        """The learning rate at batch number ``step`` (from 0)."""
        step = ops.floor(ops.cast(step, "float32") / self.accumulate)
        rising = (step + 1.0) / (self.warmup + 1.0)
        progress = (step - self.warmup) / max(1, self.steps - self.warmup)
        progress = ops.clip(progress, 0.0, 1.0)
        falling = {
            "cosine": 0.5 * (1.0 + ops.cos(3.141592653589793 * progress)),
            "linear": 1.0 - progress,
            "constant": ops.ones_like(progress),
        }[self.shape]
        decayed = self.final + (self.peak - self.final) * falling
        return ops.where(step < self.warmup, self.peak * rising, decayed)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            "peak": self.peak,
            "final": self.final,
            "steps": self.steps,
            "warmup": self.warmup,
            "shape": self.shape,
            "accumulate": self.accumulate,
        }


class LayerwiseAdamW(AdamUpdate):
    """AdamW whose learning rate has a factor per weight.

    Args:
        factors: weight path to factor; 1 where a weight is not in it.
        arguments: of ``keras.optimizers.AdamW``.
    """

    def __init__(self, factors: Mapping[str, float], **arguments: Any):
        super().__init__(name="adamw", **arguments)
        self.factors = dict(factors)
        self._by_index: list[float] = []

    def build(self, variables: Any) -> None:
        """Make the moments, and look the factors up once."""
        super().build(variables)
        self._by_index = [self.factors.get(variable.path, 1.0) for variable in variables]

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """One Adam update, scaled. ``variable`` may be the backend's own, which has no path."""
        factor = self._by_index[self._get_variable_index(variable)]
        super().update_step(gradient, variable, learning_rate * factor)


TERMS = "terms"
"""In the rates: what the terms of a stage learn beside the student, such as their weights."""


def parts_of(student: Any) -> list[tuple[str, Sequence[keras.Variable]]]:
    """What a student's layer groups have parts of that may learn at a rate of their own."""
    declared: Callable[[], Any] | None = getattr(student, "rate_groups", None)
    return [] if declared is None else declared()


def check_rates(
    rates: Mapping[str, float], student: Any, place: str, beside: Sequence[str] = ()
) -> None:
    """Make sure that there is what rates are given for.

    Args:
        rates: by layer group, or part of one.
        student: has `layer_groups`, and `rate_groups` where these have parts.
        place: of the rates in the recipe.
        beside: what learns beside the student.

    Raises:
        RecipeError: there is not.
    """
    known = [*(name for name, _ in [*student.layer_groups(), *parts_of(student)]), *beside]
    if unknown := [name for name in rates if name not in known]:
        raise RecipeError(f"{place} names the layer groups {unknown}; the student has {known}")


def layer_factors(
    groups: Sequence[tuple[str, Sequence[keras.Variable]]],
    decay: float,
    own: Mapping[str, float] | None = None,
    parts: Sequence[tuple[str, Sequence[keras.Variable]]] = (),
) -> dict[str, float]:
    """What the learning rate is multiplied by, by the path of each weight.

    Args:
        groups: top to bottom.
        decay: d; the weights of the i-th group from the top have d^i (Howard and Ruder 2018).
        own: factors of groups and parts that have another one.
        parts: of groups; one without a factor of its own has that of its group.
    """
    own = own or {}
    factors = {
        w.path: own.get(name, decay**i) for i, (name, weights) in enumerate(groups) for w in weights
    }
    return factors | {w.path: own[name] for name, weights in parts if name in own for w in weights}


def make_optimizer(
    spec: OptimizerSpec,
    steps: int,
    groups: Sequence[tuple[str, Sequence[keras.Variable]]],
    others: Sequence[keras.Variable] = (),
    accumulate: int = 1,
    parts: Sequence[tuple[str, Sequence[keras.Variable]]] = (),
) -> LayerwiseAdamW:
    """A fresh optimizer for one phase of ``steps`` updates, each from ``accumulate`` batches.

    Biases and normalisation weights (rank 1) are not decayed, nor is what has the rate 0 (Keras
    decays by the rate before its factor), nor what learns beside the layer groups (``others``, in
    the rates `TERMS`): decay would pull learned weights of terms to 1.
    ``parts`` of groups may be named in the rates, as groups are.
    """
    warmup = round(spec.warmup * steps)
    own = {name: rate / spec.learning_rate for name, rate in spec.rates.items()}
    schedule = WarmupDecay(
        spec.learning_rate, spec.final_learning_rate, steps, warmup, spec.schedule, accumulate
    )
    factors = (
        layer_factors(groups, spec.layer_decay, own, [*parts, (TERMS, others)])
        if spec.layer_decay < 1 or own
        else {}
    )
    optimizer = LayerwiseAdamW(
        factors,
        learning_rate=schedule,
        weight_decay=spec.weight_decay,
        global_clipnorm=spec.clip,
        epsilon=spec.epsilon,
        gradient_accumulation_steps=accumulate if accumulate > 1 else None,
    )
    learnt = [w for _, weights in groups for w in weights]
    still = [w for w in learnt if len(w.shape) < 2 or factors.get(w.path) == 0]
    optimizer.exclude_from_weight_decay(var_list=[*others, *still])
    return optimizer
