"""Slots that depend on the intent."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.students.intent_condition import IntentCondition

REAL = np.ones((2, 4, 1), np.float32)


@pytest.mark.parametrize("quantize", [None, "keras"])
def test_adds_the_row_of_the_intent_to_every_word(quantize):
    layer = IntentCondition(3, 5, l2=0.1, quantize=quantize)
    layer.build()
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 4, 5)).astype(np.float32)
    np.testing.assert_allclose(
        layer(logits, np.array([1, 2]), REAL, training=True), logits, atol=0.02
    )
    layer.kernel.assign(0.3 * rng.normal(size=(3, 5)).astype(np.float32))
    table = np.asarray(layer.kernel)
    expected = logits + table[[2, 0]][:, None]
    for _ in range(80):
        found = layer(logits, np.array([2, 0]), REAL, training=True)
    np.testing.assert_allclose(found, expected, atol=0.03 if quantize else 1e-6)
    np.testing.assert_allclose(sum(layer.losses), 0.1 * (table**2).sum(), rtol=1e-5)


def test_config_round_trip():
    layer = IntentCondition(3, 5, 0.1, "keras", name="x")
    assert IntentCondition.from_config(layer.get_config()).get_config() == layer.get_config()
