"""Batch normalization whose statistics leave padding out (pQRNN, section 3.4.3)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="tfdistil")
class MaskedStatistics(keras.layers.Layer):
    """Mean and variance of each channel over the real positions of a batch, and their averages.

    A layer of its own so that it can be frozen (``trainable = False``) while gains and offsets go
    on learning.

    Args:
        momentum: what one batch leaves of the moving averages.
    """

    def __init__(self, momentum: float, **kwargs: Any):
        super().__init__(**kwargs)
        self.momentum = momentum

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Create ``mean [C]`` (zeros) and ``variance [C]`` (ones)."""
        shape = (input_shape[-1],)
        self.mean = self.add_weight(shape=shape, initializer="zeros", trainable=False, name="mean")
        self.variance = self.add_weight(
            shape=shape, initializer="ones", trainable=False, name="variance"
        )
        super().build(input_shape)

    def call(self, x: Any, real: Any, training: bool | None = None) -> tuple[Any, Any]:
        """Mean and variance ``[C]``: of the batch while they learn, else the moving averages.

        Args:
            x: ``[B, T, C]``; not looked at unless `follows`.
            real: ``[B, T, 1]``, 1 at real positions, in the dtype of ``x``.
            training: whether the model trains.
        """
        if not self.follows(training):
            return ops.convert_to_tensor(self.mean), ops.convert_to_tensor(self.variance)
        count = ops.maximum(ops.sum(real), 1.0)
        mean = ops.sum(x * real, axis=(0, 1)) / count
        variance = ops.sum(ops.square((x - mean) * real), axis=(0, 1)) / count
        for average, value in ((self.mean, mean), (self.variance, variance)):
            value = ops.stop_gradient(value)
            average.assign(self.momentum * average + (1 - self.momentum) * value)
        return mean, variance

    def follows(self, training: bool | None) -> bool:
        """Whether batches are measured: in training, unless frozen."""
        return bool(training) and self.trainable

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {"momentum": self.momentum}


@keras.saving.register_keras_serializable(package="tfdistil")
class MaskedBatchNorm(keras.layers.Layer):
    """``gamma (x - mean) / sqrt(variance + epsilon) + beta`` per channel (Ioffe & Szegedy 2015).

    The variance is the biased one, around the mean. Equals ``keras.layers.BatchNormalization`` with
    a mask, and gives the factors of the normalisation too, so that a layer before it can take them
    into its weights.

    Args:
        momentum: what one batch leaves of the moving averages.
        epsilon: added to the variance.
    """

    def __init__(self, momentum: float = 0.99, epsilon: float = 1e-3, **kwargs: Any):
        super().__init__(**kwargs)
        self.momentum, self.epsilon = momentum, epsilon
        self.statistics = MaskedStatistics(momentum, name="statistics")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Create ``gamma [C]`` (ones) and ``beta [C]`` (zeros)."""
        shape = (input_shape[-1],)
        self.gamma = self.add_weight(shape=shape, initializer="ones", name="gamma")
        self.beta = self.add_weight(shape=shape, initializer="zeros", name="beta")
        self.statistics.build(input_shape)
        super().build(input_shape)

    def call(self, x: Any, real: Any, training: bool | None = None) -> Any:
        """``x [B, T, C]`` normalised; see `MaskedStatistics.call`."""
        scale, shift = self.factors(x, real, training)
        return x * scale + shift

    def factors(self, x: Any, real: Any, training: bool | None = None) -> tuple[Any, Any]:
        """``(scale, shift)``, both ``[C]``: the normalised ``x`` is ``x scale + shift``."""
        mean, variance = self.statistics(x, real, training=training)
        scale = self.gamma * ops.rsqrt(variance + self.epsilon)
        return scale, self.beta - mean * scale

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {"momentum": self.momentum, "epsilon": self.epsilon}
