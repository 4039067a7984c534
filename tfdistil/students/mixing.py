"""What an MLP-Mixer block is made of (Tolstikhin et al. 2021), as integers can compute it."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from tfdistil.quantization.engines import TANH, find_engine
from tfdistil.quantization.observers import RangeObserver
from tfdistil.students.convolution import Linear, add_kernel, convolution

EPSILON = 1e-6
"""Added to a sum of squares, so that a row of zeros stays one. The file's kernel has its own."""


def check_window(window: Any, positions: int) -> None:
    """Make sure that rows of so many positions have a window.

    Raises:
        ValueError: no number of neighbours on each side, or more than there are.
    """
    if type(window) is not int or not 0 <= window < positions:
        raise ValueError(
            f"window is a whole number of neighbours on each side, 0 to below max_positions "
            f"({positions}), got {window!r}"
        )


def check_length(length: int | None, positions: int, kind: str) -> None:
    """Make sure that a student of so many positions can read rows of a length.

    A length that is unknown while tracing, None, is checked by the products over positions.

    Raises:
        ValueError: rows of more; ``kind`` says of what.
    """
    if length is not None and length > positions:
        raise ValueError(
            f"the rows have {length} {kind} and this student {positions} positions; lower "
            "max_length, or build the student with more max_positions"
        )


