"""What the tests of students of hashed words share: tasks, rows, and a few steps of training."""

from __future__ import annotations

import keras
import numpy as np

from tests.students.training import fifteen_steps

TASKS = {
    "tags": {"tags": ("word", 5)},
    "intent_slots": {"slots": ("word", 5), "intent": ("sequence", 3)},
    "classes": {"class": ("sequence", 4)},
}


def batch(lengths, time, seed=0, features=32):
    """Random fingerprints, 0 at padding, and their mask."""
    mask = (np.arange(time) < np.array(lengths)[:, None]).astype(np.int32)
    rng = np.random.default_rng(seed)
    fingerprint = rng.integers(0, 256, (*mask.shape, features // 4)) * mask[..., None]
    return {"fingerprint": fingerprint.astype(np.uint8), "attention_mask": mask}


def assert_a_few_steps_lower_the_loss(model, task, rate):
    """Fifteen steps of Adam on four texts; the first one reaches every weight."""
    inputs = batch([5, 3, 8, 6], 8)
    rng = np.random.default_rng(2)
    gold = {
        name: rng.integers(0, size, (4, 8) if level == "word" else (4,)).astype(np.int32)
        for name, (level, size) in TASKS[task].items()
    }
    inputs |= {f"target/{name}": ids for name, ids in gold.items() if ids.ndim == 1}
    each = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def loss_of(signals):
        return sum(each(ids, signals[f"labels/{name}"]) for name, ids in gold.items())

    losses, first = fifteen_steps(model, inputs, loss_of, rate)
    for path, gradient in first.items():
        assert gradient.any(), path  # later, ranges may cut gradients off
    assert losses[-1] < 0.8 * losses[0]
