"""Ranges of activations that follow what training sees."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from tfdistil.quantization.engines import Limits, find_engine


@keras.saving.register_keras_serializable(package="tfdistil")
class RangeObserver(keras.layers.Layer):
    """Rounds an activation in a range that is a moving average of batch extremes.

    Jacob et al. 2017, section 3.1: ``low <- m low + (1 - m) min``, and likewise ``high``. The first
    batch sets the range, so that no made-up start has to be forgotten. It follows only in training
    and while the layer is trainable. Without an engine it has no weights and returns its input.

    Args:
        engine: a name of `tfdistil.quantization.ENGINES`, or None.
        momentum: m, what a batch leaves of the average.
        covers: what the range always covers; ``(0, 0)`` at least.

    Raises:
        ValueError: an unknown engine, a momentum outside ``[0, 1)``, or ``covers`` without 0.
    """

    def __init__(
        self,
        engine: str | None,
        momentum: float = 0.95,
        covers: Limits = (0.0, 0.0),
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum is at least 0 and less than 1, got {momentum}")
        if not covers[0] <= 0 <= covers[1]:
            raise ValueError(f"the range covers 0, got {tuple(covers)}")
        self.engine, self.momentum, self.covers = engine, momentum, (covers[0], covers[1])
        self._rounding = find_engine(engine)

    def build(self, input_shape: Any = None) -> None:
        """Create ``low``, ``high`` and ``batches`` (0 until there was one), all scalars."""
        if self._rounding.quantizes:
            self.low, self.high, self.batches = (
                self.add_weight(shape=(), initializer="zeros", trainable=False, name=name)
                for name in ("low", "high", "batches")
            )
        super().build(input_shape)

    def call(self, x: Any, real: Any = None, training: bool | None = None) -> Any:
        """``x`` rounded.

        Args:
            x: ``[B, T, C]``, or any shape where ``real`` is None.
            real: ``[B, T, 1]``, 1 at positions that count; None: all do.
            training: whether the range follows.
        """
        if not self._rounding.quantizes:
            return x
        if training:
            self.observe(x, real)
        return self.rounded(x)

    def observe(self, x: Any, real: Any = None) -> None:
        """Let the range follow ``x``; nothing happens while the layer is not trainable."""
        if not self._rounding.quantizes or not self.trainable:
            return
        x = ops.stop_gradient(x)
        # What does not count is 0, which every range covers anyway.
        seen = x if real is None else ops.where(ops.cast(real, "bool"), x, ops.zeros_like(x))
        low = ops.minimum(ops.min(seen), self.covers[0])
        high = ops.maximum(ops.max(seen), self.covers[1])
        kept = ops.where(ops.greater(self.batches, 0), self.momentum, 0.0)
        self.low.assign(kept * self.low + (1 - kept) * low)
        self.high.assign(kept * self.high + (1 - kept) * high)
        self.batches.assign_add(1.0)

    def rounded(self, x: Any) -> Any:
        """``x`` rounded in the range as it is now."""
        return self._rounding.activation(x, *self.limits()) if self._rounding.quantizes else x

    def limits(self) -> tuple[Any, Any]:
        """The range as it is now, two scalars; of a layer with an engine."""
        low = ops.minimum(ops.convert_to_tensor(self.low), self.covers[0])
        high = ops.maximum(ops.convert_to_tensor(self.high), self.covers[1])
        # Before the first batch the range is empty; a step needs some width.
        return low, ops.maximum(high, low + 1e-3)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "engine": self.engine,
            "momentum": self.momentum,
            "covers": list(self.covers),
        }
