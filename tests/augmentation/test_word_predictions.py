"""Words swapped for what a masked language model expects, and which pieces are words."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from keras import ops
from tokenizers import Tokenizer

from tests.augmentation.conftest import TRAIN
from tests.vectors.make_pieces import byte_pairs, unigram, variant
from tfdistil.augmentation import AugmentationContext, augment, word_predictions
from tfdistil.augmentation.whole_words import cased_like, whole_words
from tfdistil.data.example import Example
from tfdistil.encoders import load_encoder, load_tokenizer
from tfdistil.errors import DataError
from tfdistil.text.subwords import SubwordFeaturizer


def expected(checkpoint, words: list[str], place: int, count: int) -> list[str]:
    """By the plain definition: one text, one mask, the whole softmax, word by word."""
    model = load_encoder(checkpoint, heads={"logits": "mlm"})
    tokenizer = load_tokenizer(checkpoint)
    vocabulary = tokenizer.get_vocab()
    masked = [*words[:place], "[MASK]", *words[place + 1 :]]
    tokenizer.encode_special_tokens = False
    ids = tokenizer.encode(" ".join(masked)).ids
    inputs = {
        "input_ids": np.array([ids], np.int32),
        "attention_mask": np.ones((1, len(ids)), np.int32),
        "token_type_ids": np.zeros((1, len(ids)), np.int32),
    }
    logits = np.asarray(ops.convert_to_numpy(model(inputs)["logits/mlm"]))[0]
    row = logits[ids.index(vocabulary["[MASK]"])]
    candidates = [p for p in vocabulary if p.isalpha() and len(p) > 1 and p != words[place]]
    return sorted(candidates, key=lambda piece: -row[vocabulary[piece]])[:count]


def test_a_word_becomes_what_is_expected_in_its_place(make, checkpoint):
    made = make("word_predictions", [Example(("rain", "...", "?!"))], 300, candidates=4)
    assert {e.words[1:] for e in made} == {("...", "?!")}  # no words, and one is always swapped
    assert {e.words[0] for e in made} == {*expected(checkpoint, ["rain", "...", "?!"], 0, 4)}


def test_likelier_words_come_more_often(checkpoint, tmp_path):
    """As often as their probability says: counted before equal sentences are left out."""
    context = AugmentationContext(tmp_path, checkpoint=str(checkpoint))
    texts = [Example(("rain",))] * 4000
    made = word_predictions.word_predictions(texts, 4000, random.Random(3), context, candidates=3)
    best = expected(checkpoint, ["rain"], 0, 3)
    counts = [sum(e.words == (word,) for e in made) for word in best]
    assert sum(counts) == 4000
    assert counts == sorted(counts, reverse=True)


def test_words_beyond_what_the_model_reads_stay(make):
    words = ("fly", "to", "new", "york") * 10  # the checkpoint has 16 positions
    made = make("word_predictions", [Example(words)], 60, share=0.8)
    assert {e.words[20:] for e in made} == {words[20:]}
    assert len({e.words[:10] for e in made}) > 30


def test_what_was_expected_is_kept_and_not_asked_again(make, context, monkeypatch):
    made = make("word_predictions", count=30)
    (file,) = (context.base / "fillings").iterdir()
    monkeypatch.setattr("tfdistil.encoders.load_encoder", None)  # nothing is loaded
    assert make("word_predictions", count=30) == made
    file.write_bytes(file.read_bytes()[:-20])  # stopped in the middle of a line
    monkeypatch.undo()
    assert make("word_predictions", count=30) == made


def test_both_texts_of_a_pair_change(make):
    pair = Example(("rain", "in", "rome"), second=("fly", "to", "york"), label="no")
    made = make("word_predictions", [pair], 30)
    assert all(e.words != pair.words and e.second != pair.second for e in made)


def test_texts_without_a_word_are_left_out(make):
    assert make("word_predictions", [Example(("12", "!")), Example(())], 30) == []


def test_capitals_are_those_of_the_word_before(make):
    made = make("word_predictions", [Example(("Rain", "!"))], 40)
    assert all(e.words[0].istitle() for e in made)
    assert cased_like("rome", "Paris") == "Rome"
    assert cased_like("rome", "PARIS") == "ROME"
    assert cased_like("McRome", "paris") == "McRome"
    assert cased_like("rome", "I") == "Rome"
    assert cased_like("rome", "") == "rome"


def test_a_teacher_without_a_checkpoint_says_so():
    with pytest.raises(DataError, match="this teacher is made from scratch; give model: FOLDER"):
        augment("word_predictions", TRAIN, 5, 1, AugmentationContext())


@pytest.mark.parametrize("options", [{"share": 0.0}, {"candidates": 0}, {"batch": 0}])
def test_options_out_of_range_say_so(make, options):
    with pytest.raises(DataError, match="share is above 0 and at most 1, candidates and batch at"):
        make("word_predictions", **options)


def test_a_checkpoint_without_a_head_of_pieces_says_so(make, tmp_path):
    from tfdistil.encoders import save_encoder, scratch_encoder
    from tfdistil.text.train_tokenizer import train_wordpiece

    tokenizer = train_wordpiece(["rain in rome"] * 5, 60, lowercase=True)
    sizes = {"hidden_dim": 8, "layers": 1, "max_positions": 16, "outputs": {}, "seed": 1}
    headless = scratch_encoder(vocabulary=tokenizer.get_vocab_size(), **sizes)
    save_encoder(headless, tmp_path / "headless", tokenizer=tokenizer)
    with pytest.raises(DataError, match="headless has no masked-language head; give model: FOLDER"):
        make("word_predictions", model=str(tmp_path / "headless"))


@pytest.mark.parametrize(
    ("pieces", "family", "name"), [(unigram, "unigram", "xlmr"), (byte_pairs, "bytes", "roberta")]
)
def test_whole_words_of_pieces_that_mark_spaces(pieces, family, name):
    """A piece within a word is none, however it reads."""
    tokenizer = Tokenizer.from_str(json.dumps(variant(pieces(), family, name)))
    ids = tokenizer.get_vocab()
    names = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    featurizer = SubwordFeaturizer.from_tokenizer(tokenizer, 32, names=names)
    words = whole_words(featurizer)
    assert len(words) > 100
    assert all(featurizer.pieces([word])[word] == (i,) for i, word in words.items())
    begin = {i for piece, i in ids.items() if piece.startswith(("\u2581", "\u0120"))}
    assert words.keys() <= begin
