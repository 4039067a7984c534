"""Which layer groups of a student the terms of a stage depend on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import keras


def reached_groups(student: Any, signals: Collection[str], batch: Mapping[str, Any]) -> list[str]:
    """The layer groups that any of some signals depends on, top to bottom.

    A group counts by one weight, moving averages and observed ranges included: they are no less a
    part of the signal than what the optimizer changes.

    Args:
        student: gives signals and `layer_groups`.
        signals: names of what the terms read.
        batch: inputs of one text or several.

    Returns:
        Names of groups. Only TensorFlow's tape tells what is connected; on another backend all.
    """
    groups = student.layer_groups()
    if keras.backend.backend() != "tensorflow":
        return [name for name, _ in groups]
    import tensorflow as tf

    weights = {
        name: [w.value for w in members if "float" in keras.backend.standardize_dtype(w.dtype)]
        for name, members in groups
    }
    with tf.GradientTape() as tape:
        tape.watch(weights)
        found = student(batch, training=False)
        total = tf.add_n([tf.reduce_sum(tf.cast(found[name], "float32")) for name in signals])
    gradients = tape.gradient(total, weights)
    return [name for name, of_group in gradients.items() if any(g is not None for g in of_group)]
