"""A row of vectors to one vector, by a learned attention (pQRNN, section 4.1)."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from tfdistil.device_ops import gather, gather_along
from tfdistil.quantization.engines import SIGMOID, TERNARY, find_engine
from tfdistil.quantization.observers import RangeObserver
from tfdistil.students.convolution import Linear

REACH = 255 * 5 / 64
"""How far below the highest score of its text a score is told from others: 255 steps of 5/64.
Padding is as far down. Beside the highest, its exponential is less than half of what float32 can
add to 1, so that it changes nothing; more would cost an int8 its resolution."""


@keras.saving.register_keras_serializable(package="tfdistil")
class AttentionPooling(keras.layers.Layer):
    """``softmax(O w) O`` over the real positions; ``w`` is learned, without bias.

    What the softmax reads are heights, ``max(0, s - max(s) + REACH)`` at real positions and 0 at
    padding: the same distribution, in a range that no text and no calibration decides about.

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
        self.output_range = RangeObserver(quantize, name="output_range")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Build the score's kernel ``[1, 1, C, 1]`` and the range of what comes out."""
        self.score.build(input_shape)
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
        heights = self._heights(scores, there)
        weights = self._rounding.activation(ops.softmax(heights, axis=-1), *SIGMOID)
        pooled = ops.matmul(ops.expand_dims(weights, 1), x)
        return self.output_range(ops.squeeze(pooled, 1), training=training)

    def _heights(self, scores: Any, there: Any) -> Any:
        """What the softmax reads, ``[B, T]``, from 0 to `REACH`."""
        rounded = self._rounding.activation
        # Padding repeats the first position: the highest score is one of the text's.
        positions = ops.arange(ops.shape(scores)[1], dtype="int32") * there
        highest = ops.max(gather_along(scores, positions), axis=1, keepdims=True)
        depths = rounded(scores - ops.stop_gradient(highest), -REACH, 0.0)
        heights = rounded(ops.relu(depths + REACH), 0.0, REACH)
        real = rounded(gather(np.array([0.0, 1.0], np.float32), there), *TERNARY)
        return rounded(heights * real, 0.0, REACH)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "l2": self.l2,
            "quantize": self.quantize,
            "seed": self.seed,
        }
