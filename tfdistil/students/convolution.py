"""Convolutions over time that can be folded, rounded and exported."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from tfdistil.quantization.engines import find_engine
from tfdistil.quantization.observers import RangeObserver
from tfdistil.students.masked_batch_norm import MaskedBatchNorm


def convolution(x: Any, kernel: Any, ahead: int = 0) -> Any:
    """``y[t] = sum_i x[t - k + 1 + ahead + i] kernel[i]``, with zeros beyond both ends.

    As a 2-D convolution over an axis of one row: only its kernels get a scale per channel.

    Args:
        x: ``[B, T, C]``.
        kernel: ``[1, k, C, N]``.
        ahead: positions after the current one that the kernel sees; 0 is a causal convolution.

    Returns:
        ``[B, T, N]``.
    """
    taps = kernel.shape[1]
    x = ops.expand_dims(x, 1)
    if taps > 1:
        x = ops.pad(x, ((0, 0), (0, 0), (taps - 1 - ahead, ahead), (0, 0)))
    return ops.squeeze(ops.conv(x, kernel, strides=1, padding="valid"), 1)


def add_kernel(
    layer: Any, name: str, shape: tuple[int | None, ...], l2: float, seed: int | None
) -> keras.Variable:
    """A weight of a layer that begins Glorot-uniform; ``l2 * sum(w ** 2)`` is one of its losses."""
    return layer.add_weight(
        shape=shape,
        initializer=keras.initializers.GlorotUniform(seed),
        regularizer=keras.regularizers.L2(l2) if l2 else None,
        name=name,
    )


def causal_convolution(x: Any, kernel: Any) -> Any:
    """The `convolution` that sees a position and those before it."""
    return convolution(x, kernel)


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
        shape = (1, self.taps, input_shape[-1], self.units)
        self.kernel = add_kernel(self, "kernel", shape, self.l2, self.seed)
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
    """``x W + b`` at each position, where x may be a window of neighbours; a convolution.

    Args:
        units: N, channels of the output.
        bias: whether there is a b.
        window: w, neighbours on each side that are read beside a position, 0 beyond the ends.
        relu: whether a ReLU follows; it is rounded with the product.
        l2: adds ``l2 * sum(kernel ** 2)`` to the losses.
        quantize: a name of `tfdistil.quantization.ENGINES`, or None for float.
        seed: makes the initialization (Glorot-uniform) reproducible.
    """

    def __init__(
        self,
        units: int,
        bias: bool = True,
        window: int = 0,
        relu: bool = False,
        l2: float = 0.0,
        quantize: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units, self.has_bias, self.l2 = units, bias, l2
        self.window, self.relu = window, relu
        self.quantize, self.seed = quantize, seed
        self._rounding = find_engine(quantize)
        self.range = RangeObserver(quantize, name="range")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Create ``kernel [1, 2w + 1, C, N]`` and ``bias [N]``."""
        shape = (1, 2 * self.window + 1, input_shape[-1], self.units)
        self.kernel = add_kernel(self, "kernel", shape, self.l2, self.seed)
        if self.has_bias:
            self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")
        self.range.build((None, None, self.units))
        super().build(input_shape)

    def call(self, x: Any, real: Any = None, training: bool | None = None) -> Any:
        """``[B, T, C]`` to ``[B, T, N]``; ``real [B, T, 1]`` keeps padding out of the range."""
        kernel = self._rounding.kernel(ops.convert_to_tensor(self.kernel))
        y = convolution(x, kernel, ahead=self.window)
        if self.has_bias:
            y = y + self.bias
        y = ops.relu(y) if self.relu else y
        return self.range(y, real, training=training)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "units": self.units,
            "bias": self.has_bias,
            "window": self.window,
            "relu": self.relu,
            "l2": self.l2,
            "quantize": self.quantize,
            "seed": self.seed,
        }
