"""Fake quantization to int8 by name: what a layer asks for, whichever library rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import keras
from keras import ops

Limits = tuple[float, float]

SIGMOID: Limits = (0.0, 255 / 256)
"""Range of a sigmoid or a softmax. TensorFlow Lite fixes their scale at 1/256."""
TANH: Limits = (-1.0, 127 / 128)
"""Range of a tanh, whose scale TensorFlow Lite fixes at 1/128."""
TERNARY: Limits = (-128.0, 127.0)
"""Range of whole numbers that an int8 holds exactly: scale 1, zero point 0."""

NARROWER = 1 - 2.0**-17
"""By how much the range of a product with a gate is, see `untied`."""

SMALLEST = 1e-6
"""Of a kernel's largest magnitude; a channel of zeros needs a scale too."""


class Engine(Protocol):
    """Rounds tensors to the values an int8 can have. Gradients pass inside of the range only.

    Attributes:
        quantizes: whether it rounds at all.
    """

    quantizes: bool

    def activation(self, x: Any, low: Any, high: Any) -> Any:
        """``x`` on the 256 values of the range that holds 0 as one of them.

        Args:
            x: float, any shape.
            low, high: scalars, ``low <= 0 <= high``. The range is shifted by less than a step
                so that 0 is a value.
        """
        ...

    def kernel(self, w: Any, per_channel: bool = True, part_of: Any = None) -> Any:
        """Weights on 255 values that are symmetric around 0, with the largest magnitude as limit.

        Args:
            w: float ``[..., C]``.
            per_channel: a scale for each index of the last axis. The converter takes that of a
                4-D convolution kernel only; anything else needs one scale for all.
            part_of: the weights ``[..., C]`` that these are some of, and that the limit is of;
                None: themselves.
        """
        ...


def untied(low: Any, high: Any) -> tuple[Any, Any]:
    """A range for products of a sigmoid and a tensor of this range, in which none is a tie.

    The sigmoid is k/256. On the very range of its other factor a product is a whole number of steps
    over 256, and one in 64 lies halfway between two values. XNNPACK rounds that to even
    on x86 and up on Arm, and a recurrence carries the difference on. With steps that are smaller by
    2^-17, what was halfway is further from 0, by more than any kernel errs, and by too little for
    another product to change sides. A sum with a tensor of the wider steps is the same integer.

    Args:
        low, high: see `Engine.activation`.
    """
    return low * NARROWER, high * NARROWER


def magnitude(w: Any, per_channel: bool) -> Any:
    """The largest magnitude of weights ``[..., C]``: ``[C]``, or a scalar.

    It is a constant of the step: its gradient would pull the largest weight alone.
    """
    w = ops.convert_to_tensor(w)
    axes = tuple(range(len(w.shape) - 1)) if per_channel else None
    return ops.stop_gradient(ops.maximum(ops.max(ops.abs(w), axis=axes), SMALLEST))


class NoEngine:
    """Plain float arithmetic: everything stays as it is."""

    quantizes = False

    def activation(self, x: Any, low: Any, high: Any) -> Any:
        """``x`` itself."""
        del low, high
        return x

    def kernel(self, w: Any, per_channel: bool = True, part_of: Any = None) -> Any:
        """``w`` itself."""
        del per_channel, part_of
        return w


class KerasEngine:
    """Keras' own fake quantization (Jacob et al. 2017, section 3), which the converter reads.

    To be called with tensors, inside of a layer's ``call``: on symbolic ones Keras 3.15 forgets
    the number of bits, the narrow range and the axis.
    """

    quantizes = True

    def activation(self, x: Any, low: Any, high: Any) -> Any:
        """See `Engine.activation`."""
        return keras.quantizers.fake_quant_with_min_max_vars(x, low, high, num_bits=8)

    def kernel(self, w: Any, per_channel: bool = True, part_of: Any = None) -> Any:
        """See `Engine.kernel`."""
        w = ops.convert_to_tensor(w)
        limit = magnitude(w if part_of is None else part_of, per_channel)
        return keras.quantizers.fake_quant_with_min_max_vars(
            w,
            -limit,
            limit,
            num_bits=8,
            narrow_range=True,
            axis=len(w.shape) - 1 if per_channel else None,
        )


def _tfmot() -> Engine:
    from tfdistil.quantization.tfmot import TfmotEngine

    return TfmotEngine()


ENGINES: dict[str, Callable[[], Engine]] = {"keras": KerasEngine, "tfmot": _tfmot}


def find_engine(name: str | None) -> Engine:
    """The engine of a name; None is float arithmetic.

    Raises:
        ValueError: no such engine.
    """
    if name is None:
        return NoEngine()
    if name not in ENGINES:
        raise ValueError(
            f"unknown quantization engine {name!r}; there are {', '.join(sorted(ENGINES))}"
        )
    return ENGINES[name]()
