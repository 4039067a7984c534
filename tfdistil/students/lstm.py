"""A bidirectional LSTM layer that needs no masks in its recurrence and exports to few plain ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

UNROLL_LIMIT = 64
"""On TensorFlow, sequences of a static length up to this are unrolled, which trains fastest and is
what a device runs; longer ones, and lengths unknown while tracing, go through `keras.ops.scan`. JAX
always knows the length, and would compile each step of each."""

DIRECTIONS = ("forward", "backward")

CELL_BOUNDS = (-4.0, 3.96875)
"""What a cell state stays within: int8 then has steps of 1/32 at most. Beyond it the hyperbolic
tangent is 1 to 7e-4, less than half a step of 1/128; what a cell counts beyond it is lost.
Without bounds a few cells count on over a text longer than those of training, to 55 in one student,
and int8 has steps of 0.43 for all."""


def lstm_cell(gates: Any, cell: Any) -> tuple[Any, Any]:
    """One LSTM step from its pre-activations (Hochreiter & Schmidhuber 1997, with forget gate).

    ``c' = sigmoid(f) c + sigmoid(i) tanh(z)``, within `CELL_BOUNDS`; ``h' = sigmoid(o) tanh(c')``.

    Args:
        gates: ``[..., 4 H]``, the pre-activations i, f, z, o in this order (that of Keras).
        cell: the cell state ``[..., H]``.

    Returns:
        ``(hidden, cell)`` of the step, both ``[..., H]``.
    """
    i, f, z, o = ops.split(gates, 4, axis=-1)
    cell = ops.clip(ops.sigmoid(f) * cell + ops.sigmoid(i) * ops.tanh(z), *CELL_BOUNDS)
    return ops.sigmoid(o) * ops.tanh(cell), cell


def reversal(lengths: Any, time: Any) -> Any:
    """Positions that reverse the real part of each right-padded row; their own inverse.

    Args:
        lengths: number of real positions per row, int32 ``[B]``.
        time: the padded length T.

    Returns:
        int32 ``[B, T]``: ``L - 1 - t`` for ``t < L``, else ``t``.
    """
    t = ops.expand_dims(ops.arange(time, dtype="int32"), 0)
    length = ops.expand_dims(lengths, 1)
    return ops.where(t < length, length - 1 - t, t)


def gather_rows(x: Any, positions: Any) -> Any:
    """``x[b, positions[b, n]]`` as one GATHER over the flattened rows.

    Args:
        x: ``[B, T, ...]``.
        positions: int32 ``[B, N]``.

    Returns:
        ``[B, N, ...]``.
    """
    batch, time = ops.shape(x)[:2]
    rest = tuple(x.shape[2:])
    rows = ops.expand_dims(ops.arange(batch, dtype="int32") * time, 1)
    flat = ops.take(ops.reshape(x, (-1, *rest)), ops.reshape(rows + positions, (-1,)), axis=0)
    return ops.reshape(flat, (batch, ops.shape(positions)[1], *rest))


def _product(parts: Sequence[Any], kernel: Any) -> Any:
    """``[p1 p2 ...] K``: each part times its rows of the kernel."""
    first, *others = parts
    if not others:
        return ops.matmul(first, kernel)
    ends = np.cumsum([part.shape[-1] for part in parts])
    rows = ops.split(kernel, ends[:-1].tolist(), axis=0)
    products = [ops.matmul(part, own) for part, own in zip(parts, rows, strict=True)]
    return sum(products[1:], products[0])


@keras.saving.register_keras_serializable(package="tfdistil")
class BiLSTM(keras.layers.Layer):
    """One bidirectional LSTM layer over right-padded rows.

    The backward direction runs forward over each row reversed *within its length*, and its states
    are put back by the same gather. So padding comes last in both directions and never reaches a
    real position: no mask is needed in the recurrence. States at padding are meaningless.

    The inputs' part of the gates is one matrix product outside of the recurrence.

    Equals ``keras.layers.Bidirectional(keras.layers.LSTM(units, ...))`` with a mask, as long as no
    cell state leaves `CELL_BOUNDS`.

    Args:
        units: H, the width of each direction.
        seed: makes the initialization reproducible (Glorot-uniform kernels, orthogonal recurrent
            kernels, zero biases but for the forget gates' ones).
    """

    def __init__(self, units: int, seed: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.units, self.seed = units, seed

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Create ``<direction>_kernel [E, 4H]``, ``_recurrent_kernel [H, 4H]``, ``_bias [4H]``."""
        width, h = input_shape[-1], self.units
        seeds = [None] * 4 if self.seed is None else [self.seed + n for n in range(4)]

        self.kernels, self.recurrent_kernels, self.biases = [], [], []
        for n, direction in enumerate(DIRECTIONS):
            self.kernels.append(
                self.add_weight(
                    shape=(width, 4 * h),
                    initializer=keras.initializers.GlorotUniform(seeds[2 * n]),
                    name=f"{direction}_kernel",
                )
            )
            self.recurrent_kernels.append(
                self.add_weight(
                    shape=(h, 4 * h),
                    initializer=keras.initializers.Orthogonal(seed=seeds[2 * n + 1]),
                    name=f"{direction}_recurrent_kernel",
                )
            )
            self.biases.append(
                self.add_weight(shape=(4 * h,), initializer="zeros", name=f"{direction}_bias")
            )
            # Forget gates start open (Jozefowicz et al. 2015), as in Keras.
            self.biases[-1].assign(np.repeat([0.0, 1.0, 0.0, 0.0], h))
        super().build(input_shape)

    def call(
        self, inputs: Any | Sequence[Any], lengths: Any, unroll: bool | None = None
    ) -> tuple[Any, Any]:
        """Run both directions.

        Args:
            inputs: ``[B, T, E]``, padded on the right; or parts that are that wide together. Each
                part has a product of its own, so that in int8 it keeps a range of its own.
            lengths: real positions per row, int32 ``[B]``, at least 1.
            unroll: whether to unroll the recurrence, which needs a static T. None: see
                `UNROLL_LIMIT`.

        Returns:
            ``(states, last)``: ``[B, T, 2H]``, forward states first, and ``[B, 2H]``, the final
            state of each direction (forward at the last real position, backward at the first).
        """
        parts = inputs if isinstance(inputs, Sequence) else (inputs,)
        back = reversal(lengths, ops.shape(parts[0])[1])
        gates = [
            _product(read, kernel) + bias
            for read, kernel, bias in zip(
                (parts, [gather_rows(part, back) for part in parts]),
                self.kernels,
                self.biases,
                strict=True,
            )
        ]
        if unroll is None:
            time, static = parts[0].shape[1], keras.backend.backend() == "tensorflow"
            unroll = static and time is not None and time <= UNROLL_LIMIT
        runs = self._unrolled(gates) if unroll else self._scanned(gates)
        end = ops.expand_dims(ops.maximum(lengths - 1, 0), 1)
        last = [gather_rows(run, end)[:, 0] for run in runs]
        states = ops.concatenate([runs[0], gather_rows(runs[1], back)], axis=-1)
        return states, ops.concatenate(last, axis=-1)

    def _unrolled(self, gates: list[Any]) -> list[Any]:
        """States ``[B, T, H]`` of each direction; a static number of steps."""
        runs = []
        for kernel, inputs in zip(self.recurrent_kernels, gates, strict=True):
            steps = ops.unstack(inputs, axis=1)
            # The first step starts from zero states: no products, and no forget gate (splitting it
            # off would leave a tensor without readers, which int8 conversion keeps in float).
            i, (z, o) = steps[0][:, : self.units], ops.split(steps[0][:, 2 * self.units :], 2, -1)
            cell = ops.sigmoid(i) * ops.tanh(z)
            hidden = ops.sigmoid(o) * ops.tanh(cell)
            states = [hidden]
            for step in steps[1:]:
                hidden, cell = lstm_cell(step + ops.matmul(hidden, kernel), cell)
                states.append(hidden)
            runs.append(ops.stack(states, axis=1))
        return runs

    def _scanned(self, gates: list[Any]) -> list[Any]:
        """The same in one loop over time for both directions."""
        zeros = ops.zeros((ops.shape(gates[0])[0], self.units), dtype=gates[0].dtype)
        kernels = self.recurrent_kernels

        def step(carry: Any, inputs: Any) -> tuple[Any, Any]:
            new: list[Any] = []
            halves = ops.split(inputs, 2, axis=-1)
            for n, kernel in enumerate(kernels):
                hidden, cell = carry[2 * n : 2 * n + 2]
                new += lstm_cell(halves[n] + ops.matmul(hidden, kernel), cell)
            # TensorFlow's scan wants outputs structured like the carry.
            return tuple(new), tuple(new)

        # One array: TensorFlow's scan fails on several whose length is unknown (Keras 3.15).
        time_major = ops.transpose(ops.concatenate(gates, axis=-1), (1, 0, 2))
        _, states = ops.scan(step, (zeros,) * 4, time_major)
        return [ops.transpose(states[2 * n], (1, 0, 2)) for n in range(2)]

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {"units": self.units, "seed": self.seed}
