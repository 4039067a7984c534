"""A bidirectional QRNN layer (Bradbury et al. 2016) with normalised gates (pQRNN, 3.4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from tfdistil.device_ops import gather
from tfdistil.quantization.engines import SIGMOID, TANH, find_engine, untied
from tfdistil.quantization.observers import RangeObserver
from tfdistil.students.convolution import NormalizedConvolution
from tfdistil.students.qrnn_pooling import Rounding, pool

POOLINGS = {"f": "zf", "fo": "zfo", "ifo": "zfoi"}
"""Gates by pooling: z is the candidate (tanh), f forgets, o is the output's, i the input's."""


@keras.saving.register_keras_serializable(package="tfdistil")
class BiQRNN(keras.layers.Layer):
    """One bidirectional QRNN layer over right-padded rows.

    With ``z = tanh(BN(W_z * x))`` and gates ``sigmoid(BN(W * x))``, ``*`` a convolution over k
    positions (the current one and those before it in the direction):

    - ``f``: ``c[t] = f c[t - 1] + (1 - f) z``, ``y = c``
    - ``fo``: the same ``c``, ``y = o c``
    - ``ifo``: ``c[t] = f c[t - 1] + i z``, ``y = o c``

    Both directions run as one recurrence of 2S channels, the backward one over the reversed row,
    whose padding comes first: what is added is 0 there, so that states stay 0 until the text
    begins. ``y`` is 0 at padding, so that no later layer reads anything there.

    Zoneout keeps a state as it was with some probability in training (Krueger et al. 2016; Bradbury
    et al. 2016, section 2.1): ``f <- max(Z, f)``, ``u <- (1 - Z) u`` for what is added. There is no
    rescaling at inference.

    Args:
        units: S, the width of each direction.
        taps: k, the kernel's width.
        pooling: ``f``, ``fo`` or ``ifo``.
        zoneout: probability that Z is 1.
        momentum, epsilon: of the normalisation of the gates.
        l2: adds ``l2 * sum(kernel ** 2)`` of both directions to the losses.
        quantize: a name of `tfdistil.quantization.ENGINES`, or None for float.
        seed: makes initialization and zoneout reproducible.

    Raises:
        ValueError: an unknown pooling, or a probability outside ``[0, 1)``.
    """

    def __init__(
        self,
        units: int,
        taps: int = 2,
        pooling: str = "fo",
        zoneout: float = 0.0,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        l2: float = 0.0,
        quantize: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if not isinstance(pooling, str) or pooling not in POOLINGS:
            raise ValueError(f"pooling is one of {', '.join(POOLINGS)}; got {pooling!r}")
        if not 0 <= zoneout < 1:
            raise ValueError(f"zoneout is a probability, at least 0 and below 1; got {zoneout}")
        self.units, self.taps, self.pooling, self.zoneout = units, taps, pooling, zoneout
        self.momentum, self.epsilon, self.l2 = momentum, epsilon, l2
        self.quantize, self.seed = quantize, seed
        self._rounding = find_engine(quantize)
        self.forward, self.backward = (
            NormalizedConvolution(
                units * len(POOLINGS[pooling]),
                taps,
                momentum,
                epsilon,
                l2=l2,
                quantize=quantize,
                seed=None if seed is None else seed + n,
                name=name,
            )
            for n, name in enumerate(("forward", "backward"))
        )
        # States of f and fo are averages of z and stay within its range; those of ifo are sums.
        self.state_range = RangeObserver(quantize, name="state_range") if pooling == "ifo" else None
        self.output_range = RangeObserver(quantize, name="output_range")
        self.generator = keras.random.SeedGenerator(None if seed is None else seed + 2)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Build the convolutions of both directions, and the ranges."""
        self.forward.build(input_shape)
        self.backward.build(input_shape)
        states = (None, None, 2 * self.units)
        if self.state_range is not None:
            self.state_range.build(states)
        self.output_range.build(states)
        super().build(input_shape)

    def call(
        self, x: Any, real: Any, training: bool | None = None, unroll: bool | None = None
    ) -> Any:
        """Run both directions.

        Args:
            x: ``[B, T, C]``, padded on the right, 0 there.
            real: ``[B, T, 1]``, 1 at real positions, in the dtype of ``x``.
            training: whether zoneout is on, and statistics and ranges follow.
            unroll: see `tfdistil.students.qrnn_pooling.pool`.

        Returns:
            ``[B, T, 2S]``, the forward direction first, 0 at padding.
        """
        back = reverse(real, training)
        gates = self._gates(
            [
                (self.forward(x, real, training=training), real),
                (self.backward(reverse(x, training), back, training=training), back),
            ]
        )
        z, f = gates["z"], gates["f"]
        product, within = self._gated, self._within_tanh
        added = product(gates["i"] * z) if "i" in gates else within(z - product(f * z))
        if training and self.zoneout:
            kept = keras.random.uniform(ops.shape(f), seed=self.generator) < self.zoneout
            f = ops.where(kept, ops.ones_like(f), f)
            added = ops.where(kept, ops.zeros_like(added), added)

        state = pool(f, added, self._state_rounding(f, added, training), unroll)
        state = state * gates["o"] if "o" in gates else state
        state = ops.concatenate(
            [state[..., : self.units], reverse(state[..., self.units :], training)], axis=-1
        )
        y = self.output_range(state, real, training=training)
        return self.output_range.rounded(y * real)

    def _gates(self, directions: list[tuple[Any, Any]]) -> dict[str, Any]:
        """Activated gates by letter, ``[B, T, 2S]`` each, from pre-activations and their mask."""
        gates = {}
        for n, letter in enumerate(POOLINGS[self.pooling]):
            both = []
            for x, real in directions:
                x = x[..., n * self.units : (n + 1) * self.units]
                if letter == "z":
                    # A candidate of 0 adds nothing to the state: that is how padding is left out.
                    x = self._within_tanh(self._within_tanh(ops.tanh(x)) * real)
                else:
                    x = self._rounding.activation(ops.sigmoid(x), *SIGMOID)
                both.append(x)
            gates[letter] = ops.concatenate(both, axis=-1)
        return gates

    def _within_tanh(self, x: Any) -> Any:
        return self._rounding.activation(x, *TANH)

    def _gated(self, x: Any) -> Any:
        """A tanh times a gate, rounded."""
        return self._rounding.activation(x, *untied(*TANH))

    def _state_rounding(self, f: Any, added: Any, training: bool | None) -> Rounding | None:
        """None in float."""
        if not self._rounding.quantizes:
            return None
        if self.state_range is None:
            return Rounding(self._gated, self._within_tanh)
        if training:
            self.state_range.observe(pool(f, added))
        limits = untied(*self.state_range.limits())
        return Rounding(lambda x: self._rounding.activation(x, *limits), self.state_range.rounded)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "units": self.units,
            "taps": self.taps,
            "pooling": self.pooling,
            "zoneout": self.zoneout,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "l2": self.l2,
            "quantize": self.quantize,
            "seed": self.seed,
        }


