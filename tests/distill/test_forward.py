"""Reading signals off a model: the wanted ones, at the scored tokens, of whole texts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from keras import ops

from tfdistil.distill.forward import JOINS, SignalReader, at_tokens
from tfdistil.distill.signals import LiveSignals
from tfdistil.encoders import scratch_encoder
from tfdistil.errors import RecipeError
from tfdistil.recipe.schema.stages import StageSpec, StopSpec, TermSpec

LEVELS = {
    "pieces": "subword",
    "maps": "subword",
    "scored": "token",
    "length": "sequence",
    "table": "model",
    "other": "subword",
}


class Counting:
    """Signals of every level that can be told by hand; counts how often it is traced."""

    def __init__(self):
        self.traced = 0

    def __call__(self, inputs, training=False):
        assert training is False
        self.traced += 1
        ids = ops.cast(inputs["input_ids"], "float32")
        pieces = ops.stack([ids, 2 * ids], axis=-1)
        real = ops.cast(inputs["attention_mask"], "float32")
        return {
            "pieces": pieces,
            "maps": ops.expand_dims(pieces, -1) + ops.zeros((2, 3)),
            "scored": -at_tokens(pieces, inputs["tokens"]),
            "length": ops.sum(real, axis=1),
            "table": ops.convert_to_tensor([[1.0, 2.0]]),
            "other": pieces / 0.0,
        }

    def level(self, signal):
        return LEVELS[signal]


NAMES = [name for name in LEVELS if name != "other"]


def test_at_units_takes_rows():
    signal = np.random.default_rng(0).normal(size=(3, 6, 2, 4)).astype(np.float32)
    tokens = np.array([[0, 5], [2, 2], [1, 0]])
    found = ops.convert_to_numpy(at_tokens(ops.convert_to_tensor(signal), tokens))
    np.testing.assert_array_equal(found, [signal[i, tokens[i]] for i in range(3)])


def test_a_batch_has_the_wanted_signals_at_the_scored_pieces(make_examples, make_rows):
    rows = make_rows(make_examples(9, seed=1), max_length=16)
    inputs = rows.inputs([3, 0, 4])
    reader = SignalReader(Counting(), NAMES)
    found = reader.batch(inputs)
    assert set(found) == set(NAMES)
    ids = np.take_along_axis(inputs["input_ids"], inputs["tokens"], axis=1)
    expected = np.stack([ids, 2 * ids], axis=-1)
    np.testing.assert_array_equal(found["pieces"], expected)
    np.testing.assert_array_equal(found["scored"], -expected)
    assert found["maps"].shape == (*expected.shape[:2], 2, 3)
    np.testing.assert_array_equal(found["length"], rows.lengths[[3, 0, 4]])
    np.testing.assert_array_equal(found["table"], [[1, 2]])
    assert reader.of_model == ("table",)
    assert reader.per_token == {"pieces": True, "maps": True, "scored": True, "length": False}


@pytest.mark.parametrize("batch_size", [1, 4, 64])
def test_examples_come_once_with_their_windows_together(make_examples, make_rows, batch_size):
    examples = make_examples(25, seed=2, longest=20)
    rows = make_rows(examples, max_length=12)
    assert len(rows) > len(examples)
    model = Counting()
    found = list(SignalReader(model, NAMES).examples(rows, batch_size))
    assert model.traced == 1  # for all lengths
    assert sorted(index for index, _ in found) == list(range(25))
    whole = make_rows(examples, max_length=96)
    for index, signals in found:
        window = whole.windows[index]
        ids = window.inputs["input_ids"][window.tokens]
        np.testing.assert_array_equal(signals["pieces"], np.stack([ids, 2 * ids], axis=-1))
        np.testing.assert_array_equal(signals["scored"], -signals["pieces"])
        mean = rows.lengths[rows.example == index].mean()
        assert signals["length"] == pytest.approx(mean)
        assert "table" not in signals


def test_an_encoder_gives_the_same_alone_and_in_a_batch(teacher, make_examples, make_rows):
    rows = make_rows(make_examples(12, seed=4), kind="words")
    reader = SignalReader(teacher.model, ["logits/tags", "hidden/1", "pooled"])
    for index, signals in reader.examples(rows):
        alone = reader.row(reader.batch(rows.inputs([index])), 0, rows.token_counts[index])
        for name in reader.names:
            np.testing.assert_allclose(signals[name], alone[name], atol=1e-6)


class Joining(Counting):
    """Of several windows, lengths add up, and the rows of words have no whole."""

    def join(self, signal):
        own = {"length": lambda parts: np.sum(parts, axis=0), "scored": None}
        return own.get(signal, JOINS.get(LEVELS[signal]))


def test_a_model_says_how_its_signals_are_joined(make_examples, make_rows):
    rows = make_rows(make_examples(25, seed=2, longest=20), max_length=12)
    for index, signals in SignalReader(Joining(), ["length", "pieces"]).examples(rows):
        assert signals["length"] == rows.lengths[rows.example == index].sum()
        assert len(signals["pieces"]) == rows.token_counts[index]


def test_what_cannot_be_joined_is_refused_before_the_model_runs(make_examples, make_rows):
    examples = make_examples(25, seed=2, longest=20)
    rows, short = make_rows(examples, max_length=12), make_rows(examples, max_length=96)
    long = sum(np.bincount(rows.example) > 1)
    assert 0 < long < 25
    model = Joining()
    reader = SignalReader(model, ["pieces", "scored"])
    text = f"{long} of 25 texts are longer than a window, and of several windows the signals scored"
    for read in (
        lambda: list(reader.examples(rows)),
        lambda: LiveSignals(model, rows, ["pieces", "scored"]),
    ):
        with pytest.raises(RecipeError) as caught:
            read()
        assert str(caught.value).startswith(text)
        assert "larger max_length" in str(caught.value)
    assert model.traced == 0
    assert len(list(reader.examples(short))) == 25
    assert len(list(SignalReader(model, ["pieces"]).examples(rows))) == 25


def test_a_signal_of_pairs_of_pieces_has_no_units(bind_with, teacher):
    """Attention maps are read off the teacher in the step."""
    maps = {"student_signal": "attention/1", "teacher_signal": "attention/1"}
    encoder = scratch_encoder(13, hidden_dim=8, layers=1, max_positions=48, attention=True, seed=2)
    student = scratch_encoder(20, hidden_dim=8, layers=1, max_positions=48, attention=True, seed=3)
    stage = StageSpec(
        name="s",
        terms=[TermSpec(loss="hidden_mse", **maps)],
        stop=StopSpec(monitor="loss"),
    )
    with pytest.raises(RecipeError, match="'attention/1' off 'student', which has no row for a"):
        bind_with(stage, student, SimpleNamespace(model=encoder, featurizer=teacher.featurizer))
