"""All products with a gate and sums with them in the stock runtime, against integers."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from tfdistil.device_ops import gather
from tfdistil.exporting.convert import Entry, convert
from tfdistil.exporting.inspect import inspect_model
from tfdistil.quantization.engines import SIGMOID, TANH, find_engine, untied

SHAPE = (1, 256 * 256)


def recurrence_step(limits, zero):
    """``gate * state`` and ``gate * state + added`` in int8, of the numbers of three values."""
    activation = find_engine("keras").activation
    step = (limits[1] - limits[0]) / 255
    gates = (np.arange(256) / 256).astype(np.float32)
    states = ((np.arange(256) - zero) * step).astype(np.float32)

    def function(gate, state, added):
        rounded = [activation(gather(states, numbers), *limits) for numbers in (state, added)]
        product = activation(gather(gates, gate), *SIGMOID) * rounded[0]
        product = activation(product, *untied(*limits))
        return {"product": product, "sum": activation(product + rounded[1], *limits)}

    names = ("gate", "state", "added")
    return Entry(function, [keras.InputSpec("int32", SHAPE, name=name) for name in names])


@pytest.mark.parametrize("limits", [TANH, (-1.3, 2.1)], ids=["tanh", "another"])
def test_all_products_round_halves_away_from_zero(limits):
    zero = round(-limits[0] / (limits[1] - limits[0]) * 255)
    gate, state = (n.reshape(SHAPE).astype(np.int32) for n in np.mgrid[:256, :256])
    inputs = {"gate": gate, "state": state, "added": (7 * state + gate) % 256}
    nothing = keras.Sequential([keras.Input((1,)), keras.layers.Identity()])
    file = convert(nothing, {"online": recurrence_step(limits, zero)}, "int8", inputs)
    assert inspect_model(file).float_operator_count == 0

    scaled = gate * (state - zero)
    product = np.sign(scaled) * ((np.abs(scaled) + 128) // 256)
    total = np.clip(product + inputs["added"] - zero, -zero, 255 - zero)
    found = Interpreter(model_content=file).get_signature_runner("online")(**inputs)
    np.testing.assert_array_equal(found["product"].astype(int) + 128 - zero, product)
    np.testing.assert_array_equal(found["sum"].astype(int) + 128 - zero, total)
