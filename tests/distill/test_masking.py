"""BERT's masking as a transform of batches."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram, WordPiece

from tfdistil.distill.masking import (
    mask_pieces,
    masking,
    piece_counts,
    word_beginnings,
)
from tfdistil.tasks import IGNORE

MASK, VOCABULARY, SPECIAL = 4, 50, frozenset({0, 2, 3})


@pytest.fixture
def batch():
    """Rows of ordinary pieces between [CLS] = 2 and [SEP] = 3, then padding = 0."""
    rng = np.random.default_rng(0)
    ids = rng.integers(5, VOCABULARY, (200, 40)).astype(np.int32)
    ids[:, 0], ids[:, 30], ids[:, 31:] = 2, 3, 0
    mask = (np.arange(40) < 31).astype(np.int32) * np.ones((200, 1), np.int32)
    return {"input_ids": ids, "attention_mask": mask, "tokens": np.zeros((200, 8), np.int32)}


def draw(batch, probability=0.15, seed=1, **options):
    transform = mask_pieces(MASK, VOCABULARY, SPECIAL, probability, **options)
    return transform(batch, range(len(batch["input_ids"])), np.random.default_rng(seed))


@pytest.mark.parametrize("probability", [0.15, 0.4])
def test_the_shares_are_those_of_the_paper(batch, probability):
    found = draw(batch, probability)
    chosen = found["target/mlm"] != IGNORE
    open_to_choice = 200 * 29
    assert chosen.sum() == probability * open_to_choice
    before, after = batch["input_ids"][chosen], found["input_ids"][chosen]
    assert (after == MASK).mean() == pytest.approx(0.8, abs=0.04)
    assert (after == before).mean() == pytest.approx(0.1, abs=0.03)
    random = (after != MASK) & (after != before)
    assert random.mean() == pytest.approx(0.1, abs=0.03)
    assert 0 <= after.min() <= after.max() < VOCABULARY


def test_targets_are_what_was_there_and_the_rest_is_untouched(batch):
    found = draw(batch)
    chosen = found["target/mlm"] != IGNORE
    np.testing.assert_array_equal(found["target/mlm"][chosen], batch["input_ids"][chosen])
    np.testing.assert_array_equal(found["input_ids"][~chosen], batch["input_ids"][~chosen])
    assert found["input_ids"].dtype == found["target/mlm"].dtype == np.int32
    assert found["tokens"] is batch["tokens"]


def test_places_are_those_of_the_targets(batch):
    """Row by row, then -1 up to a multiple of 64."""
    found = draw(batch)
    places = found["places/mlm"]
    guessed = np.flatnonzero(found["target/mlm"] != IGNORE)
    np.testing.assert_array_equal(places[: len(guessed)], guessed)
    assert places.dtype == np.int32
    assert len(places) % 64 == 0
    assert (places[len(guessed) :] == -1).all()


def test_special_pieces_and_padding_are_never_chosen(batch):
    found = draw(batch, 0.99)
    chosen = found["target/mlm"] != IGNORE
    assert not chosen[np.isin(batch["input_ids"], list(SPECIAL))].any()
    assert not chosen[batch["attention_mask"] == 0].any()
    assert chosen[:, 1:30].mean() > 0.95


def test_each_draw_is_another_and_a_seed_repeats_it(batch):
    first = draw(batch)["input_ids"]
    np.testing.assert_array_equal(draw(batch)["input_ids"], first)
    assert (draw(batch, seed=2)["input_ids"] != first).any()
    generator = np.random.default_rng(1)
    transform = mask_pieces(MASK, VOCABULARY, SPECIAL)
    np.testing.assert_array_equal(transform(batch, [], generator)["input_ids"], first)
    assert (transform(batch, [], generator)["input_ids"] != first).any()


@pytest.mark.parametrize(
    ("probability", "pieces", "expected"),
    [(0.15, 20, 3), (0.15, 21, 4), (0.1, 1, 1), (0.0, 20, 0), (1.0, 20, 20), (0.5, 0, 0)],
)
def test_so_many_pieces_are_chosen_and_no_other_number(probability, pieces, expected):
    """⌈p · N⌉, also where p · N is a little more than a whole number in float arithmetic."""
    ids = np.full((1, pieces + 2), 7, np.int32)
    ids[:, 0], ids[:, -1] = 2, 3
    row = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    for seed in range(20):
        assert (draw(row, probability, seed)["target/mlm"] != IGNORE).sum() == expected


def inclusion(weights, drawn):
    """Probability of each unit to be among the first ``drawn``: all orders, one after the other."""
    found = np.zeros(len(weights))
    for order in permutations(range(len(weights)), drawn):
        chance, left = 1.0, float(sum(weights))
        for unit in order:
            chance *= weights[unit] / left
            left -= weights[unit]
        found[list(order)] += chance
    return found


def test_pieces_are_drawn_in_proportion_to_their_weights():
    """Against drawing without replacement enumerated."""
    weights = np.ones(VOCABULARY)
    weights[5:10] = [1.0, 0.5, 0.2, 2.0, 0.05]
    ids = np.arange(5, 10, dtype=np.int32)[None]
    row = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    transform = mask_pieces(MASK, VOCABULARY, SPECIAL, 0.4, weights=lambda: weights)
    generator, rounds = np.random.default_rng(3), 20_000
    chosen = sum(transform(row, [], generator)["target/mlm"] != IGNORE for _ in range(rounds))
    # The error of a share is at most 0.5 / √20,000 = 0.0035; four of them.
    np.testing.assert_allclose(chosen[0] / rounds, inclusion(weights[5:10], 2), atol=0.014)


def test_words_are_chosen_whole(batch):
    begins = np.arange(VOCABULARY) < 20  # 5 to 19 begin words, the others go on
    chosen = draw(batch, begins=begins)["target/mlm"] != IGNORE
    share = 0.15 * 200 * 29
    longest = partial = 0
    for ids, picked in zip(batch["input_ids"][:, 1:30], chosen[:, 1:30], strict=True):
        starts = sorted({0, *np.flatnonzero(begins[ids])})
        for word in np.split(picked, starts[1:]):
            partial += word.any() != word.all()
            longest = max(longest, len(word))
    assert partial == 0
    assert share <= chosen.sum() < share + longest
    assert longest > 3


def words_of_one_piece(featurizer):
    """Of the vocabulary, two."""
    vocabulary = featurizer.tokenizer.get_vocab()
    found = [word for word in vocabulary if featurizer.pieces([word])[word] == (vocabulary[word],)]
    return [word for word in sorted(found) if word.isalpha()][:2]


def test_masking_counts_the_texts_it_is_given(make_featurizer):
    featurizer = make_featurizer("pieces")
    one, other = words_of_one_piece(featurizer)
    counts = piece_counts(featurizer, [[one] * 9 + [other], [], [one] * 7])
    ids = featurizer.tokenizer.token_to_id(one), featurizer.tokenizer.token_to_id(other)
    assert counts[list(ids)].tolist() == [16, 1]
    assert counts.sum() == 17


def test_smoothing_favours_rare_pieces_and_is_counted_late(make_featurizer):
    featurizer, gone_through = make_featurizer("pieces"), []
    common, rare = words_of_one_piece(featurizer)

    class Texts:
        def __iter__(self):
            gone_through.append(1)
            return iter([[common] * 1000, [rare]])

    transform = masking(featurizer, Texts(), probability=0.5, smoothing=0.7)
    assert not gone_through
    (a,), (b,) = (featurizer.pieces([word])[word] for word in (common, rare))
    ids = np.array([[featurizer.cls, a, b, featurizer.sep]], np.int32)
    row = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    generator, rounds = np.random.default_rng(0), 2000
    chosen = sum(transform(row, [], generator)["target/mlm"][0] != IGNORE for _ in range(rounds))
    assert gone_through == [1]
    assert chosen.sum() == rounds
    share = 1 / (1 + 1000**-0.7)  # of the piece that occurs once
    assert chosen[2] / rounds == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / rounds))


WORDPIECE = WordPiece({"[UNK]": 0, "[MASK]": 1, "a": 2, "##a": 3}, unk_token="[UNK]")
UNIGRAM = Unigram([("<unk>", 0.0), ("▁a", -1.0), ("a", -2.0)], unk_id=0)
BYTES = BPE({"a": 0, "Ġa": 1}, [])


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (WORDPIECE, [True, True, True, False]),
        (UNIGRAM, [False, True, False]),
        (BYTES, [False, True]),
    ],
)
def test_where_words_begin(model, expected):
    assert word_beginnings(Tokenizer(model)).tolist() == expected


def test_pieces_that_do_not_show_where_words_begin():
    characters = Tokenizer(WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    with pytest.raises(ValueError, match="do not show where a word begins"):
        word_beginnings(characters)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"smoothing": -1.0}, "expected 0 or more"),
        ({"smoothing": 500.0}, "20 at the most"),
        ({"probability": 1.5}, "expected 0 to 1"),
        ({"probability": 0.0}, "nothing to guess"),
    ],
)
def test_options_out_of_range(make_featurizer, options, text):
    with pytest.raises(ValueError, match=text):
        masking(make_featurizer("pieces"), (), **options)
