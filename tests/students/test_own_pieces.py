"""What pieces of a student's own begin with, against closed forms."""

from __future__ import annotations

import numpy as np
from tokenizers import Tokenizer

from tfdistil.students.own_pieces import RIDGE, fitted_to_words, vectors_of_pieces
from tfdistil.text.pretrained import bert_tokenizer

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def wordpieces(*pieces: str, lowercase: bool = False) -> Tokenizer:
    vocabulary = {piece: i for i, piece in enumerate((*SPECIAL, *pieces))}
    return bert_tokenizer(vocabulary, lowercase=lowercase)


def test_what_pieces_of_another_vocabulary_begin_as():
    old = wordpieces("play", "##ing", "un", "##play", "##s", "a", "##b", lowercase=True)
    new = wordpieces(
        "play", "##ing", "playing", "Play", "##Play", "unplays", "##ab", "#", "ห", "##กข"
    )
    table = np.random.default_rng(3).normal(size=(old.get_vocab_size(), 4)).astype(np.float32)
    found = vectors_of_pieces(table, old, new)
    spelled = {
        "[CLS]": ["[CLS]"],
        "play": ["play"],
        "##ing": ["##ing"],
        "playing": ["play", "##ing"],
        "Play": ["play"],
        "##Play": ["##play"],
        "unplays": ["un", "##play", "##s"],
        "##ab": ["a", "##b"],
    }
    for piece, parts in spelled.items():
        expected = np.mean([table[old.token_to_id(part)] for part in parts], axis=0)
        np.testing.assert_allclose(found[new.token_to_id(piece)], expected, rtol=1e-6)


def test_letters_of_another_script_do_not_all_begin_as_the_unknown_piece():
    """They are drawn as the table is distributed, and the same each time."""
    letters = [chr(0x1200 + i) for i in range(256)]
    old, new = wordpieces("a"), wordpieces(*letters, *(f"##{letter}" for letter in letters))
    table = np.random.default_rng(3).normal([1, -2, 5], [1, 0.1, 3], (6, 3)).astype(np.float32)
    found = vectors_of_pieces(table, old, new)
    np.testing.assert_array_equal(found, vectors_of_pieces(table, old, new))
    np.testing.assert_array_equal(found[:5], table[:5])
    drawn = found[5:]
    assert len(np.unique(drawn, axis=0)) == 512
    # Four standard errors of a mean and of a deviation.
    error = table.std(axis=0) / np.sqrt(512)
    assert (np.abs(drawn.mean(axis=0) - table.mean(axis=0)) < 4 * error).all()
    assert (np.abs(drawn.std(axis=0) - table.std(axis=0)) < 4 * error).all()


OLD = wordpieces("play", "##ing", "un", "##play", "##s", "said", "a", "##b", lowercase=True)
NEW = wordpieces("pl", "##ay", "##ing", "un", "##s", "said", "a", "##play", "never")
WORDS = {"playing": 4, "unplays": 9, "said": 25, "pl": 100, "ays,": 1, "play": 16, "plays": 1}
"""Not all of them are known to both: ``pl`` is none of OLD, nor ``ays`` or a comma of NEW."""


def fitted(words=WORDS, seed=3):
    draw = np.random.default_rng(seed)
    table = draw.normal(size=(OLD.get_vocab_size(), 4)).astype(np.float32)
    guess = vectors_of_pieces(table, OLD, NEW)
    return fitted_to_words(guess, table, OLD, NEW, words), guess, table


def test_vectors_fitted_to_words_are_those_of_ridge_regression():
    found, guess, table = fitted()
    spelled = {
        "playing": (["play", "##ing"], ["pl", "##ay", "##ing"]),
        "unplays": (["un", "##play", "##s"], ["un", "##play", "##s"]),
        "said": (["said"], ["said"]),
        "play": (["play"], ["pl", "##ay"]),
        "plays": (["play", "##s"], ["pl", "##ay", "##s"]),
    }
    rows, wanted = [], []
    for word, (old, new) in spelled.items():
        row = np.zeros(len(guess))
        for piece in new:
            row[NEW.token_to_id(piece)] += 1 / len(new)
        weight = WORDS[word] ** 0.25  # squared, it is the root of the count
        rows.append(weight * row)
        wanted.append(weight * np.mean([table[OLD.token_to_id(piece)] for piece in old], axis=0))
    # A row for each number that is pulled towards the guess.
    stacked = np.concatenate([rows, np.sqrt(RIDGE) * np.eye(len(guess))])
    right = np.concatenate([wanted, np.sqrt(RIDGE) * guess])
    expected = np.linalg.lstsq(stacked, right, rcond=None)[0]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.abs(found - guess).max() > 0.1


def test_pieces_of_no_word_keep_what_they_had_and_words_of_one_piece_their_vector():
    found, guess, table = fitted()
    for piece in (*SPECIAL, "never", "a"):
        np.testing.assert_array_equal(found[NEW.token_to_id(piece)], guess[NEW.token_to_id(piece)])
    said = table[OLD.token_to_id("said")]
    np.testing.assert_allclose(found[NEW.token_to_id("said")], said, atol=1e-5)


def test_without_a_word_that_both_know_nothing_is_fitted():
    for words in ({}, {"pl": 3, "ays,": 1}, {"\u0e2b": 1}):
        found, guess, _ = fitted(words)
        np.testing.assert_array_equal(found, guess)


def test_a_piece_that_comes_twice_in_a_word_counts_twice():
    old, new = wordpieces("adada"), wordpieces("a", "##da")
    table = np.full((6, 2), 3, np.float32)
    found = fitted_to_words(np.zeros((7, 2), np.float32), table, old, new, {"adada": 1})
    # One third of a, two thirds of ##da: x_a = s / 3 and x_da = 2 s / 3 with s = 3 / (λ + 5 / 9).
    s = 3 / (RIDGE + 5 / 9)
    np.testing.assert_allclose(found[5:], [[s / 3] * 2, [2 * s / 3] * 2], rtol=1e-5)


def test_the_order_of_words_changes_nothing():
    backwards = dict(reversed(WORDS.items()))
    np.testing.assert_array_equal(fitted(backwards)[0], fitted()[0])
