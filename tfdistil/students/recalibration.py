"""Statistics and ranges as the device has them: without the noise of training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras

from tfdistil.quantization.observers import RangeObserver
from tfdistil.students.masked_batch_norm import MaskedStatistics


def recalibrate(
    model: keras.Model,
    noise: Sequence[tuple[keras.layers.Layer, str]],
    batches: Iterable[Mapping[str, Any]],
) -> None:
    """Measure a model's statistics and ranges with its noise at 0.

    Zoneout keeps states that the device replaces, and nothing rescales them at inference. So the
    averages that training gathers are those of other activations, and normalising with them costs
    several points (docs/pqrnn.md). Statistics become the plain mean over the batches, ranges go on
    following. What is frozen stays, and with it all other weights; where all of it is frozen, no
    batch is read.

    Args:
        model: called with ``training=True``.
        noise: layers, and the name of the rate that is 0 on the device, a number; it has its old
            value afterwards.
        batches: inputs of the model.
    """
    layers = list(model._flatten_layers(include_self=False))
    if not any(
        layer.trainable and layer.weights
        for layer in layers
        if isinstance(layer, MaskedStatistics | RangeObserver)
    ):
        return
    statistics = [layer for layer in layers if isinstance(layer, MaskedStatistics)]
    changes: list[tuple[Any, str]] = [*noise, *((layer, "momentum") for layer in statistics)]
    before = [getattr(layer, name) for layer, name in changes]
    try:
        for layer, name in noise:
            setattr(layer, name, 0.0)
        for number, batch in enumerate(batches):
            for layer in statistics:
                layer.momentum = number / (number + 1)  # of the mean over all batches
            model(batch, training=True)
    finally:
        for (layer, name), value in zip(changes, before, strict=True):
            setattr(layer, name, value)
