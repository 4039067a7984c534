"""The BiLSTM against Keras' own layers."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from tfdistil.students import lstm
from tfdistil.students.lstm import BiLSTM, gather_rows, reversal

LENGTHS = np.array([7, 1, 4, 6], np.int32)


def oracle(layer: BiLSTM, x: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
    """States and final states of ``Bidirectional(LSTM)`` with the same weights."""
    reference = keras.layers.Bidirectional(
        keras.layers.LSTM(layer.units, return_sequences=True, return_state=True)
    )
    reference.build(x.shape)
    parts = zip(layer.kernels, layer.recurrent_kernels, layer.biases, strict=True)
    reference.set_weights([np.asarray(w) for part in parts for w in part])
    states, forward, _, backward, _ = reference(x, mask=ops.convert_to_tensor(mask))
    return [np.asarray(states), np.concatenate([forward, backward], axis=-1)]


@pytest.fixture
def inputs() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(4, 7, 5)).astype(np.float32)


@pytest.fixture
def layer(inputs: np.ndarray) -> BiLSTM:
    layer = BiLSTM(6, seed=3)
    layer.build(inputs.shape)
    for weight in layer.weights:  # biases too must matter
        noise = np.random.default_rng(1).normal(scale=0.5, size=weight.shape)
        weight.assign_add(noise.astype(np.float32))
    return layer


@pytest.mark.parametrize("limit", [0, 64], ids=["scan", "unrolled"])
def test_equals_keras_bidirectional_lstm(layer, inputs, limit, monkeypatch):
    monkeypatch.setattr(lstm, "UNROLL_LIMIT", limit)
    mask = np.arange(7) < LENGTHS[:, None]
    expected_states, expected_last = oracle(layer, inputs, mask)
    states, last = layer(inputs, LENGTHS)
    np.testing.assert_allclose(np.asarray(states)[mask], expected_states[mask], atol=1e-5)
    np.testing.assert_allclose(last, expected_last, atol=1e-5)


@pytest.mark.parametrize("limit", [0, 64], ids=["scan", "unrolled"])
def test_a_cell_that_counts_on_stays_within_its_bounds(limit, monkeypatch):
    """All gates open: a cell gains almost 1 a step. A forgotten one starts over at once."""
    monkeypatch.setattr(lstm, "UNROLL_LIMIT", limit)
    cells: list[np.ndarray] = []
    step = lstm.lstm_cell

    def watched(gates, cell):
        hidden, cell = step(gates, cell)
        cells.append(np.asarray(cell))
        return hidden, cell

    monkeypatch.setattr(lstm, "lstm_cell", watched)
    layer = BiLSTM(1)
    layer.build((1, 40, 2))
    for weight in layer.weights:
        weight.assign(ops.zeros_like(weight))
    for kernel, sign in zip(layer.kernels, (1.0, -1.0), strict=True):
        # Feature 0 opens i and f and gives z its sign, feature 1 shuts f.
        kernel.assign([[20.0, 20.0, sign * 20.0, 20.0], [0.0, -40.0, 0.0, 0.0]])
    x = np.zeros((1, 40, 2), np.float32)
    x[..., 0] = 1
    x[0, 30, 1] = 1
    states, _ = layer(x, np.array([40], np.int32))
    low, high = lstm.CELL_BOUNDS
    np.testing.assert_allclose(states[0, 8:30, 0], np.tanh(high), atol=1e-6)
    assert 1 - np.tanh(high) < 1 / 256  # nothing that int8 would show
    assert min(map(np.min, cells)) == low
    assert max(map(np.max, cells)) == high


@pytest.mark.parametrize("limit", [0, 64], ids=["scan", "unrolled"])
def test_parts_side_by_side_are_the_whole(layer, inputs, limit, monkeypatch):
    monkeypatch.setattr(lstm, "UNROLL_LIMIT", limit)
    parts = [ops.convert_to_tensor(part) for part in (inputs[..., :2], inputs[..., 2:])]
    for whole, own in zip(layer(inputs, LENGTHS), layer(parts, LENGTHS), strict=True):
        np.testing.assert_allclose(own, whole, atol=1e-6)


def test_gradients_equal_with_static_and_unknown_length(layer, inputs):
    lengths = tf.constant(LENGTHS)

    def gradients(x):
        with tf.GradientTape() as tape:
            states, last = layer(x, lengths)
            mask = tf.sequence_mask(lengths, tf.shape(x)[1], tf.float32)[..., None]
            loss = tf.reduce_sum((states * mask) ** 2) + tf.reduce_sum(last**3)
        return tape.gradient(loss, [w.value for w in layer.trainable_variables])

    unknown = tf.function(gradients, input_signature=[tf.TensorSpec((None, None, 5))])
    for static, dynamic in zip(gradients(inputs), unknown(inputs), strict=True):
        np.testing.assert_allclose(static, dynamic, atol=1e-5)


def test_padding_never_reaches_a_real_position(layer, inputs):
    noisy = inputs.copy()
    mask = np.arange(7) < LENGTHS[:, None]
    noisy[~mask] = 1e3
    (states, last), (noisy_states, noisy_last) = layer(inputs, LENGTHS), layer(noisy, LENGTHS)
    np.testing.assert_array_equal(np.asarray(states)[mask], np.asarray(noisy_states)[mask])
    np.testing.assert_array_equal(last, noisy_last)


def test_starts_like_keras_with_open_forget_gates():
    layer = BiLSTM(3, seed=1)
    layer.build((None, None, 4))
    np.testing.assert_array_equal(layer.biases[1], [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    again = BiLSTM(3, seed=1)
    again.build((None, None, 4))
    for a, b in zip(layer.weights, again.weights, strict=True):
        np.testing.assert_array_equal(a, b)


def test_config_round_trip():
    layer = BiLSTM(3, seed=1, name="x")
    assert BiLSTM.from_config(layer.get_config()).get_config() == layer.get_config()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_reversal_is_its_own_inverse(lengths):
    positions = np.asarray(reversal(np.array(lengths, np.int32), 9))
    rows = np.tile(np.arange(9, dtype=np.int32), (len(lengths), 1))
    once = np.asarray(gather_rows(rows, positions))
    for row, length in zip(once, lengths, strict=True):
        assert list(row) == [*range(length - 1, -1, -1), *range(length, 9)]
    np.testing.assert_array_equal(gather_rows(once, positions), rows)
