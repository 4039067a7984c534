"""A few steps of training, as the tests of students take them."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf


def fifteen_steps(model, inputs, loss_of, rate):
    """Train on one batch with Adam.

    Returns the losses, and by path the gradients of the first step; each weight has to have one.
    """
    weights = model.trainable_variables
    optimizer = keras.optimizers.Adam(rate)
    optimizer.build(weights)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(model(inputs, training=True))
        gradients = tape.gradient(loss, weights)
        for gradient, weight in zip(gradients, weights, strict=True):
            assert gradient is not None, weight.path
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]

    steps = [step() for _ in range(15)]
    first = zip(weights, steps[0][1], strict=True)
    losses = [float(loss) for loss, _ in steps]
    return losses, {weight.path: np.asarray(gradient) for weight, gradient in first}
