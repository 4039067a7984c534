"""What pieces of a student's own begin with, against closed forms."""

from __future__ import annotations

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

from tfdistil.students.own_pieces import RIDGE, fitted_to_words, vectors_of_pieces
from tfdistil.text.pretrained import bert_tokenizer
from tfdistil.text.subwords import SubwordFeaturizer

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def wordpieces(*pieces: str, lowercase: bool = False) -> SubwordFeaturizer:
    vocabulary = {piece: i for i, piece in enumerate((*SPECIAL, *pieces))}
    return reader(bert_tokenizer(vocabulary, lowercase=lowercase))


def rows(featurizer: SubwordFeaturizer) -> int:
    return featurizer.tokenizer.get_vocab_size()


def reader(tokenizer: Tokenizer, **names: str) -> SubwordFeaturizer:
    return SubwordFeaturizer.from_tokenizer(tokenizer, 32, names=names)


def test_what_pieces_of_another_vocabulary_begin_as():
    old = wordpieces("play", "##ing", "un", "##play", "##s", "a", "##b", lowercase=True)
    new = wordpieces(
        "play", "##ing", "playing", "Play", "##Play", "unplays", "##ab", "#", "ห", "##กข"
    )
    table = np.random.default_rng(3).normal(size=(rows(old), 4)).astype(np.float32)
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
        expected = np.mean([table[old.tokenizer.token_to_id(part)] for part in parts], axis=0)
        np.testing.assert_allclose(found[new.tokenizer.token_to_id(piece)], expected, rtol=1e-6)


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
    table = draw.normal(size=(rows(OLD), 4)).astype(np.float32)
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
    lines, wanted = [], []
    for word, (old, new) in spelled.items():
        row = np.zeros(len(guess))
        for piece in new:
            row[NEW.tokenizer.token_to_id(piece)] += 1 / len(new)
        weight = WORDS[word] ** 0.25  # squared, it is the root of the count
        lines.append(weight * row)
        wanted.append(
            weight * np.mean([table[OLD.tokenizer.token_to_id(piece)] for piece in old], axis=0)
        )
    # A row for each number that is pulled towards the guess.
    stacked = np.concatenate([lines, np.sqrt(RIDGE) * np.eye(len(guess))])
    right = np.concatenate([wanted, np.sqrt(RIDGE) * guess])
    expected = np.linalg.lstsq(stacked, right, rcond=None)[0]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.abs(found - guess).max() > 0.1


def test_pieces_of_no_word_keep_what_they_had_and_words_of_one_piece_their_vector():
    found, guess, table = fitted()
    for piece in (*SPECIAL, "never", "a"):
        np.testing.assert_array_equal(
            found[NEW.tokenizer.token_to_id(piece)], guess[NEW.tokenizer.token_to_id(piece)]
        )
    said = table[OLD.tokenizer.token_to_id("said")]
    np.testing.assert_allclose(found[NEW.tokenizer.token_to_id("said")], said, atol=1e-5)


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


def unigram(**scores: float) -> SubwordFeaturizer:
    """As XLM-R's: ``▁`` begins a word, nothing says which piece is the unknown one."""
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("<pad>", 0.0), *scores.items()]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>", "<pad>"])
    roles = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return reader(tokenizer, **roles)


def test_pieces_of_sentencepiece_begin_as_those_that_begin_or_continue_a_word():
    old = unigram(**{"▁play": -1, "play": -1, "ing": -1, "▁": -2, "p": -3, "i": -3, "n": -3})
    new = wordpieces("play", "##play", "##ing", "##in", "\u1200")
    table = np.random.default_rng(5).normal(size=(rows(old), 3)).astype(np.float32)
    found = vectors_of_pieces(table, old, new)
    spelled = {"play": ["▁play"], "##play": ["play"], "##ing": ["ing"], "##in": ["i", "n"]}
    spelled |= {"[CLS]": ["<s>"], "[SEP]": ["</s>"], "[PAD]": ["<pad>"], "[UNK]": ["<unk>"]}
    for piece, parts in spelled.items():
        expected = np.mean([table[old.tokenizer.token_to_id(part)] for part in parts], axis=0)
        np.testing.assert_allclose(found[new.tokenizer.token_to_id(piece)], expected, rtol=1e-6)
    of_no_letter = found[new.tokenizer.token_to_id("\u1200")]
    for row in table:
        assert not np.allclose(of_no_letter, row)
    # A word that the old pieces cannot spell says nothing.
    words = {"\u1200": 100}
    np.testing.assert_array_equal(fitted_to_words(found, table, old, new, words), found)


def test_words_keep_their_case_for_a_teacher_that_sees_it():
    old, new = wordpieces("Paris", "paris"), wordpieces("pa", "##ris", lowercase=True)
    table = np.zeros((7, 2), np.float32)
    table[5:] = [[10, 10], [-4, -4]]
    guess = vectors_of_pieces(table, old, new)
    found = fitted_to_words(guess, table, old, new, {"Paris": 10_000})
    word = found[5:].mean(axis=0)
    np.testing.assert_allclose(word, 10, atol=0.5)


def test_words_of_lone_surrogates_are_read_as_everywhere():
    found, guess, _ = fitted({"play\ud800": 3, "playing": 1})
    assert np.isfinite(found).all()
    assert not np.array_equal(found, guess)
