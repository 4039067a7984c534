"""The training step on TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf


class TrainStep:
    """Mixin with the custom ``train_step`` and ``test_step`` of the TensorFlow backend."""

    def train_step(self: Any, batch: Any) -> dict[str, Any]:
        """One update of the trainable weights on one batch from every stream."""
        with tf.GradientTape() as tape:
            signals = self(batch, training=True)
            loss = self.compute_loss(x=batch, y_pred=signals)
        weights = self.trainable_weights
        gradients = tape.gradient(loss, weights)
        # A weight no term reaches (another head, say) has no gradient, and must not be an error.
        reached = [(g, w) for g, w in zip(gradients, weights, strict=True) if g is not None]
        self.optimizer.apply_gradients(reached)
        return self.compute_metrics()

    def test_step(self: Any, batch: Any) -> dict[str, Any]:
        """The loss on a batch, without an update."""
        signals = self(batch, training=False)
        self.compute_loss(x=batch, y_pred=signals)
        return self.compute_metrics()

    def make_train_function(self: Any, force: bool = False) -> Any:
        """Keras' own function, or one with a graph for each length of a batch.

        A student with the attribute ``static_lengths`` has recurrences that are much faster
        unrolled, which takes a length that is known while the step is traced. Lengths are rounded
        up to multiples of 8, so there are few. Two streams would have a graph for every pair of
        lengths; they share one for all.
        """
        alone = len(self.streams) == 1 and self.distribute_strategy.num_replicas_in_sync == 1
        if not (getattr(self.student, "static_lengths", False) and alone):
            return super().make_train_function(force)  # type: ignore[misc]
        if self.train_function is None or force:
            self.train_function = _one_graph_per_length(self.train_step, self.jit_compile)
        return self.train_function


def _one_graph_per_length(
    step: Callable[[Any], dict[str, Any]], jit: bool
) -> Callable[[Iterator[Any]], dict[str, Any]]:
    """A train function that traces ``step`` once for every shape of a batch beyond its rows."""
    traced: dict[tuple[Any, ...], Callable[[Any], dict[str, Any]]] = {}

    def train(batches: Iterator[Any]) -> dict[str, Any]:
        batch = next(batches)
        batch = batch[0] if isinstance(batch, tuple) else batch
        key = tuple(tuple(array.shape[1:]) for array in tf.nest.flatten(batch))
        if key not in traced:
            signature = tf.nest.map_structure(
                lambda array: tf.TensorSpec((None, *array.shape[1:]), array.dtype), batch
            )
            traced[key] = tf.function(step, input_signature=[signature], jit_compile=jit)
        return traced[key](batch)

    return train
