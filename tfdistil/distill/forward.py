"""Running a model for its signals: only those wanted, gathered at the scored pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import keras
import numpy as np
from keras import ops

from tfdistil.distill.rows import Rows, bucketed_batches


class SignalModel(Protocol):
    """What distillation needs of a teacher or a student.

    ``model(batch)`` returns named signals; `level` says of each whether it is ``subword``
    (``[B, T, ...]``, one row per piece), ``sequence`` (``[B, ...]``) or ``piece`` (not to be
    gathered, such as attention maps).
    """

    def __call__(self, inputs: Mapping[str, Any], training: bool = False) -> dict[str, Any]: ...

    def level(self, signal: str) -> str: ...


def at_units(signal: Any, units: Any) -> Any:
    """Rows of a per-piece signal at the scored pieces.

    Args:
        signal: ``[B, T, ...]``.
        units: positions, int ``[B, U]``.

    Returns:
        ``[B, U, ...]``.
    """
    shape = (*ops.shape(units), *([1] * (len(signal.shape) - 2)))
    return ops.take_along_axis(signal, ops.reshape(units, shape), axis=1)


def signal_function(model: SignalModel, names: Sequence[str]) -> Callable[[Mapping], dict]:
    """A compiled function from a padded batch to the named signals, gathered at units."""

    def run(batch: Mapping[str, Any]) -> dict[str, Any]:
        signals = model(batch, training=False)
        missing = [name for name in names if name not in signals]
        if missing:
            raise KeyError(f"the model has no signal {missing}; it has {sorted(signals)}")
        return {
            name: at_units(signals[name], batch["units"])
            if model.level(name) == "subword"
            else signals[name]
            for name in names
        }

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.function(run, reduce_retracing=True)
    return run


def example_signals(
    model: SignalModel, rows: Rows, names: Sequence[str], batch_size: int = 64
) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Signals of every example, its windows put back together.

    Args:
        model: a teacher or student.
        rows: encoded with the model's own featurizer.
        names: which signals; each of level ``subword`` or ``sequence``.

    Yields:
        ``(example index, {name: [units, ...] or [...]})`` in no particular order. Sequence signals
        of a text in several windows are their mean.
    """
    run = signal_function(model, names)
    rows_of = rows.rows_of()
    pending = [len(parts) for parts in rows_of]
    found: dict[int, dict[str, np.ndarray]] = {}
    for batch_rows in bucketed_batches(rows.lengths, batch_size, None):
        signals = {k: np.asarray(v) for k, v in run(rows.inputs(batch_rows)).items()}
        for i, row in enumerate(batch_rows):
            units = len(rows.windows[row].units)
            found[row] = {
                name: array[i, :units] if model.level(name) == "subword" else array[i]
                for name, array in signals.items()
            }
            example = int(rows.example[row])
            pending[example] -= 1
            if pending[example] == 0:
                parts = [found.pop(r) for r in rows_of[example]]
                yield (
                    example,
                    {
                        name: np.concatenate([p[name] for p in parts])
                        if model.level(name) == "subword"
                        else np.mean([p[name] for p in parts], axis=0)
                        for name in names
                    },
                )
