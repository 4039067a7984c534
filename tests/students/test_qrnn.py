"""The bidirectional QRNN against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tfdistil.students.qrnn import POOLINGS, BiQRNN, reverse

LENGTHS = np.array([7, 1, 4])
MASK = (np.arange(7) < LENGTHS[:, None]).astype(np.float32)
REAL = MASK[..., None]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def oracle(layer, row):
    """One row without padding ``[L, C]``, one position after the other: ``[L, 2S]``."""
    runs = []
    for part, x in ((layer.forward, row), (layer.backward, row[::-1])):
        kernel = np.array(part.kernel, np.float64)[0]
        scale = np.array(part.norm.gamma) / np.sqrt(np.array(part.norm.statistics.variance) + 1e-3)
        shift = np.array(part.norm.beta) - np.array(part.norm.statistics.mean) * scale
        state, run = np.zeros(layer.units), []
        for t in range(len(x)):
            window = np.zeros((layer.taps, x.shape[1]))
            for i in range(layer.taps):
                if t - i >= 0:
                    window[layer.taps - 1 - i] = x[t - i]
            before = np.einsum("kc,kcn->n", window, kernel) * scale + shift
            letters = POOLINGS[layer.pooling]
            gates = dict(zip(letters, np.split(before, len(letters)), strict=True))
            z, f = np.tanh(gates["z"]), sigmoid(gates["f"])
            i = sigmoid(gates["i"]) if "i" in gates else 1 - f
            state = f * state + i * z
            run.append(state * sigmoid(gates["o"]) if "o" in gates else state)
        runs.append(np.array(run))
    return np.concatenate([runs[0], runs[1][::-1]], axis=-1)


def make(pooling="fo", taps=2, **options):
    layer = BiQRNN(5, taps, pooling, seed=3, **options)
    layer.build((None, None, 4))
    rng = np.random.default_rng(1)
    for weight in layer.weights:
        if "range" not in weight.path:
            weight.assign_add(np.abs(rng.normal(scale=0.5, size=weight.shape)).astype(np.float32))
    return layer


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(3, 7, 4)).astype(np.float32) * REAL


@pytest.mark.parametrize("unroll", [True, False], ids=["unrolled", "loop"])
@pytest.mark.parametrize("taps", [1, 2, 3])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_equals_the_definition(x, pooling, taps, unroll):
    layer = make(pooling, taps)
    y = np.asarray(layer(x, REAL, unroll=unroll))
    for row, length in enumerate(LENGTHS):
        expected = oracle(layer, x[row, :length].astype(np.float64))
        np.testing.assert_allclose(y[row, :length], expected, atol=1e-5)
        assert not y[row, length:].any()


@pytest.mark.parametrize("quantize", [None, "keras"])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_padding_and_batch_change_nothing(x, pooling, quantize):
    layer = make(pooling, quantize=quantize)
    layer(x, REAL, training=True)  # ranges
    together = np.asarray(layer(x, REAL))
    wide = np.pad(x, ((0, 0), (0, 4), (0, 0)))
    padded = np.asarray(layer(wide, np.pad(REAL, ((0, 0), (0, 4), (0, 0)))))
    assert_same(layer, padded[:, :7], together)
    for row, length in enumerate(LENGTHS):
        alone = layer(x[row : row + 1, :length], REAL[row : row + 1, :length])
        assert_same(layer, together[row, :length], np.asarray(alone)[0])


def assert_same(layer, found, expected):
    """Equal, up to ties where it rounds.

    Products of two rounded numbers are often near ties, and the last bit of float32, which depends
    on the shape, decides them. The integers of an int8 file have no such bit.
    """
    if layer.quantize is None:
        np.testing.assert_allclose(found, expected, atol=1e-6)
        return
    step = float(layer.output_range.high - layer.output_range.low) / 255
    difference = np.abs(found - expected)
    assert difference.max() < 1.01 * step
    assert (difference > 0.01 * step).sum() <= max(2, 0.02 * difference.size)


def test_zoneout_keeps_states_with_its_probability():
    rows = np.random.default_rng(2).normal(size=(50, 20, 4)).astype(np.float32)
    ones = np.ones((50, 20, 1), np.float32)
    layer = BiQRNN(8, pooling="f", zoneout=0.25, seed=1)
    layer.build(rows.shape)
    y = np.asarray(layer(rows, ones, training=True))[..., :8]
    kept = (y[:, 1:] == y[:, :-1]).mean()
    assert kept == pytest.approx(0.25, abs=0.02)
    # At inference nothing is kept, and nothing rescaled.
    y = np.asarray(layer(rows, ones))
    assert (y[:, 1:, :8] == y[:, :-1, :8]).mean() < 0.01
    np.testing.assert_allclose(y[0], oracle(layer, rows[0].astype(np.float64)), atol=1e-5)


def test_states_of_ifo_have_a_range_of_their_own(x):
    layer = make("ifo", quantize="keras")
    assert make("fo", quantize="keras").state_range is None
    layer(x, REAL, training=True)
    # It covers what float states reach, beyond the range of a tanh.
    assert layer.state_range is not None
    assert float(layer.state_range.high) > 1.2
    y, expected = np.asarray(layer(x, REAL)), oracle(layer, x[0].astype(np.float64))
    assert np.abs(y[0] - expected).mean() < 0.02


@pytest.mark.parametrize("training", [True, False])
def test_reverse(training, x):
    np.testing.assert_array_equal(reverse(x, training), x[:, ::-1])
    unknown = tf.function(reverse, input_signature=[tf.TensorSpec((None, None, 4))])
    np.testing.assert_array_equal(unknown(x), x[:, ::-1])


def test_regularisation_is_the_sum_of_squares(x):
    layer = make(l2=0.1)
    expected = sum((np.asarray(p.kernel) ** 2).sum() for p in (layer.forward, layer.backward))
    np.testing.assert_allclose(sum(layer.losses), 0.1 * expected, rtol=1e-5)


def test_config_round_trip():
    layer = BiQRNN(3, 3, "ifo", 0.2, l2=0.1, quantize="keras", seed=1, name="x")
    assert BiQRNN.from_config(layer.get_config()).get_config() == layer.get_config()


@pytest.mark.parametrize(
    ("change", "text"),
    [({"pooling": "of"}, "one of f, fo, ifo; got 'of'"), ({"zoneout": 1.0}, "below 1; got 1.0")],
)
def test_errors(change, text):
    with pytest.raises(ValueError, match=text):
        BiQRNN(3, **change)
