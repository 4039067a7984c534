"""Normalisation statistics that rest for the end of a training."""

from __future__ import annotations

from typing import Any

import keras


class FreezeStatistics(keras.callbacks.Callback):
    """From some epoch on, normalise with the stored statistics, as the exported graph does.

    Krishnamoorthi 2018, section 3.2.2: statistics of a batch jitter, and training should end on
    what the device computes. Gains and offsets go on learning.

    Args:
        student: has ``freeze_statistics()``.
        after: the fraction of all epochs before it happens; with 0.5 they rest for the last half.

    Raises:
        ValueError: a fraction outside ``[0, 1]``.
    """

    def __init__(self, student: Any, after: float = 0.5):
        super().__init__()
        if not 0 <= after <= 1:
            raise ValueError(f"after is a fraction of all epochs, from 0 to 1; got {after}")
        self.student, self.after = student, after
        self._frozen = False

    def on_train_begin(self, logs: Any = None) -> None:
        """Every training starts anew."""
        del logs
        self._frozen = False

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Freeze, once, and have the training step traced again."""
        del logs
        if not self._frozen and epoch >= self.after * self.params["epochs"]:
            self.student.freeze_statistics()
            self.model.make_train_function(force=True)
            self._frozen = True
