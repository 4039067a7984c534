"""One update is the gradient of the loss, and an evaluation is none."""

from __future__ import annotations

from dataclasses import replace

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfdistil.distill.distiller import Distiller, bind_terms
from tfdistil.distill.stage import run_stage
from tfdistil.distill.streams import Stream, StreamBatches
from tfdistil.recipe import StageSpec, StopSpec, TermSpec


@pytest.fixture
def batch(make_examples, make_rows, task):
    rows = make_rows(make_examples(8, seed=4))
    stream = Stream(rows, task.outputs)
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


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_graph_for_each_length_trains_like_one_for_all(
    make_tagger, make_examples, make_rows, task, accumulate
):
    examples = [*make_examples(20, seed=4), *make_examples(20, seed=5)]
    for number, example in enumerate(examples):
        times = 1 + number % 3
        examples[number] = replace(example, words=example.words * times, tags=example.tags * times)
    rows = make_rows(examples)
    assert len({-(-length // 8) for length in rows.lengths}) > 1
    stage = StageSpec(
        name="one",
        teacher=None,
        terms=[TermSpec(loss="cross_entropy")],
        batch_size=4,
        accumulate=accumulate,
        stop=StopSpec(epochs=2, every=5),
    )
    found = []
    for static in (True, False):
        student = make_tagger().model
        student.static_lengths = static
        history: list[dict[str, float]] = []
        run_stage(
            stage,
            student,
            {"train": Stream(rows, task.outputs)},
            task.outputs,
            seed=1,
            metric=lambda: 0.0,
            record=lambda phase, row, to=history: to.append(row),
        )
        found.append(([np.array(w) for w in student.weights], history))
    (one, curve), (all_, curve_all) = found
    for a, b in zip(one, all_, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert len(curve) == len(curve_all) > 1
    for row, other in zip(curve, curve_all, strict=True):
        assert row == pytest.approx(other, abs=1e-4)


def test_lengths_are_known_where_a_student_wants_them(make_tagger, make_rows, make_examples, task):
    seen = set()
    student = make_tagger().model
    plain = student.call

    def call(inputs, training=None):
        seen.add(inputs["input_ids"].shape[1])
        return plain(inputs, training=training)

    student.call = call
    rows = make_rows(make_examples(8, seed=4))
    data = StreamBatches({"train": Stream(rows, task.outputs)}, 4, seed=0)
    for static in (False, True):
        student.static_lengths = static
        make(student, task).fit(data.dataset(), steps_per_epoch=2, shuffle=False, verbose=0)
    assert None in seen
    assert any(length and length % 8 == 0 for length in seen)
