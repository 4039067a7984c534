"""One update is the gradient of the loss, and an evaluation is none."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfdistil.distill.distiller import Distiller
from tfdistil.distill.streams import RowStream
from tfdistil.distill.terms import bind_terms
from tfdistil.recipe.schema.stages import TermSpec


@pytest.fixture
def batch(make_examples, make_rows, task):
    rows = make_rows(make_examples(8, seed=4))
    stream = RowStream(rows, task.outputs)
    return {"train": stream.batch(np.arange(len(rows)), np.random.default_rng(0))}


def make(student, task, **options):
    distiller = Distiller(student, bind_terms([TermSpec(loss="cross_entropy")], task.outputs))
    distiller.compile(optimizer=keras.optimizers.SGD(0.1), **options)
    return distiller


@pytest.mark.parametrize("jit", [False, True])
def test_a_step_goes_down_the_gradient(make_tagger, batch, task, jit):
    student = make_tagger().model
    weights = student.trainable_weights
    before = [np.array(w) for w in weights]
    distiller = make(student, task, jit_compile=jit)
    with tf.GradientTape() as tape:
        signals = distiller(batch, training=True)
        loss = distiller.compute_loss(x=batch, y_pred=signals)
    gradients = tape.gradient(loss, weights)
    distiller.reset_metrics()
    data = tf.data.Dataset.from_tensors(batch)
    logs = distiller.fit(data, shuffle=False, verbose=0).history
    assert logs["loss"][0] == pytest.approx(float(loss), rel=1e-5)
    for weight, old, gradient in zip(weights, before, gradients, strict=True):
        np.testing.assert_allclose(
            weight, old - 0.1 * tf.convert_to_tensor(gradient).numpy(), atol=1e-6
        )


def test_a_head_no_term_reaches_stays(make_bilstm, batch, task):
    student = make_bilstm(heads=("labels", "logits")).model
    before = {w.path: np.array(w) for w in student.weights}
    data = tf.data.Dataset.from_tensors(batch)
    make(student, task).fit(data, shuffle=False, verbose=0)
    moved = {w.path for w in student.weights if not np.array_equal(before[w.path], w)}
    assert not any("logits" in path for path in moved)
    assert any("labels" in path for path in moved)
    assert len(moved) > 4


def test_evaluation_changes_nothing(make_tagger, batch, task):
    student = make_tagger(dropout=0.5).model
    before = student.get_weights()  # running statistics among them
    distiller = make(student, task)
    data = tf.data.Dataset.from_tensors(batch)
    first, second = (distiller.evaluate(data, verbose=0, return_dict=True) for _ in range(2))
    assert first == second  # no dropout
    for old, new in zip(before, student.get_weights(), strict=True):
        np.testing.assert_array_equal(new, old)