@keras.saving.register_keras_serializable(package="tfdistil")
class CentredNorm(keras.layers.Layer):
    """Layer normalisation over the channels (Ba et al. 2016) without gain and offset; masked.

    ``sqrt(C) (x - mean(x)) / |x - mean(x)|``. The product that reads it has gain and offset. It is
    written so that the converter sees an L2_NORMALIZATION, one operator with integer sums and a
    fixed output scale of 1/128, and ``sqrt(C)`` is what the mask multiplies by. The usual way to
    write a layer normalisation becomes a chain of int8 tensors, of squared differences and of a
    reciprocal root among them, and 256 steps are too few for either.

    Args:
        quantize: a name of `tfdistil.quantization.ENGINES`, or None for float.
    """

    def __init__(self, quantize: str | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.quantize = quantize
        self._rounding = find_engine(quantize)
        self.mean_range = RangeObserver(quantize, name="mean_range")
        self.centred_range = RangeObserver(quantize, name="centred_range")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Build the ranges."""
        self.mean_range.build((None, None, 1))
        self.centred_range.build(input_shape)
        super().build(input_shape)

    def call(self, x: Any, real: Any, training: bool | None = None) -> Any:
        """``[B, T, C]`` to the same, 0 at padding; ``real [B, T, 1]`` is 1 at real positions."""
        root, rounded = x.shape[-1] ** 0.5, self._rounding.activation
        mean = self.mean_range(ops.mean(x, axis=-1, keepdims=True), real, training=training)
        x = self.centred_range(x - mean, real, training=training)
        # As rows: (x - mean)^2 in one piece would become a SQUARED_DIFFERENCE, and no norm.
        rows = ops.reshape(x, (-1, x.shape[-1]))
        rows = rows * ops.rsqrt(ops.sum(ops.square(rows), axis=-1, keepdims=True) + EPSILON)
        x = rounded(ops.reshape(rows, ops.shape(x)), *TANH)
        scale = rounded(real * root, 0.0, root)
        return rounded(x * scale, *(root * limit for limit in TANH))

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {"quantize": self.quantize}


@keras.saving.register_keras_serializable(package="tfdistil")
class TokenMixing(keras.layers.Layer):
    """``relu(x' W1 + b1) W2 + b2`` over the positions of a row, the same for every channel.

    Rows may be shorter than P: positions that a row does not have are 0 and nobody reads what comes
    out there, so their weights are left out.

    Args:
        positions: P, of the longest row.
        hidden_dim: H.
        l2: adds ``l2 * sum(W ** 2)`` to the losses.
        quantize: a name of `tfdistil.quantization.ENGINES`, or None for float.
        seed: makes the initialization (Glorot-uniform) reproducible.
    """

    def __init__(
        self,
        positions: int,
        hidden_dim: int,
        l2: float = 0.0,
        quantize: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.positions, self.hidden_dim, self.l2 = positions, hidden_dim, l2
        self.quantize, self.seed = quantize, seed
        self._rounding = find_engine(quantize)
        self.hidden_range = RangeObserver(quantize, name="hidden_range")
        self.output_range = RangeObserver(quantize, name="output_range")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Create ``expand [1, 1, P, H]``, ``contract [1, 1, H, P]`` and their biases."""

        time, inner = self.positions, self.hidden_dim
        second = None if self.seed is None else self.seed + 1
        self.expand = add_kernel(self, "expand", (1, 1, time, inner), self.l2, self.seed)
        self.expand_bias = self.add_weight((inner,), "zeros", name="expand_bias")
        self.contract = add_kernel(self, "contract", (1, 1, inner, time), self.l2, second)
        self.contract_bias = self.add_weight((self.positions,), "zeros", name="contract_bias")
        self.hidden_range.build((None, None, self.hidden_dim))
        self.output_range.build(input_shape)
        super().build(input_shape)

    def call(self, x: Any, real: Any, training: bool | None = None) -> Any:
        """Mix positions.

        Args:
            x: ``[B, T, C]``, T at most P, 0 at padding.
            real: ``[B, T, 1]``, 1 at real positions; keeps padding out of the output's range.
            training: whether ranges follow.

        Returns:
            ``[B, T, C]``; anything at padding.
        """
        time, rounded = ops.shape(x)[1], self._rounding.kernel
        columns = ops.transpose(x, (0, 2, 1))
        expand = rounded(self.expand[:, :, :time], part_of=self.expand)
        hidden = convolution(columns, expand) + self.expand_bias
        hidden = self.hidden_range(ops.relu(hidden), training=training)
        mixed = convolution(hidden, rounded(self.contract[..., :time]))
        mixed = ops.transpose(mixed + self.contract_bias[:time], (0, 2, 1))
        return self.output_range(mixed, real, training=training)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "positions": self.positions,
            "hidden_dim": self.hidden_dim,
            "l2": self.l2,
            "quantize": self.quantize,
            "seed": self.seed,
        }


@keras.saving.register_keras_serializable(package="tfdistil")
class MixerBlock(keras.layers.Layer):
    """``x + tokens(norm(x))``, then ``x + channels(norm(x))``; padding takes no part.

    Args:
        positions: P, of the longest row.
        token_dim: hidden width of the MLP over positions.
        channel_dim: hidden width of the MLP over channels.
        l2: adds ``l2 * sum(W ** 2)`` to the losses.
        quantize: a name of `tfdistil.quantization.ENGINES`, or None for float.
        seed: makes the initialization reproducible; four consecutive ones are used.
    """

    def __init__(
        self,
        positions: int,
        token_dim: int,
        channel_dim: int,
        l2: float = 0.0,
        quantize: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.positions, self.token_dim, self.channel_dim = positions, token_dim, channel_dim
        self.l2, self.quantize, self.seed = l2, quantize, seed
        self.token_norm = CentredNorm(quantize, name="token_norm")
        self.tokens = TokenMixing(
            positions, token_dim, l2=l2, quantize=quantize, seed=seed, name="tokens"
        )
        self.token_sum = RangeObserver(quantize, name="token_sum")
        self.channel_norm = CentredNorm(quantize, name="channel_norm")
        self.expand = self._linear(channel_dim, 2, "expand", relu=True)
        self.channel_sum = RangeObserver(quantize, name="channel_sum")

    def _linear(self, units: int, part: int, name: str, relu: bool = False) -> Linear:
        seed = None if self.seed is None else self.seed + part
        return Linear(units, relu=relu, l2=self.l2, quantize=self.quantize, seed=seed, name=name)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Create the weights of both MLPs; the last of them is as wide as the input."""
        width = input_shape[-1]
        assert width is not None
        self.contract = self._linear(width, 3, "contract")
        for layer in (self.token_norm, self.tokens, self.token_sum, self.channel_norm):
            layer.build(input_shape)
        self.expand.build(input_shape)
        self.contract.build((None, None, self.channel_dim))
        self.channel_sum.build(input_shape)
        super().build(input_shape)

    def call(self, x: Any, real: Any, training: bool | None = None) -> Any:
        """``[B, T, C]`` to the same; ``real [B, T, 1]`` is 1 at real positions."""
        y = self.token_norm(x, real, training=training)
        y = self.tokens(y, real, training=training)
        x = self.token_sum(x + y, real, training=training)
        y = self.expand(self.channel_norm(x, real, training=training), real, training=training)
        y = self.contract(y, real, training=training)
        return self.channel_sum(x + y, real, training=training)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "positions": self.positions,
            "token_dim": self.token_dim,
            "channel_dim": self.channel_dim,
            "l2": self.l2,
            "quantize": self.quantize,
            "seed": self.seed,
        }


def mixer_blocks(
    count: int, positions: int, hidden_dim: int, seed: int | None, **common: Any
) -> list[MixerBlock]:
    """Blocks that read each other in turn, with MLPs of one width.

    Args:
        count: of blocks.
        positions: P, of the longest row.
        hidden_dim: of both MLPs of a block.
        seed: of the whole; each block has ten from it on.
        common: further arguments of `MixerBlock`.
    """
    return [
        MixerBlock(
            positions,
            hidden_dim,
            hidden_dim,
            seed=None if seed is None else seed + 10 * number,
            name=f"block_{number}",
            **common,
        )
        for number in range(1, count + 1)
    ]
