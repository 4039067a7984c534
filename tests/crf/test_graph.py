"""Viterbi as the stock runtime runs it, against the decoder of one text."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from tests.crf.oracle import SCHEMES
from tfdistil.crf import decoding
from tfdistil.crf.constraints import IMPOSSIBLE, NO_TAG
from tfdistil.crf.graph import graph_viterbi
from tfdistil.exporting.convert import Entry, convert
from tfdistil.exporting.inspect import inspect_model
from tfdistil.exporting.verify import check_operators

PLACES, BATCH = 9, 3
LEGAL = SCHEMES["iob2"]
LABELS = LEGAL.shape[1]


@pytest.fixture(scope="module")
def potentials() -> np.ndarray:
    scores = np.random.default_rng(0).normal(size=LEGAL.shape, scale=2).round()
    return np.where(LEGAL, scores, IMPOSSIBLE).astype("float32")


@pytest.fixture(scope="module")
def flatbuffer(potentials) -> bytes:
    same = keras.layers.Dense(LABELS, kernel_initializer="identity")
    model = keras.Sequential([keras.Input((PLACES, LABELS)), same])

    def entry(batch: int) -> Entry:
        specs = [
            keras.InputSpec(shape=(batch, PLACES, LABELS), dtype="float32", name="x"),
            keras.InputSpec(shape=(batch, PLACES), dtype="int32", name="mask"),
        ]
        return Entry(lambda x, mask: {"tags": graph_viterbi(model(x), potentials, mask)}, specs)

    return convert(model, {"one": entry(1), "batch": entry(BATCH)}, "none")


def test_it_is_made_of_built_in_operators(flatbuffer):
    found = inspect_model(flatbuffer)
    check_operators(found)
    assert "WHILE" not in found.operators["one"]
    assert sum(found.operators["one"].values()) <= 8 * PLACES + 20


@pytest.mark.parametrize(("signature", "rows"), [("one", 1), ("batch", BATCH)])
@pytest.mark.parametrize("whole", [False, True], ids=["real", "ties"])
def test_its_tags_are_those_of_the_decoder(flatbuffer, potentials, signature, rows, whole):
    run = Interpreter(model_content=flatbuffer).get_signature_runner(signature)
    rng = np.random.default_rng(1)
    for n in range(200):
        emissions = rng.normal(scale=3, size=(rows, PLACES, LABELS)).astype("float32")
        if whole:
            emissions = emissions.round()
        mask = (rng.random((rows, PLACES)) < n % 5 / 4).astype("int32")  # none up to all
        tags = run(x=emissions, mask=mask)["tags"]
        assert tags.dtype == np.int32
        for i in range(rows):
            words = mask[i] > 0
            assert (tags[i, ~words] == NO_TAG).all()
            expected = decoding.viterbi(emissions[i, words], potentials)
            np.testing.assert_array_equal(tags[i, words], expected)
