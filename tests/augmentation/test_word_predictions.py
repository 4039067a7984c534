"""Words swapped for what a masked language model expects, and which pieces are words."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from keras import ops
from tokenizers import Tokenizer

from tests.augmentation.conftest import TRAIN
from tests.vectors.make_pieces import byte_pairs, unigram, variant
from tfdistil.augmentation import AugmentationContext, augment, word_predictions
from tfdistil.augmentation.whole_words import cased_like, whole_words
from tfdistil.data.example import Example
from tfdistil.encoders import load_encoder, load_tokenizer, save_encoder, scratch_encoder
from tfdistil.errors import DataError
from tfdistil.text.pretrained import bert_tokenizer
from tfdistil.text.subwords import SubwordFeaturizer
from tfdistil.text.train_tokenizer import train_wordpiece

TINY = {"hidden_dim": 8, "layers": 1, "max_positions": 16, "outputs": {}, "seed": 1}


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


def other_weights(checkpoint: Path, folder: Path) -> str:
    """A copy of a checkpoint with its word embeddings upside down."""
    model = load_encoder(checkpoint, heads={"logits": "mlm"})
    (table,) = [v for v in model.variables if v.shape == model.word_embeddings.shape]
    table.assign(ops.flip(table, axis=0))
    save_encoder(model, folder, tokenizer=load_tokenizer(checkpoint))
    return str(folder)


def test_other_weights_are_asked_anew(make, context, checkpoint, tmp_path):
    """Though configuration and sizes of all files are the same."""
    texts = [Example(("rain", "...", "?!"))]
    first = make("word_predictions", texts, 200, candidates=2)
    other = other_weights(checkpoint, tmp_path / "other")
    second = make("word_predictions", texts, 200, candidates=2, model=other)
    assert len([*(context.base / "fillings").iterdir()]) == 2
    assert {e.words[0] for e in second} == {*expected(other, ["rain", "...", "?!"], 0, 2)}
    assert {e.words[0] for e in first} != {e.words[0] for e in second}


@pytest.mark.parametrize(
    "broken",
    [
        "5",
        "null",
        '[["a"], 1]',
        "[" * 100_000,
        '{"a": 1}',
        "[%s, null]",
        "[%s, []]",
        "[%s, [[[5], [1]]]]",
        '[%s, [[[""], [1]]]]',
        '[%s, [[["a"], [-1]]]]',
        '[%s, [[["a", "b"], [1]]]]',
        "[%s, [[[], [], []]]]",
    ],
)
def test_a_line_that_holds_no_answer_is_asked_again(make, context, broken):
    text = [Example(("rain",))]
    made = make("word_predictions", text, 20)
    (file,) = (context.base / "fillings").iterdir()
    question = json.loads(file.read_text())[0]
    file.write_text((broken % json.dumps(question) if "%" in broken else broken) + "\n")
    assert make("word_predictions", text, 20) == made
    assert len(file.read_text().splitlines()) == 2  # the answer behind what was there


def save_letters(folder: Path, *pieces: str) -> None:
    """A cased masked language model of a few pieces."""
    pieces = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces)
    tokenizer = bert_tokenizer({p: i for i, p in enumerate(pieces)}, lowercase=False)
    model = scratch_encoder(len(pieces), heads={"logits": "mlm"}, **TINY)
    save_encoder(model, folder, tokenizer=tokenizer)


def test_other_forms_of_the_word_itself_are_no_candidates(tmp_path):
    """A vocabulary of one word in four forms, and another one."""
    save_letters(tmp_path / "cased", "rain", "Rain", "RAIN", "rAin", "sun")
    context = AugmentationContext(tmp_path, checkpoint=str(tmp_path / "cased"))
    for candidates in (1, 2, 50):
        found = augment(
            "word_predictions", [Example(("rain", "!"))], 9, 1, context, candidates=candidates
        )
        assert [e.words for e in found] == [("sun", "!")]


def test_a_vocabulary_without_words_says_so(tmp_path):
    save_letters(tmp_path / "letters", "r", "##a", "##i", "##n")
    context = AugmentationContext(tmp_path, checkpoint=str(tmp_path / "letters"))
    with pytest.raises(DataError, match=r"no piece of .*letters is a whole word"):
        augment("word_predictions", TRAIN, 9, 1, context)


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
    tokenizer = train_wordpiece(["rain in rome"] * 5, 60, lowercase=True)
    headless = scratch_encoder(tokenizer.get_vocab_size(), **TINY)
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
    one_piece = {w for w in ("and", "to", "the", "de") if len(featurizer.pieces([w])[w]) == 1}
    assert one_piece <= {*words.values()}  # though pieces within words read like them
