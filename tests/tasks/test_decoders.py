"""Which decoder an output has, and what a file may not say of it."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.tasks import IntentSlots, Tags
from tfdistil.tasks.decoders import DECODERS, Decoder, decoder, read_decoders

TAGS = ("O", "B-a", "I-a")


class Biased(Decoder):
    """Adds a constant to the scores of each label."""

    def __init__(self, labels, bias):
        super().__init__(labels)
        if bias.shape != (labels,):
            raise ValueError(f"bias has shape {bias.shape}, expected ({labels},)")
        self.bias = bias

    def words(self, scores, start, follow):
        return super().words(scores + self.bias, start, follow)

    def text(self, scores):
        return super().text(scores + self.bias)


@pytest.fixture(autouse=True)
def biased():
    decoder("biased")(Biased)
    yield
    del DECODERS["biased"]


def test_each_output_has_the_decoder_of_its_head():
    task = IntentSlots(TAGS, ("buy", "sell"))
    logits = {"slots": np.array([[1.0, 0.5, 0.0]]), "intent": np.array([0.2, 0.1])}
    data = {"intent": {"kind": "biased", "constants": {"bias": [0, 5]}}}
    found = task.with_decoders(read_decoders(data, task.outputs)).decode(logits)
    assert (found.tags, found.label) == (("O",), "sell")
    data = {"slots": {"kind": "biased", "constants": {"bias": [0, 1, 9]}}}
    found = task.with_decoders(read_decoders(data, task.outputs)).decode(logits)
    assert (found.tags, found.label) == (("B-a",), "buy")  # legal: no text begins with I-a
    assert task.decode(logits).tags == ("O",)  # the task itself is as it was


def test_no_word_of_a_head_is_a_linear_one():
    rng, task = np.random.default_rng(0), Tags(TAGS)
    same = task.with_decoders(read_decoders({}, task.outputs))
    for _ in range(50):
        logits = {"tags": rng.normal(size=(rng.integers(0, 6), 3))}
        assert same.decode(logits) == task.decode(logits)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            {"intent": {"kind": "linear"}},
            "head of an output 'intent', which the task does not have",
        ),
        ({"tags": {"kind": "x"}}, "'tags' is of the unknown kind 'x'; this version knows linear"),
        ({"tags": {}}, "of the unknown kind None"),
        ({"tags": {"kind": ["linear"]}}, "of the unknown kind"),
        ({"tags": "linear"}, "is no object with a kind and constants"),
        ({"tags": {"kind": "biased", "constants": [1]}}, "is no object with a kind and constants"),
        ({"tags": {"kind": "biased"}}, "'tags' of the kind biased: .*bias"),
        ({"tags": {"kind": "linear", "constants": {"x": [1]}}}, "of the kind linear: .*'x'"),
        (
            {"tags": {"kind": "biased", "constants": {"bias": [1, 2]}}},
            r"kind biased: bias has shape \(2,\), expected \(3,\)",
        ),
        *(
            (
                {"tags": {"kind": "biased", "constants": {"bias": value}}},
                "constant 'bias' of a head is no array of finite numbers",
            )
            for value in (
                [1, 2, float("nan")],
                [1, [2], 3],
                ["a", 1, 2],
                {"a": 1},
                [1, 2, 1e999],
                [1, 2, 10**400],
            )
        ),
    ],
)
def test_what_does_not_fit(data, says):
    with pytest.raises(ValueError, match=says):
        read_decoders(data, Tags(TAGS).outputs)


def test_a_kind_has_one_decoder():
    with pytest.raises(ValueError, match="'linear' is registered already"):
        decoder("linear")(Biased)
