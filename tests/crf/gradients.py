"""Gradients of what is under test, and of the oracle by finite differences."""

from __future__ import annotations

import numpy as np
import tensorflow as tf


def gradients(loss, batch):
    """Of ``loss(emissions, potentials)``, by the backend, compiled."""

    @tf.function
    def of(emissions, potentials):
        with tf.GradientTape() as tape:
            tape.watch([emissions, potentials])
            value = loss(emissions, potentials)
        # A loss that reads only one of them has a gradient of 0 for the other.
        zero = tf.UnconnectedGradients.ZERO
        return tape.gradient(value, [emissions, potentials], unconnected_gradients=zero)

    found = of(tf.constant(batch.emissions), tf.constant(batch.potentials))
    return [np.asarray(gradient) for gradient in found]


def finite_differences(loss, emissions, potentials, size=1e-5):
    """Of an oracle in float64, by central differences."""
    found = []
    arrays = [np.asarray(array, "f8") for array in (emissions, potentials)]
    for n, array in enumerate(arrays):
        gradient = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            values = []
            for sign in (1, -1):
                moved = [other.copy() for other in arrays]
                moved[n][place] += sign * size
                values.append(loss(*moved))
            gradient[place] = (values[0] - values[1]) / (2 * size)
        found.append(gradient)
    return found
