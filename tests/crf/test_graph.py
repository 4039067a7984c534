"""Viterbi as the stock runtime runs it, in a float and in an int8 graph, against the decoder."""

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


def drawn(rng, rows: int) -> np.ndarray:
    return rng.normal(scale=3, size=(rows, PLACES, LABELS)).astype("float32")


def converted(potentials, quantize: str) -> bytes:
    """A layer that changes nothing, its output and the tags, from one row and from three."""
    same = keras.layers.Dense(LABELS, kernel_initializer="identity")
    model = keras.Sequential([keras.Input((PLACES, LABELS)), same])

    def graph(x, mask):
        emissions = model(x)
        return {"emissions": emissions, "tags": graph_viterbi(potentials, emissions, mask)}

    def entry(batch: int) -> Entry:
        specs = [
            keras.InputSpec(shape=(batch, PLACES, LABELS), dtype="float32", name="x"),
            keras.InputSpec(shape=(batch, PLACES), dtype="int32", name="mask"),
        ]
        return Entry(graph, specs)

    rows = {"x": drawn(np.random.default_rng(2), 60), "mask": np.ones((60, PLACES), "int32")}
    return convert(model, {"one": entry(1), "batch": entry(BATCH)}, quantize, rows)


@pytest.fixture(scope="module")
def of_floats(potentials) -> bytes:
    return converted(potentials, "none")


@pytest.fixture(scope="module")
def of_int8(potentials) -> bytes:
    return converted(potentials, "int8")


def answers(flatbuffer, signature: str, rows: int, whole: bool = False):
    """Emissions, as real numbers, and tags of words of 200 draws: no place up to all are words."""
    run = Interpreter(model_content=flatbuffer).get_signature_runner(signature)
    detail = run.get_output_details()["emissions"]
    scale, zero = detail["quantization"] if detail["dtype"] == np.int8 else (1.0, 0)
    rng = np.random.default_rng(1)
    for n in range(200):
        given = drawn(rng, rows).round() if whole else drawn(rng, rows)
        mask = (rng.random((rows, PLACES)) < n % 5 / 4).astype("int32")
        found = run(x=given, mask=mask)
        assert found["tags"].dtype == np.int32
        assert (found["tags"][mask == 0] == NO_TAG).all()
        for q, tags, words in zip(found["emissions"], found["tags"], mask > 0, strict=True):
            yield (q[words].astype("f8") - zero) * scale, tags[words]


def score(tags, emissions, potentials) -> float:
    if not len(tags):
        return 0.0
    steps = potentials[[-2, *tags[:-1]], tags].sum() + potentials[-1, tags[-1]]
    return steps + emissions[np.arange(len(tags)), tags].sum()


@pytest.mark.parametrize("name", ["of_floats", "of_int8"])
def test_it_is_made_of_built_in_operators(name, request):
    found = inspect_model(request.getfixturevalue(name))
    check_operators(found)
    assert "WHILE" not in found.operators["one"]
    assert sum(found.operators["one"].values()) <= 9 * PLACES + 20


each_signature = pytest.mark.parametrize(("signature", "rows"), [("one", 1), ("batch", BATCH)])


@each_signature
@pytest.mark.parametrize("whole", [False, True], ids=["real", "ties"])
def test_its_tags_are_those_of_the_decoder(of_floats, potentials, signature, rows, whole):
    for emissions, tags in answers(of_floats, signature, rows, whole):
        np.testing.assert_array_equal(tags, decoding.viterbi(emissions, potentials))


@each_signature
def test_an_int8_graph_finds_the_best_path_of_its_own_emissions(
    of_int8, potentials, signature, rows
):
    """Multiples of a quantum often tie; then the path may be another one, but no worse."""
    same = []
    for emissions, tags in answers(of_int8, signature, rows):
        best = decoding.viterbi(emissions, potentials)
        same.append((tags == best).all())
        found = score(tags, emissions, potentials)
        assert found == pytest.approx(score(best, emissions, potentials), abs=PLACES / 2**14)
    assert np.mean(same) > 0.99
