"""Adam's update as one pass over memory, on TensorFlow.

Keras writes it as a dozen operations, each of which reads and writes arrays as large as the
weights. With short texts and a large vocabulary that was a quarter of a teacher's training step.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf


class AdamUpdate(keras.optimizers.AdamW):
    """AdamW whose update is TensorFlow's own kernel; the formula is the same (Kingma and Ba 2015).

    The weights' decay and the clipping of gradients stay with Keras.
    """

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """One update of one weight.

        Args:
            gradient: a tensor, or the rows of one.
            variable: a TensorFlow variable.
            learning_rate: of this weight.
        """
        index = self._get_variable_index(variable)
        if isinstance(gradient, tf.IndexedSlices):  # a lookup's: rows may occur more than once
            gradient = tf.math.unsorted_segment_sum(
                gradient.values, gradient.indices, variable.shape[0]
            )
        dtype = variable.dtype
        step = tf.cast(self.iterations + 1, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=tf.pow(tf.cast(self.beta_1, dtype), step),
            beta2_power=tf.pow(tf.cast(self.beta_2, dtype), step),
            lr=tf.cast(learning_rate, dtype),
            beta1=tf.cast(self.beta_1, dtype),
            beta2=tf.cast(self.beta_2, dtype),
            epsilon=tf.cast(self.epsilon, dtype),
            grad=tf.cast(gradient, dtype),
        )
