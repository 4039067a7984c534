"""Slots that depend on the intent (pQRNN, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from tfdistil.device_ops import argmax, gather
from tfdistil.heads.spec import HeadSpec
from tfdistil.quantization.engines import find_engine
from tfdistil.quantization.observers import RangeObserver


@keras.saving.register_keras_serializable(package="tfdistil")
class IntentCondition(keras.layers.Layer):
    """Adds ``W[intent]`` to the logits of every word (section 4.1).

    Args:
        intents: I, rows of W; they start at 0.
        units: A, its columns: the size of the word-level output.
        l2: adds ``l2 * sum(W ** 2)`` to the losses.
        quantize: a name of `tfdistil.quantization.ENGINES`, or None for float.
    """

    def __init__(
        self, intents: int, units: int, l2: float = 0.0, quantize: str | None = None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.intents, self.units, self.l2, self.quantize = intents, units, l2, quantize
        self._rounding = find_engine(quantize)
        self.range = RangeObserver(quantize, name="range")

    def build(self, input_shape: Any = None) -> None:
        """Create ``kernel [I, A]``."""
        self.kernel = self.add_weight(
            shape=(self.intents, self.units),
            initializer="zeros",
            regularizer=keras.regularizers.L2(self.l2) if self.l2 else None,
            name="kernel",
        )
        self.range.build((None, None, self.units))
        super().build(input_shape)

    def call(self, logits: Any, intent: Any, real: Any, training: bool | None = None) -> Any:
        """``logits [B, T, A]`` of texts with these intents, int ``[B]``; ``real [B, T, 1]``."""
        table = self._rounding.kernel(self.kernel, per_channel=False)
        added = ops.expand_dims(gather(table, intent), 1)
        return self.range(logits + added, real, training=training)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "intents": self.intents,
            "units": self.units,
            "l2": self.l2,
            "quantize": self.quantize,
        }


def intent_of(outputs: Mapping[str, HeadSpec]) -> str | None:
    """The output that words may depend on: the only one per text; None where there are not both."""
    per_text = [name for name, spec in outputs.items() if spec.level == "sequence"]
    of_words = any(spec.level == "word" for spec in outputs.values())
    return per_text[0] if len(per_text) == 1 and of_words else None


def make_conditions(
    specs: Mapping[str, HeadSpec], outputs: Mapping[str, HeadSpec], **options: Any
) -> dict[str, IntentCondition]:
    """A layer for each signal at word level; none where words depend on no intent.

    Args:
        specs: what each signal of the heads scores.
        outputs: what each output of the task is.
        options: further arguments of `IntentCondition`.
    """
    intent = intent_of(outputs)
    if intent is None:
        return {}
    return {
        signal: IntentCondition(
            outputs[intent].size, spec.size, name=f"{signal.replace('/', '_')}_condition", **options
        )
        for signal, spec in specs.items()
        if spec.level == "word"
    }


def chosen_intent(
    intent: str, predicted: Any, inputs: Mapping[str, Any], training: bool | None
) -> Any:
    """Ids of the intents that words depend on, int32 ``[B]``.

    They are the predicted ones; in training the gold ones, or where there are none the teacher's
    best.

    Args:
        intent: the output's name.
        predicted: its logits ``[B, I]`` or ``[B, 1, I]``, of the head whose words are scored.
        inputs: in training ``target/<intent>`` int ``[B]``, -1 where unknown, and
            ``teacher/<head>/<intent> [B, I]``, if they are there.
        training: whether the model trains.
    """
    chosen = ops.reshape(argmax(predicted), (-1,))
    if not training:
        return chosen
    # Whatever its teacher's head is called; of several heads the first one counts.
    heard = sorted(
        name for name in inputs if name.startswith("teacher/") and name.endswith(f"/{intent}")
    )
    if heard:
        chosen = argmax(inputs[heard[0]])
    gold = inputs.get(f"target/{intent}")
    if gold is None:
        return chosen
    gold = ops.cast(gold, "int32")
    return ops.where(gold >= 0, gold, chosen)
