"""The learning rate over time and over layers, and what is decayed, against closed forms."""

from __future__ import annotations

import math

import keras
import numpy as np
import pytest

from tfdistil.distill.optimizer import WarmupDecay, layer_factors, make_optimizer
from tfdistil.recipe.schema.stages import OptimizerSpec

HIGH, LOW, STEPS = 2e-3, 1e-4, 50


def expected(step: int, warmup: int, shape: str) -> float:
    if step < warmup:
        return HIGH * (step + 1) / (warmup + 1)
    progress = min(1.0, (step - warmup) / (STEPS - warmup))
    left = {
        "cosine": (1 + math.cos(math.pi * progress)) / 2,
        "linear": 1 - progress,
        "constant": 1.0,
    }[shape]
    return LOW + (HIGH - LOW) * left


@pytest.mark.parametrize("shape", ["cosine", "linear", "constant"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_the_learning_rate_is_the_closed_form(shape, share):
    spec = OptimizerSpec(learning_rate=HIGH, final_learning_rate=LOW, schedule=shape, warmup=share)
    weight = keras.Variable(np.zeros(2), name="w")
    optimizer = make_optimizer(spec, STEPS, [("top", [weight])])
    optimizer.build([weight])
    for step in range(STEPS + 5):  # also past the end
        rate = float(optimizer.learning_rate)
        assert rate == pytest.approx(expected(step, round(share * STEPS), shape), rel=1e-4)
        optimizer.iterations.assign_add(1)


def test_a_schedule_round_trips():
    schedule = WarmupDecay(HIGH, LOW, STEPS, 5, "linear")
    assert float(WarmupDecay(HIGH, LOW, STEPS, 5, "linear", 3)(17)) == float(schedule(5))
    again = WarmupDecay.from_config(schedule.get_config())
    assert [float(again(i)) for i in range(60)] == [float(schedule(i)) for i in range(60)]


def groups(*shapes) -> list[tuple[str, list[keras.Variable]]]:
    found = []
    for number, shape in enumerate(shapes):
        layer = keras.layers.Layer(name=f"layer_{number}")
        weight = layer.add_weight(shape=shape, initializer="ones", name="w")
        found.append((f"group_{number}", [weight]))
    return found


def one_step(spec: OptimizerSpec, parts, gradients) -> list[np.ndarray]:
    weights = [weight for _, group in parts for weight in group]
    before = [np.array(weight) for weight in weights]
    optimizer = make_optimizer(spec, 10, parts)
    optimizer.apply_gradients(
        [(keras.ops.convert_to_tensor(g), w) for g, w in zip(gradients, weights, strict=True)]
    )
    return [np.array(weight) - old for weight, old in zip(weights, before, strict=True)]


@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_layers_further_down_move_less(decay):
    """Adam's first step is the learning rate times the sign of the gradient."""
    spec = OptimizerSpec(learning_rate=0.1, schedule="constant", layer_decay=decay)
    gradients = [np.full((2, 3), (-1.0) ** i * 10.0**-i, np.float32) for i in range(3)]
    moved = one_step(spec, groups(*[(2, 3)] * 3), gradients)
    for depth, (step, gradient) in enumerate(zip(moved, gradients, strict=True)):
        np.testing.assert_allclose(step, -0.1 * decay**depth * np.sign(gradient), rtol=1e-4)


def test_factors_go_by_group_not_by_weight():
    parts = groups((1,), (2,), (3,))
    merged = [("top", [*parts[0][1], *parts[1][1]]), parts[2]]
    factors = layer_factors(merged, 0.5)
    assert list(factors.values()) == [1.0, 1.0, 0.5]
    assert list(factors) == [w.path for _, group in parts for w in group]


@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_a_group_has_a_rate_of_its_own(decay):
    """Multi-grained distillation: the heads learn a hundred times as fast as what is below."""
    rates = {"group_0": 1e-1, "group_2": 3e-2}
    spec = OptimizerSpec(learning_rate=1e-3, schedule="constant", layer_decay=decay, rates=rates)
    moved = one_step(spec, groups(*[(2, 3)] * 4), [np.ones((2, 3), np.float32)] * 4)
    for step, rate in zip(moved, [1e-1, 1e-3 * decay, 3e-2, 1e-3 * decay**3], strict=True):
        np.testing.assert_allclose(step, -rate, rtol=1e-3)


@pytest.mark.parametrize("rates", [{"part": 1e-1}, {"part": 1e-1, "group_1": 3e-2}, {}])
def test_a_part_of_a_group_may_have_a_rate_of_its_own(rates):
    """Multi-grained distillation: potentials at 1e-3, logits at 1e-5, BERT decays below them."""
    spec = OptimizerSpec(learning_rate=1e-3, schedule="constant", layer_decay=0.5, rates=rates)
    (_, top), (name, middle), below = groups(*[(2, 3)] * 3)
    merged = [("top", top), (name, [*middle, *below[1]])]
    weights = [weight for _, group in merged for weight in group]
    optimizer = make_optimizer(spec, 10, merged, parts=[("part", middle)])
    gradients = [keras.ops.ones((2, 3)) for _ in weights]
    optimizer.apply_gradients(list(zip(gradients, weights, strict=True)))
    group = rates.get("group_1", 5e-4)
    for weight, rate in zip(weights, [1e-3, rates.get("part", group), group], strict=True):
        np.testing.assert_allclose(np.array(weight) - 1, -rate, rtol=1e-3)


@pytest.mark.parametrize("rates", [{"terms": 1e-1}, {"group_0": 1e-1}, {}])
def test_learned_weights_of_terms_may_have_a_rate_of_their_own(rates):
    spec = OptimizerSpec(learning_rate=1e-3, schedule="constant", weight_decay=0.1, rates=rates)
    (group,), other = groups((2, 3)), keras.Variable(0.0, name="log_weight")
    weights = [*group[1], other]
    optimizer = make_optimizer(spec, 10, [group], [other])
    gradients = [keras.ops.ones(weight.shape) for weight in weights]
    optimizer.apply_gradients(list(zip(gradients, weights, strict=True)))
    np.testing.assert_allclose(float(other), -rates.get("terms", 1e-3), rtol=1e-3)


def test_a_rate_of_its_own_rises_and_falls_with_the_others():
    spec = OptimizerSpec(
        learning_rate=1e-2, final_learning_rate=1e-3, schedule="linear", rates={"group_1": 1e-1}
    )
    parts = groups((1,), (1,))
    weights = [weight for _, group in parts for weight in group]
    optimizer = make_optimizer(spec, 6, parts)
    for _ in range(6):
        before = [float(weight[0]) for weight in weights]
        gradient = keras.ops.convert_to_tensor(np.ones(1, np.float32))
        optimizer.apply_gradients([(gradient, weight) for weight in weights])
        steps = [float(weight[0]) - old for weight, old in zip(weights, before, strict=True)]
        assert steps[1] == pytest.approx(10 * steps[0], rel=1e-3)
    assert steps[0] == pytest.approx(-(1e-3 + 9e-3 / 6), rel=1e-2)  # the sixth of six steps


def test_kernels_are_decayed_biases_are_not():
    spec = OptimizerSpec(learning_rate=0.1, schedule="constant", weight_decay=0.5)
    gradients = [np.zeros((2, 2), np.float32), np.zeros(2, np.float32)]
    moved = one_step(spec, groups((2, 2), (2,)), gradients)
    np.testing.assert_allclose(moved[0], -0.1 * 0.5, rtol=1e-5)  # of ones
    np.testing.assert_array_equal(moved[1], 0)


def test_the_gradient_is_clipped_as_a_whole():
    spec = OptimizerSpec(learning_rate=0.1, schedule="constant", clip=1.0)
    parts = groups((2, 1), (1, 1))
    weights = [weight for _, group in parts for weight in group]
    optimizer = make_optimizer(spec, 10, parts)
    gradients = [np.array([[3.0], [0.0]], "f"), np.array([[4.0]], "f")]  # norm 5
    optimizer.apply_gradients(
        [(keras.ops.convert_to_tensor(g), w) for g, w in zip(gradients, weights, strict=True)]
    )
    momentum = [np.array(m) for m in optimizer._momentums]
    for found, gradient in zip(momentum, gradients, strict=True):
        np.testing.assert_allclose(found, 0.1 * gradient / 5, rtol=1e-5)


def test_accumulated_batches_are_one_update_of_their_mean_gradient():
    spec = OptimizerSpec(learning_rate=0.1, final_learning_rate=0.01, weight_decay=0.1, clip=1.0)
    rng = np.random.default_rng(0)
    first, second, third, fourth = (rng.normal(size=(2, 3)).astype("float32") for _ in range(4))
    found = []
    for accumulate, steps in (
        (1, [(first + second) / 2, (third + fourth) / 2]),
        (2, [first, second, third, fourth]),
    ):
        parts = groups((2, 3))
        (weight,) = parts[0][1]
        optimizer = make_optimizer(spec, 4, parts, accumulate=accumulate)
        optimizer.build([weight])
        values = []
        for gradient in steps:
            optimizer.apply_gradients([(keras.ops.convert_to_tensor(gradient), weight)])
            values.append(np.array(weight))
        found.append(values)
    once, accumulated = found
    np.testing.assert_allclose(accumulated[1::2], once, rtol=1e-5)
    np.testing.assert_array_equal(accumulated[0], np.ones((2, 3)))  # nothing moves in between


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="one kernel on TensorFlow")
def test_many_updates_are_those_of_the_formula():
    """AdamW in NumPy, with dense gradients and with rows of which some occur twice."""
    import tensorflow as tf

    rng = np.random.default_rng(3)
    start = rng.normal(size=(5, 3)).astype("float32")
    weight = keras.Variable(start, name="w")
    spec = OptimizerSpec(learning_rate=0.01, schedule="constant", weight_decay=0.1)
    optimizer = make_optimizer(spec, 10, [("top", [weight])])
    expected, m, v = start.astype("float64"), np.zeros((5, 3)), np.zeros((5, 3))
    for step in range(1, 9):
        if step % 2:
            gradient = rng.normal(size=(5, 3)).astype("float32")
            given = tf.convert_to_tensor(gradient)
        else:
            rows, values = [4, 1, 4], rng.normal(size=(3, 3)).astype("float32")
            given = tf.IndexedSlices(tf.constant(values), tf.constant(rows), tf.constant([5, 3]))
            gradient = np.zeros((5, 3), "float32")
            np.add.at(gradient, rows, values)
        optimizer.apply_gradients([(given, weight)])
        expected -= 0.01 * 0.1 * expected
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        rate = 0.01 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        expected -= rate * m / (np.sqrt(v) + 1e-8)
        np.testing.assert_allclose(np.array(weight), expected, rtol=2e-5, atol=1e-6)


def test_epsilon_is_added_to_the_root_of_the_second_moment():
    """ε̂ of Kingma and Ba (2015), Section 2: before the moment is corrected for its start."""
    spec = OptimizerSpec(learning_rate=0.1, schedule="constant", epsilon=0.5)
    gradient = np.array([0.0, 1.0, -2.0])
    (moved,) = one_step(spec, groups((3,)), [gradient])
    root = np.sqrt(1 - 0.999)  # of the second moment after one step, for a gradient of 1
    expected = -0.1 * gradient * root / (root * np.abs(gradient) + 0.5)
    np.testing.assert_allclose(moved, expected, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("shape", [(2,), (2, 3)])
def test_a_part_of_a_group_at_rate_0_stays(shape, decay):
    spec = OptimizerSpec(
        learning_rate=0.1, schedule="constant", rates={"part": 0.0}, weight_decay=decay
    )
    first, second = groups(shape, shape)
    both = ("both", [*first[1], *second[1]])
    parts = [("part", second[1])]
    weights, before = both[1], [np.array(weight) for weight in both[1]]
    optimizer = make_optimizer(spec, STEPS, [both], parts=parts)
    optimizer.build(weights)
    optimizer.apply([keras.ops.ones(shape)] * 2, weights)
    assert (np.array(weights[0]) != before[0]).all()
    np.testing.assert_array_equal(weights[1], before[1])