def qrnn_layers(
    count: int,
    units: int,
    taps: int,
    pooling: str,
    zoneout: float,
    seed: int | None,
    **common: Any,
) -> list[BiQRNN]:
    """Layers that read each other in turn; layer l of 1 ... ``count`` has ``zoneout ** l``.

    Args:
        count: of layers.
        units, taps, pooling, zoneout, common: as of `BiQRNN`.
        seed: of the whole; each layer has ten from it on.
    """
    return [
        BiQRNN(
            units,
            taps,
            pooling,
            zoneout**layer,
            seed=None if seed is None else seed + 10 * layer,
            name=f"qrnn_{layer}",
            **common,
        )
        for layer in range(1, count + 1)
    ]


def build_in_turn(layers: Sequence[BiQRNN], width: int) -> int:
    """Create the weights of layers that begin with ``width``; returns what the last one gives."""
    for layer in layers:
        layer.build((None, None, width))
        width = 2 * layer.units
    return width


def run_in_turn(
    layers: Sequence[BiQRNN], x: Any, real: Any, training: bool | None, exporting: bool
) -> Any:
    """What the last layer gives; see `BiQRNN.call`. A device's graph is unrolled at any length."""
    for layer in layers:
        x = layer(x, real, training=training, unroll=True if exporting else None)
    return x


def reverse(x: Any, training: bool | None = None) -> Any:
    """``x [B, T, ...]`` with time reversed.

    With a static length, outside of training, as a GATHER with constant indices: a reversal keeps
    the converter from int8 for everything behind it. Its gradient is slower than that of a flip.
    """
    time = x.shape[1]
    if training or time is None:
        return ops.flip(x, axis=1)
    return gather(x, np.arange(time - 1, -1, -1), axis=1)
