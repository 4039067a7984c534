"""What the tests of students of hashed words share: tasks, rows, and a few steps of training."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

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
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer, losses = keras.optimizers.Adam(rate), []
    for _ in range(15):
        with tf.GradientTape() as tape:
            signals = model(inputs, training=True)
            loss = sum(loss_of(ids, signals[f"labels/{name}"]) for name, ids in gold.items())
        weights = model.trainable_variables
        gradients = tape.gradient(loss, weights)
        for gradient, weight in zip(gradients, weights, strict=True):
            assert gradient is not None, weight.path
            reached = np.asarray(tf.convert_to_tensor(gradient)).any()
            assert reached or losses, weight.path  # ranges may cut gradients off later
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        losses.append(float(loss))
    assert losses[-1] < 0.8 * losses[0]
