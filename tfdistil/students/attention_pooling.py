"""A row of vectors to one vector, by a learned attention (pQRNN, section 4.1)."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from tfdistil.quantization.engines import SIGMOID, find_engine
from tfdistil.quantization.observers import RangeObserver
from tfdistil.students.convolution import Linear
from tfdistil.students.device_ops import gather

PADDING_SCORE = -20.0
"""The score of padding. Beside a real score of at least 0 its exponential is less than half of what
float32 can add to 1, so that it changes nothing; a lower one would cost an int8 its resolution."""


@keras.saving.register_keras_serializable(package="tfdistil")
class AttentionPooling(keras.layers.Layer):
    """``softmax(O w) O`` over the real positions; ``w`` is learned, without bias.

    Args:
        l2: adds ``l2 * sum(w ** 2)`` to the losses.
        quantize: a name of `tfdistil.quantization.ENGINES`, or None for float.
        seed: makes the initialization reproducible.
    """

    def __init__(
        self,
        l2: float = 0.0,
        quantize: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.l2, self.quantize, self.seed = l2, quantize, seed
        self._rounding = find_engine(quantize)
        self.score = Linear(1, bias=False, l2=l2, quantize=quantize, seed=seed, name="score")
        self.score_range = RangeObserver(
            quantize, covers=(PADDING_SCORE, 0.0), name="masked_score_range"
        )
        self.output_range = RangeObserver(quantize, name="output_range")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Build the score's kernel ``[1, 1, C, 1]`` and the ranges."""
        self.score.build(input_shape)
        self.score_range.build((None, None))
        self.output_range.build((None, input_shape[-1]))
        super().build(input_shape)

    def call(self, x: Any, attention_mask: Any, training: bool | None = None) -> Any:
        """Pool rows.

        Args:
            x: ``[B, T, C]``, 0 at padding.
            attention_mask: int ``[B, T]``, 1 at real positions.
            training: whether ranges follow.

        Returns:
            ``[B, C]``.
        """
        there = ops.cast(attention_mask, "int32")
        scores = self.score(x, training=training)[..., 0]
        # Zeros of x have the score 0, so that padding gets exactly `PADDING_SCORE`.
        bias = gather(np.array([PADDING_SCORE, 0.0], np.float32), there)
        scores = self.score_range(scores + bias, training=training)
        weights = self._rounding.activation(ops.softmax(scores, axis=-1), *SIGMOID)
        pooled = ops.matmul(ops.expand_dims(weights, 1), x)
        return self.output_range(ops.squeeze(pooled, 1), training=training)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "l2": self.l2,
            "quantize": self.quantize,
            "seed": self.seed,
        }
