"""Slots that depend on the intent (pQRNN, section 4.1)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from tfdistil.device_ops import gather
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
