"""The mixer student: its parts against NumPy, and what the contract of all students leaves open."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from tests.int8_drift import int8_drift
from tests.others_long import others_long
from tests.students.hashed import TASKS, assert_a_few_steps_lower_the_loss, batch
from tfdistil.exporting.convert import Entry, convert
from tfdistil.exporting.inspect import inspect_model
from tfdistil.students.mixer import MixerStudent
from tfdistil.students.mixing import CentredNorm, TokenMixing

SMALL = {"features": 32, "hidden_dim": 12, "bottleneck": 16, "max_positions": 12}
of_each_task = pytest.mark.parametrize(  # intents and slots have what the others have
    "task", others_long(TASKS, ["intent_slots"])
)


def make(task="intent_slots", seed=1, **options):
    return MixerStudent(TASKS[task], seed=seed, name="mixer", **{**SMALL, **options})


def spread(model, seed=0):
    """The model with weights as spread out as trained ones."""
    rng = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign_add(rng.normal(scale=0.2, size=weight.shape).astype(np.float32))
    return model


def by_hand(model, rows):
    """``embedding`` and ``hidden`` by the formulas, each row alone and without its padding."""
    found = []

    def of(variable):
        return np.asarray(variable, np.float64)

    def norm(x):
        x = x - x.mean(-1, keepdims=True)
        return x / x.std(-1, keepdims=True)

    for fingerprint, mask in zip(rows["fingerprint"], rows["attention_mask"], strict=True):
        words = fingerprint[mask == 1]
        pairs = (words[..., None] >> np.array([0, 2, 4, 6])) & 3
        features = np.array([0, 1, -1, 0])[pairs].reshape(len(words), -1)
        read = np.pad(features, ((1, 1), (0, 0)))
        windows = np.concatenate([read[:-2], read[1:-1], read[2:]], axis=-1)
        kernel = of(model.neighbours.kernel).reshape(windows.shape[-1], -1)
        x = np.maximum(windows @ kernel + of(model.neighbours.bias), 0)
        x = embedding = x @ of(model.bottleneck.kernel)[0, 0] + of(model.bottleneck.bias)
        for block in model.blocks:
            mix, time = block.tokens, len(words)
            hidden = of(mix.expand)[0, 0, :time].T @ norm(x) + of(mix.expand_bias)[:, None]
            mixed = of(mix.contract)[0, 0, :, :time].T @ np.maximum(hidden, 0)
            x = x + mixed + of(mix.contract_bias)[:time, None]
            hidden = norm(x) @ of(block.expand.kernel)[0, 0] + of(block.expand.bias)
            x = x + np.maximum(hidden, 0) @ of(block.contract.kernel)[0, 0]
            x = x + of(block.contract.bias)
        found.append((embedding, norm(x)))
    return found


def test_bottleneck_and_blocks_by_hand():
    model, rows = spread(make()), batch([3, 1, 7], 8)
    signals = model(rows)
    for n, expected in enumerate(by_hand(model, rows)):
        for name, values in zip(("embedding", "hidden"), expected, strict=True):
            length = len(values)
            np.testing.assert_allclose(signals[name][n][:length], values, atol=1e-4)
            assert not np.asarray(signals[name][n][length:]).any()


def test_the_norm_is_a_layer_normalisation():
    x = np.random.default_rng(0).normal(3, 2, (2, 5, 16)).astype(np.float32)
    expected = keras.layers.LayerNormalization(center=False, scale=False, epsilon=1e-6)(x)
    layer = CentredNorm()
    layer.build(x.shape)
    found = layer(x, np.ones((2, 5, 1), np.float32))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert not np.asarray(layer(np.full_like(x, 7.0), np.ones((2, 5, 1), np.float32))).any()


def test_positions_beyond_a_row_change_nothing():
    layer = TokenMixing(9, 6, seed=1)
    x = np.random.default_rng(0).normal(size=(2, 5, 4)).astype(np.float32)
    layer.build(x.shape)
    wide = np.pad(x, ((0, 0), (0, 4), (0, 0)))
    real = np.ones((2, 9, 1), np.float32)
    np.testing.assert_allclose(layer(x, real[:, :5]), layer(wide, real)[:, :5], atol=1e-6)


def test_a_position_reads_its_neighbours_and_by_mixing_all_words():
    rows, model = batch([8, 5], 8), make(layers=1)
    other = {name: np.array(values) for name, values in rows.items()}
    other["fingerprint"][:, 0] ^= 0b01100110
    before, after = model(rows), model(other)
    moved = np.abs(before["hidden"] - after["hidden"]).max(-1)
    assert (moved[rows["attention_mask"] == 1] > 1e-5).all()
    touched = np.abs(before["embedding"] - after["embedding"]).max(-1) > 0
    np.testing.assert_array_equal(touched[0], np.arange(8) < 2)


@of_each_task
def test_a_few_steps_quantized_lower_the_loss_and_reach_every_weight(task):
    model = make(task, quantize="keras", max_positions=8)
    assert_a_few_steps_lower_the_loss(model, task, rate=0.01)


def test_padding_changes_no_training_step():
    """Gradients are those of the real positions, and so are the ranges of a quantized one."""
    rows = batch([4, 2, 7], 7)
    wide = {k: np.pad(v, [(0, 0), (0, 5)] + [(0, 0)] * (v.ndim - 2)) for k, v in rows.items()}
    wide["fingerprint"][wide["attention_mask"] == 0] = 9  # whatever is there
    found = []
    for inputs in (rows, wide):
        model = make()
        with tf.GradientTape() as tape:
            signals = model(inputs, training=True)
            slots = signals["labels/slots"][:, :7] * rows["attention_mask"][..., None]
            loss = tf.reduce_sum(slots**2) + tf.reduce_sum(signals["labels/intent"] ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        rounding = model.quantized()
        rounding(inputs, training=True)
        ranges = dict(rounding.layer_groups())["ranges"]
        found.append([np.asarray(tf.convert_to_tensor(g)) for g in gradients] + ranges)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_positions_that_no_row_has_fade():
    """A weight that only its penalty moves goes to 0, so unseen positions say nothing."""
    model = make(l2=1e-5)
    optimizer, rows = keras.optimizers.Adam(0.02), batch([6, 4], 6)
    for _ in range(40):
        with tf.GradientTape() as tape:
            signals = model(rows, training=True)
            loss = tf.reduce_sum(signals["labels/slots"] ** 2) + sum(model.losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        pairs = zip(gradients, model.trainable_variables, strict=True)
        optimizer.apply_gradients([(g, w) for g, w in pairs if g is not None])
    for block in model.blocks:
        kernel = np.abs(np.asarray(block.tokens.expand)[0, 0])
        assert kernel[6:].mean() < 0.1 * kernel[:6].mean()


def test_groups_and_the_size_of_the_default():
    groups = [name for name, _ in make().layer_groups()]
    assert groups == ["heads", "encoder", "bottleneck"]
    assert [name for name, _ in make(quantize="keras").layer_groups()] == [*groups, "ranges"]
    student = MixerStudent({"slots": ("word", 72), "intent": ("sequence", 7)}, max_positions=64)
    assert 0.9e6 < student.count_params() < 0.97e6


def test_a_quantized_one_starts_with_the_same_weights_and_is_near():
    model, rows = spread(make()), batch([4, 6, 8], 8)
    rounding = model.quantized()
    own = {weight.path: weight for weight in rounding.weights}
    for weight in model.weights:
        np.testing.assert_array_equal(own.pop(weight.path), weight)
    assert {path.split("/")[-1] for path in own} == {"low", "high", "batches"}
    rounding(rows, training=True)
    for name, value in model(rows).items():
        value = np.asarray(value)
        assert np.abs(rounding(rows)[name] - value).mean() < 0.1 * value.std(), name


@pytest.mark.slow
@of_each_task
def test_a_file_of_a_quantized_one_agrees_whatever_it_is_calibrated_on(task):
    model, rows = spread(make(task)), batch(np.random.default_rng(0).integers(2, 9, 32), 8)
    rounding = model.quantized()
    for _ in range(3):
        rounding(rows, training=True)
    entry = Entry(*rounding.export_function(8, 1))
    content = convert(rounding, {"online": entry}, "int8", {k: v[:1] for k, v in rows.items()})
    graph = inspect_model(content)
    assert (graph.flex, graph.custom, graph.float_operator_count) == ((), (), 0)
    assert sum(ops.get("L2_NORMALIZATION", 0) for ops in graph.operators.values()) == 5
    for output, drift in int8_drift(rounding, "labels", content, rows).items():
        assert drift < 0.05, output


@pytest.mark.slow
def test_a_file_of_short_rows_holds_the_weights_of_its_positions_alone():
    model = spread(make(layers=1, max_positions=64))
    sizes = {}
    for length in (8, 64):
        rows = batch([4, 6], length)
        entry = Entry(*model.export_function(length, 1))
        content = convert(model, {"online": entry}, "none", None)
        sizes[length] = len(content)
        runner = Interpreter(model_content=content).get_signature_runner("online")
        found = runner(**{k: v[:1] for k, v in rows.items()})["slots"]
        np.testing.assert_allclose(found, model(rows)["labels/slots"][:1], atol=1e-5)
    assert sizes[64] - sizes[8] > 2 * 56 * SMALL["hidden_dim"] * 4


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"features": 10}, "multiple of 4 .4 per byte., got 10"),
        ({"layers": 0}, "layers is a whole number from 1 to 1,000, got 0"),
        ({"window": -1}, "window is a whole number of neighbours on each side.*got -1"),
        ({"window": 12}, "0 to below max_positions .12., got 12"),
        ({"bottleneck": 0}, "bottleneck is a whole number from 1"),
        ({"hidden_dim": 60000, "bottleneck": 60000}, "parameters; a student has at most"),
        ({"l2": -1.0}, "l2 is at least 0, got -1.0"),
        ({"projection_dropout": 1}, "projection_dropout is a number from 0 to below 1, got 1"),
        ({"quantize": "x"}, "unknown quantization engine 'x'; there are keras, tfmot"),
        ({"outputs": {}}, "at least one output"),
    ],
)
def test_errors(change, text):
    with pytest.raises(ValueError, match=text):
        MixerStudent(**{"outputs": TASKS["tags"], **SMALL, **change})


def test_rows_longer_than_its_positions_are_refused():
    model = make()
    with pytest.raises(ValueError, match="rows have 13 words and this student 12 positions"):
        model(batch([13], 13))
    with pytest.raises(ValueError, match="rows have 16 words"):
        model.export_function(16, 1)
