"""The training step on TensorFlow."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


class TrainStep:
    """Mixin with the custom ``train_step`` and ``test_step`` of the TensorFlow backend."""

    def compute_metrics(self: Any, *_: Any, **__: Any) -> dict[str, Any]:
        """The terms' means so far, the ``loss`` that they make now, and what terms have learnt."""
        return self.results(self.term_results())

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
        self.compute_loss(x=batch, y_pred=signals, training=False)
        return self.compute_metrics()
