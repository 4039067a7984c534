"""The training step on JAX."""

from __future__ import annotations

from typing import Any

import keras


class TrainStep:
    """Mixin that says what a step of Keras' own trainer on JAX gives.

    While it trains, the trainer has the values of all weights but metrics in a state of its own and
    none in the variables, so that what depends on them is found after its step, from that state.
    """

    def compute_metrics(self: Any, *_: Any, **__: Any) -> dict[str, Any]:
        """The terms' means alone; the step adds the rest."""
        return self.term_results()

    def train_step(self: Any, state: Any, data: Any) -> Any:
        """One update of the trainable weights on one batch from every stream."""
        means, state = keras.Model.train_step(self, state, data)
        return self._results_in(state, means), state

    def test_step(self: Any, state: Any, data: Any) -> Any:
        """The loss on a batch, without an update."""
        means, state = keras.Model.test_step(self, state, data)
        return self._results_in(state, means), state

    def _results_in(self: Any, state: Any, means: Any) -> dict[str, Any]:
        trainable, frozen, *_ = state
        values = [*zip(self.trainable_variables, trainable, strict=True)]
        values += zip(self.non_trainable_variables, frozen, strict=True)
        with keras.StatelessScope(state_mapping=values):
            found: dict[str, Any] = self.results(means)
        return found
