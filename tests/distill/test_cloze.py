"""A masked language model's guesses, against masking one text at a time by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.data.example import Example
from tfdistil.distill.cloze import ClozePredictor
from tfdistil.distill.evaluate import predictor_of
from tfdistil.distill.rows import encode_rows
from tfdistil.encoders import scratch_encoder
from tfdistil.tasks import Text
from tfdistil.tasks.text import hidden_words

from .conftest import PIECES, Model

MASK = PIECES["pieces"].index("[MASK]")
UNKNOWN = PIECES["pieces"].index("[UNK]")


@pytest.fixture
def featurizer(make_featurizer):
    return make_featurizer("pieces")


@pytest.fixture
def language_model(featurizer):
    """Random, with scores that are far from even, and often right: it likes the word ``the``."""
    encoder = scratch_encoder(
        vocabulary=featurizer.tokenizer.get_vocab_size(),
        hidden_dim=8,
        layers=1,
        attention_heads=2,
        intermediate_dim=8,
        max_positions=64,
        outputs={},
        heads={"logits": "mlm"},
        seed=3,
    )
    for weight in encoder.weights:
        weight.assign(weight + 0.3 * np.random.default_rng(5).normal(size=weight.shape))
    the = featurizer.tokenizer.token_to_id("the")
    (bias,) = (w for w in encoder.mlm.weights if w.shape == (encoder.config.vocabulary,))
    bias.assign(np.array(bias) + 3.0 * (np.arange(bias.shape[0]) == the))
    return encoder


def by_hand(model, featurizer, words):
    """Guess and log-probability of each hidden word of a text that is one window."""
    known = featurizer.pieces(words)
    spelt = [known[word] for word in words]
    ids, hidden = [featurizer.cls], {}
    for place, pieces in enumerate(spelt):
        is_hidden = place in hidden_words(words)
        if is_hidden:
            hidden[place] = (len(ids), pieces)
        ids += [MASK] * len(pieces) if is_hidden else pieces
    ids.append(featurizer.sep)
    batch = {
        "input_ids": np.array([ids], np.int32),
        "attention_mask": np.ones((1, len(ids)), np.int32),
    }
    logits = np.array(model(batch)["logits/mlm"][0], np.float64)
    log_q = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return {
        place: (
            tuple(logits[start : start + len(pieces)].argmax(-1)),
            log_q[range(start, start + len(pieces)), pieces].sum(),
        )
        for place, (start, pieces) in hidden.items()
    }


def test_guesses_and_probabilities_are_those_of_one_text_at_a_time(
    language_model, featurizer, make_examples
):
    texts = make_examples(60, seed=2)
    assert any(not text.words for text in texts)
    predictor = predictor_of(Model(language_model, featurizer), Text(), "logits")
    assert isinstance(predictor, ClozePredictor)
    found = predictor.predict(encode_rows(texts, featurizer, None))
    right = 0
    for text, prediction in zip(texts, found, strict=True):
        expected = by_hand(language_model, featurizer, text.words)
        assert len(prediction.tags) == len(prediction.tag_scores) == len(text.words)
        for place, word in enumerate(text.words):
            if place not in expected:
                assert (prediction.tags[place], prediction.tag_scores[place]) == ("", 1.0)
                continue
            pieces, log_p = expected[place]
            is_right = pieces == featurizer.pieces([word])[word]
            right += is_right
            assert (prediction.tags[place] == word) == is_right
            assert np.log(prediction.tag_scores[place]) == pytest.approx(log_p, rel=1e-4)
    assert right > 0
    scores = predictor.score(encode_rows(texts, featurizer, None), texts)
    assert scores["words_guessed"] == pytest.approx(
        100 * right / sum(len(hidden_words(t.words)) for t in texts)
    )


def test_a_word_that_cannot_be_spelt_is_wrong_and_costs_its_bytes(language_model, featurizer):
    text = Example(("qüx",))
    assert featurizer.pieces(text.words)["qüx"] == (UNKNOWN,)
    ((_, log_p),) = by_hand(language_model, featurizer, text.words).values()
    predictor = ClozePredictor(language_model, featurizer, Text(), "logits")
    (found,) = predictor.predict(encode_rows([text], featurizer, None))
    assert found.tags != text.words
    assert np.log2(found.tag_scores[0]) == pytest.approx(log_p / np.log(2) - 8 * 4, rel=1e-4)


def test_each_hidden_word_of_a_text_in_several_windows_is_guessed_once(
    language_model, featurizer, make_examples
):
    long = [text for text in make_examples(40, seed=4, longest=60) if len(text.words) > 20]
    whole = encode_rows(long, featurizer, None)
    short = type(featurizer).from_tokenizer(featurizer.tokenizer, 24)
    cut = encode_rows(long, short, None)
    assert len(cut) > len(whole) >= len(long)
    predictor = ClozePredictor(language_model, short, Text(), "logits")
    for text, prediction in zip(long, predictor.predict(cut), strict=True):
        places = hidden_words(text.words)
        scores = np.array(prediction.tag_scores)
        assert (scores[places] < 1).all()
        assert (np.delete(scores, places) == 1).all()


def test_no_window_shows_a_word_that_is_hidden(
    language_model, featurizer, make_examples, monkeypatch
):
    """Nor one that another window of the text owns and is asked for."""
    texts = make_examples(40, seed=4, longest=60)
    short = type(featurizer).from_tokenizer(featurizer.tokenizer, 24)
    rows = encode_rows(texts, short, None)
    predictor = ClozePredictor(language_model, short, Text(), "logits")
    seen, run = set(), predictor._run

    def watched(inputs, places):
        for ids, mask in zip(inputs["input_ids"], inputs["attention_mask"], strict=True):
            seen.add(tuple(ids[mask == 1].tolist()))
        return run(inputs, places)

    monkeypatch.setattr(predictor, "_run", watched)
    predictor.predict(rows)
    expected, around = set(), 0
    for text in texts:
        pieces = short.pieces(text.words)
        hidden = set(hidden_words(text.words).tolist())
        names = [f"{place}" for place in range(len(text.words))]
        masked = {
            name: (MASK,) * len(pieces[word]) if place in hidden else pieces[word]
            for place, (name, word) in enumerate(zip(names, text.words, strict=True))
        }
        for window in short.encode_known([(names, None)], masked)[0]:
            expected.add(tuple(window.inputs["input_ids"].tolist()))
            around += window.tokens[0] > 1 if len(window.tokens) else 0
    assert around > 5
    empty = {(short.cls, short.sep)}
    assert seen | empty == expected | empty
    assert sum(MASK in ids for ids in seen) > 20


def bits_of(model, featurizer, *words):
    text = Example(words)
    predictor = ClozePredictor(model, featurizer, Text(), "logits")
    rows = encode_rows([text], featurizer, None)
    (found,) = predictor.predict(rows)
    return found, predictor.score(rows, [text])["bits_per_byte"]


@pytest.mark.parametrize("size", [16, 127, 128, 129, 5000])
def test_an_unknown_word_of_any_length_costs_eight_bits_a_byte(language_model, featurizer, size):
    """2^-1024 is no float any more, and 128 bytes are as many bits."""
    word = "q" * size
    assert featurizer.pieces([word])[word] == (UNKNOWN,)
    ((_, log_p),) = by_hand(language_model, featurizer, [word]).values()
    found, score = bits_of(language_model, featurizer, word)
    assert found.tags != (word,)
    assert score == pytest.approx((8 * size - log_p / np.log(2)) / size, rel=1e-5)


def test_a_word_of_many_pieces_has_the_bits_of_all_of_them(language_model, featurizer):
    """Together they have a probability that is no float."""
    long = type(featurizer).from_tokenizer(featurizer.tokenizer, 64)
    word = "s" + "un" * 30
    assert len(long.pieces([word])[word]) == 61
    bias = [w for w in language_model.mlm.weights if len(w.shape) == 1][-1]
    bias.assign(np.array(bias) + 60.0 * (np.arange(bias.shape[0]) == UNKNOWN))
    ((_, log_p),) = by_hand(language_model, long, [word]).values()
    assert np.exp(log_p) == 0
    _, score = bits_of(language_model, long, word)
    assert score == pytest.approx(-log_p / np.log(2) / len(word), rel=1e-5)


def test_a_word_longer_than_a_window_is_never_guessed_and_costs_its_bytes(
    language_model, featurizer
):
    """What the window cuts off would be free otherwise."""
    short = type(featurizer).from_tokenizer(featurizer.tokenizer, 12)
    word = "s" + "un" * 6  # of 13 pieces, three more than fit
    pieces = short.pieces([word])[word]
    assert (len(pieces), short.budget) == (13, 10)
    ids = np.full((1, 12), MASK, np.int32)
    ids[0, [0, -1]] = featurizer.cls, featurizer.sep
    logits = np.array(
        language_model({"input_ids": ids, "attention_mask": np.ones_like(ids)})["logits/mlm"][0],
        np.float64,
    )
    log_q = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    inside = -log_q[range(1, 11), pieces[:10]].sum() / np.log(2)
    found, score = bits_of(language_model, short, word)
    assert found.tags != (word,)
    assert score == pytest.approx((inside + 8 * 13) / 13, rel=1e-5)
