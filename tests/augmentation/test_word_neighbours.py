"""Words swapped for their neighbours in the teacher's table."""

from __future__ import annotations

import numpy as np
import pytest

from tests.augmentation.conftest import TRAIN
from tfdistil.augmentation import AugmentationContext, augment
from tfdistil.data.example import Example
from tfdistil.encoders import load_encoder, load_tokenizer
from tfdistil.errors import DataError


def nearest(checkpoint, word: str, count: int) -> set[str]:
    """By the plain definition: cosine with every whole word, one by one."""
    table = np.asarray(load_encoder(checkpoint).word_embeddings)
    vocabulary = load_tokenizer(checkpoint).get_vocab()

    def cosine(other: str) -> float:
        a, b = table[vocabulary[word]], table[vocabulary[other]]
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    whole = [p for p in vocabulary if p.isalpha() and len(p) > 1 and p != word]
    return set(sorted(whole, key=cosine, reverse=True)[:count])


def test_a_word_becomes_one_of_its_nearest(make, checkpoint):
    made = make("word_neighbours", [Example(("rain",))], 400, share=1.0, neighbours=4)
    assert {example.words[0] for example in made} == nearest(checkpoint, "rain", 4)


def test_words_of_several_pieces_stay(make):
    text = ("rain", "qqzzjj")
    made = make("word_neighbours", [Example(text)], 50, share=1.0, neighbours=3)
    assert made
    assert {example.words[1] for example in made} == {"qqzzjj"}


def test_punctuation_stays(make, checkpoint):
    """It is one piece, and its neighbours are words that stand anywhere."""
    tokenizer = load_tokenizer(checkpoint)
    assert len(tokenizer.encode(["a"], is_pretokenized=True, add_special_tokens=False).ids) == 1
    text = ("rain", "?", "👍")
    made = make("word_neighbours", [Example(text)], 50, share=1.0, neighbours=3)
    assert {example.words[1:] for example in made} == {text[1:]}


def test_share_is_the_probability_of_a_swap(make):
    words = ("rain", "in", "rome", "today") * 25
    made = make("word_neighbours", [Example(words)], 40, share=0.3, neighbours=3)
    swapped = [new != old for e in made for new, old in zip(e.words, words, strict=True)]
    assert np.mean(swapped) == pytest.approx(0.3, abs=0.03)


def test_both_texts_of_a_pair_change(make):
    pair = Example(("rain", "in", "rome"), second=("fly", "to", "york"), label="no")
    made = make("word_neighbours", [pair], 30, share=0.9, neighbours=3)
    assert any(e.words != pair.words for e in made)
    assert any(e.second != pair.second for e in made)


def test_a_teacher_without_a_checkpoint_says_so():
    with pytest.raises(DataError, match="this teacher is made from scratch"):
        augment("word_neighbours", TRAIN, 5, 1, AugmentationContext())


@pytest.mark.parametrize("options", [{"share": 0.0}, {"share": 1.5}, {"neighbours": 0}])
def test_options_out_of_range_say_so(make, options):
    with pytest.raises(DataError, match="share is above 0 and at most 1, and neighbours at least"):
        make("word_neighbours", **options)


def test_more_neighbours_than_words_are_all_of_them(make, checkpoint):
    made = make("word_neighbours", [Example(("rain",))], 900, share=1.0, neighbours=10_000)
    assert len(made) == len(nearest(checkpoint, "rain", 10_000))
