"""What students with a projection have in common, whatever they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
from keras import ops

from tfdistil.arguments import check_flags, check_rates, check_some
from tfdistil.encoders.layers import Dense
from tfdistil.heads.model import HeadedModel
from tfdistil.heads.spec import Level
from tfdistil.students.intent_condition import chosen_intent, intent_of, make_conditions

PROJECTIONS = {"gelu": "gelu", "linear": None}
"""The Keras activation of a projection by its name. GELU is bounded below, by -0.17: the softmax of
`hidden_kl` does not mind, the squared error of `hidden_mse` does."""


class Student(HeadedModel):
    """A body with a projection and a linear layer per head and output on top of it.

    A subclass sets the layers of its body, calls `_add_top`, then `build`; and it defines
    `body_levels`, `_build_body`, `_body`, `body_groups` and `input_specs`.

    Args:
        outputs: task output to ``(level, size)``, such as ``{"tags": ("word", 9)}``; at least one.
        heads: their names, or each name with its kind, see `tfdistil.heads.spec.check_heads`.
        dropout: rate in front of projection and heads.
        projection: the teacher's width; adds the signal ``projection`` = ``f(W h + b)``. None: no
            projection.
        projection_activation: f, a key of `PROJECTIONS`: ``gelu`` (XtremeDistil, equation 5) or
            ``linear``.
        head_input: what the heads read: ``hidden`` or ``projection``.
        intent_condition: whether ``W[intent]`` is added to the scores of words, as by a pQRNN, see
            `tfdistil.students.intent_condition`.
        seed: makes initialization and dropout reproducible.

    Raises:
        ValueError: no rates, outputs, heads or ``head_input`` that do not fit together, an unknown
            ``projection_activation``, or an ``intent_condition`` of other outputs than of words and
            one per text.
    """

    def __init__(
        self,
        outputs: Mapping[str, tuple[Level, int]],
        heads: Sequence[str] | Mapping[str, str | Mapping[str, Any]],
        dropout: float,
        projection: int | None,
        projection_activation: str,
        head_input: str,
        intent_condition: bool,
        seed: int | None,
        **kwargs: Any,
    ):
        super().__init__(outputs, heads, **kwargs)
        check_some(outputs)
        check_rates(dropout=dropout)
        check_flags(intent_condition=intent_condition)
        if projection_activation not in PROJECTIONS:
            known = ", ".join(PROJECTIONS)
            raise ValueError(f"projection_activation is {projection_activation!r}; it is {known}")
        if head_input not in ("hidden", "projection"):
            raise ValueError(f"head_input is 'hidden' or 'projection', got {head_input!r}")
        if head_input == "projection" and projection is None:
            raise ValueError("head_input 'projection' needs a projection width, got None")
        self.intent = intent_of(self.outputs_spec) if intent_condition else None
        if intent_condition and self.intent is None:
            raise ValueError(
                "intent_condition is for outputs of words and exactly one per text; got "
                f"{', '.join(self.outputs_spec)}"
            )
        self.dropout, self.projection_width = dropout, projection
        self.projection_activation = projection_activation
        self.head_input, self.seed = head_input, seed

    def body_levels(self) -> dict[str, str]:
        """What `_body` returns, and the projection, each with its level."""
        if self.projection is None:
            return {}
        of_sentence = {"sentence_projection": "sequence"} if self._reads_text() else {}
        return {"projection": "subword", **of_sentence}

    def _reads_text(self) -> bool:
        """Whether `_body` gives ``sentence``."""
        return True

    def _build_body(self) -> int:
        """Create the body's weights; returns the width of ``hidden`` and ``sentence``."""
        raise NotImplementedError

    def _body(
        self, inputs: Mapping[str, Any], training: bool | None, exporting: bool
    ) -> dict[str, Any]:
        """Signals below the projection: ``hidden [B, T, w]``, and ``sentence [B, w]`` of a text.

        Args:
            inputs: of `call`.
            training: whether dropout is on.
            exporting: whether this is the graph for the converter.
        """
        raise NotImplementedError

    def body_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The layer groups below the projection, top to bottom."""
        raise NotImplementedError

    def _seed(self, part: int) -> int | None:
        return None if self.seed is None else self.seed + part

    def _dense(self, units: int, part: int, name: str, **options: Any) -> Dense:
        start = keras.initializers.GlorotUniform(self._seed(part))
        options.setdefault("dtype", self.dtype_policy)
        return Dense(units, kernel_initializer=start, name=name, **options)

    def _add_top(self, part: int) -> None:
        """Make dropout, projection and heads; ``part`` and all after it are their seeds."""
        self.hidden_dropout = keras.layers.Dropout(
            self.dropout, seed=self._seed(part), dtype=self.dtype_policy
        )
        self.projection = (
            self._dense(
                self.projection_width,
                part + 1,
                "projection",
                activation=PROJECTIONS[self.projection_activation],
            )
            if self.projection_width
            else None
        )
        self.head_layers = {
            signal: self._dense(spec.size, part + 2 + n, signal.replace("/", "_"), dtype="float32")
            for n, (signal, spec) in enumerate(self.head_specs.items())
        }
        self.conditions = (
            {}
            if self.intent is None
            else make_conditions(self.head_specs, self.outputs_spec, dtype="float32")
        )

    def build(self, input_shape: Any = None) -> None:
        """Create all weights; done by the constructor."""
        del input_shape
        if next(iter(self.head_layers.values())).built:
            return
        features = self._build_body()
        if self.projection is not None and self.projection_width is not None:
            self.projection.build((None, None, features))
            if self.head_input == "projection":
                features = self.projection_width
        for layer in self.head_layers.values():
            layer.build((None, None, features))
        for condition in self.conditions.values():
            condition.build()

    def call(self, inputs: Mapping[str, Any], training: bool | None = None) -> dict[str, Any]:
        """All signals by name, see the class.

        Args:
            inputs: what the body reads; with `intent_condition` in training also what
                `chosen_intent` does. Other entries are not looked at.
            training: whether dropout is on, and words depend on the given intent.
        """
        return self._signals(inputs, training)

    def _signals(
        self, inputs: Mapping[str, Any], training: bool | None, exporting: bool = False
    ) -> dict[str, Any]:
        signals = self._body(inputs, training, exporting)
        rows = {"word": "hidden", "sequence": "sentence"}
        features = {
            level: self.hidden_dropout(signals[name], training=training)
            for level, name in rows.items()
            if name in signals
        }
        if self.projection is not None:
            projected = {level: self.projection(x) for level, x in features.items()}
            names = {"word": "projection", "sequence": "sentence_projection"}
            signals |= {names[level]: x for level, x in projected.items()}
            if self.head_input == "projection":
                features = projected
        scores = {
            signal: layer(features[self.head_specs[signal].level])
            for signal, layer in self.head_layers.items()
        }
        for signal, condition in self.conditions.items():
            # As rows of one: of what a product gives the converter would find the highest in float.
            predicted = ops.expand_dims(scores[f"{signal.partition('/')[0]}/{self.intent}"], 1)
            intent = chosen_intent(str(self.intent), predicted, inputs, training)
            scores[signal] = condition(scores[signal], intent, None, training=training)
        return signals | self._with_heads(scores, inputs)

    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """``heads``, ``projection`` (where there is one), then those of the body.

        Every weight is in exactly one group.
        """
        conditions = [weight for layer in self.conditions.values() for weight in layer.weights]
        groups = [("heads", self._head_weights() + conditions)]
        if self.projection is not None:
            groups.append(("projection", self.projection.weights))
        return [*groups, *self.body_groups()]

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "dropout": self.dropout,
            "projection": self.projection_width,
            "projection_activation": self.projection_activation,
            "head_input": self.head_input,
            "intent_condition": self.intent is not None,
            "seed": self.seed,
        }
