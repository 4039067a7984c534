"""Convolutions over time that can be folded, rounded and exported."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from tfdistil.quantization.engines import find_engine
from tfdistil.quantization.observers import RangeObserver
from tfdistil.students.masked_batch_norm import MaskedBatchNorm


def causal_convolution(x: Any, kernel: Any) -> Any:
    """``y[t] = sum_i x[t - k + 1 + i] kernel[i]``, with zeros before the first position.

    As a 2-D convolution over an axis of one row: only its kernels get a scale per channel.

    Args:
        x: ``[B, T, C]``.
        kernel: ``[1, k, C, N]``.

    Returns:
        ``[B, T, N]``.
    """
    taps = kernel.shape[1]
    x = ops.expand_dims(x, 1)
    if taps > 1:
        x = ops.pad(x, ((0, 0), (0, 0), (taps - 1, 0), (0, 0)))
    return ops.squeeze(ops.conv(x, kernel, strides=1, padding="valid"), 1)


@keras.saving.register_keras_serializable(package="tfdistil")
class NormalizedConvolution(keras.layers.Layer):
    """A causal convolution and its masked batch normalization.

    There is no bias: the normalisation would take it out again. At inference the normalisation is
    folded into kernel and offset, as the converter does, and one convolution is left. A quantized
    layer trains with the folded kernel too, rounded: while statistics follow the batch it first
    computes the float convolution to have them (Jacob et al. 2017, section 3.2). With a scale per
    output channel, by how much the statistics scale a channel does not change its rounding.

    Args:
        units: N, channels of the output.
        taps: k, positions the kernel sees: the current one and those before it.
        momentum, epsilon: of the normalisation.
        relu: whether a ReLU follows; it is rounded with the convolution.
        l2: adds ``l2 * sum(kernel ** 2)`` to the losses.
        quantize: a name of `tfdistil.quantization.ENGINES`, or None for float.
        seed: makes the initialization (Glorot-uniform) reproducible.
    """

    def __init__(
        self,
        units: int,
        taps: int = 1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        relu: bool = False,
        l2: float = 0.0,
        quantize: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units, self.taps, self.relu, self.l2 = units, taps, relu, l2
        self.momentum, self.epsilon = momentum, epsilon
        self.quantize, self.seed = quantize, seed
        self._rounding = find_engine(quantize)
        self.norm = MaskedBatchNorm(momentum, epsilon, name="norm")
        self.range = RangeObserver(quantize, name="range")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Create ``kernel [1, k, C, N]``."""
        self.kernel = self.add_weight(
            shape=(1, self.taps, input_shape[-1], self.units),
            initializer=keras.initializers.GlorotUniform(self.seed),
            regularizer=keras.regularizers.L2(self.l2) if self.l2 else None,
            name="kernel",
        )
        self.norm.build((None, None, self.units))
        self.range.build((None, None, self.units))
        super().build(input_shape)

    def call(self, x: Any, real: Any, training: bool | None = None) -> Any:
        """``[B, T, C]`` to ``[B, T, N]``; ``real [B, T, 1]`` is 1 at real positions."""
        kernel = ops.convert_to_tensor(self.kernel)
        follows = self.norm.statistics.follows(training)
        raw = causal_convolution(x, kernel) if follows else None
        scale, shift = self.norm.factors(raw, real, training=training)
        if follows and not self._rounding.quantizes:
            y = raw * scale + shift
        else:
            y = causal_convolution(x, self._rounding.kernel(kernel * scale)) + shift
        y = ops.relu(y) if self.relu else y
        return self.range(y, real, training=training)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "units": self.units,
            "taps": self.taps,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "relu": self.relu,
            "l2": self.l2,
            "quantize": self.quantize,
            "seed": self.seed,
        }


@keras.saving.register_keras_serializable(package="tfdistil")
class Linear(keras.layers.Layer):
    """``x W + b`` at each position, as a convolution with one tap.

    Args:
        units: N, channels of the output.
        bias: whether there is a b.
        l2: adds ``l2 * sum(kernel ** 2)`` to the losses.
        quantize: a name of `tfdistil.quantization.ENGINES`, or None for float.
        seed: makes the initialization (Glorot-uniform) reproducible.
    """

    def __init__(
        self,
        units: int,
        bias: bool = True,
        l2: float = 0.0,
        quantize: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units, self.has_bias, self.l2 = units, bias, l2
        self.quantize, self.seed = quantize, seed
        self._rounding = find_engine(quantize)
        self.range = RangeObserver(quantize, name="range")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Create ``kernel [1, 1, C, N]`` and ``bias [N]``."""
        self.kernel = self.add_weight(
            shape=(1, 1, input_shape[-1], self.units),
            initializer=keras.initializers.GlorotUniform(self.seed),
            regularizer=keras.regularizers.L2(self.l2) if self.l2 else None,
            name="kernel",
        )
        if self.has_bias:
            self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")
        self.range.build((None, None, self.units))
        super().build(input_shape)

    def call(self, x: Any, real: Any = None, training: bool | None = None) -> Any:
        """``[B, T, C]`` to ``[B, T, N]``; ``real [B, T, 1]`` keeps padding out of the range."""
        kernel = self._rounding.kernel(ops.convert_to_tensor(self.kernel))
        y = causal_convolution(x, kernel)
        if self.has_bias:
            y = y + self.bias
        return self.range(y, real, training=training)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "units": self.units,
            "bias": self.has_bias,
            "l2": self.l2,
            "quantize": self.quantize,
            "seed": self.seed,
        }
