"""Ranges that follow activations."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.quantization.observers import RangeObserver


def make(**options):
    layer = RangeObserver(**{"engine": "keras", "momentum": 0.9, "name": "range", **options})
    layer.build(None)
    return layer


def limits(layer):
    return float(layer.low), float(layer.high)


def test_the_first_batch_sets_the_range_and_others_move_it():
    layer = make()
    layer(np.array([-1.0, 2.0], np.float32), training=True)
    assert limits(layer) == (-1.0, 2.0)
    layer(np.array([-3.0, 1.0], np.float32), training=True)
    assert limits(layer) == pytest.approx((-1.2, 1.9))
    layer(np.array([5.0, 6.0], np.float32), training=True)  # the range holds 0 always
    assert limits(layer) == pytest.approx((-1.08, 2.31))


def test_padding_does_not_count():
    x = np.array([[[1.0, -2.0], [9.0, -9.0]]], np.float32)
    layer = make()
    layer(x, np.array([[[1.0], [0.0]]], np.float32), training=True)
    assert limits(layer) == (-2.0, 1.0)


def test_rests_at_inference_and_when_frozen():
    layer, x = make(), np.array([-1.0, 0.2, 2.0], np.float32)
    layer(x, training=True)
    layer(3 * x)
    layer.trainable = False
    layer(3 * x, training=True)
    assert limits(layer) == (-1.0, 2.0)
    np.testing.assert_allclose(layer(3 * x), [-1.0, 0.6, 2.0], atol=0.006)


def test_always_covers_what_it_must():
    layer = make(covers=(-20.0, 0.0))
    x = np.array([-20.0, 1.0], np.float32)
    layer(x[1:], training=True)
    assert limits(layer) == (-20.0, 1.0)
    np.testing.assert_allclose(layer(x), x, atol=0.05)


def test_before_the_first_batch_everything_is_finite():
    assert np.isfinite(np.asarray(make()(np.array([5.0], np.float32)))).all()


def test_without_an_engine_nothing_happens():
    layer, x = make(engine=None), np.array([5.0], np.float32)
    assert layer.weights == []
    assert np.asarray(layer(x, training=True)) == x
    assert layer.rounded(x) is x


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"momentum": 1.0}, "less than 1, got 1.0"),
        ({"covers": (1.0, 2.0)}, "covers 0, got .1.0, 2.0."),
        ({"engine": "x"}, "unknown quantization engine"),
    ],
)
def test_errors(change, text):
    with pytest.raises(ValueError, match=text):
        make(**change)


def test_config_round_trip():
    layer = make(covers=(-2.0, 0.0))
    assert RangeObserver.from_config(layer.get_config()).get_config() == layer.get_config()
