"""Whole words hidden: against a loop over words, for pieces and for hashes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.data.example import Example
from tfdistil.distill.rows import encode_rows
from tfdistil.distill.word_dropout import Letters, strange, unseen, word_dropout
from tfdistil.text.hashed_subwords import HashedSubwordFeaturizer
from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec
from tfdistil.text.projection.tokens import capitals

TEXTS = [
    Example(("berlin", "sees", "otto", "in", "the", "sun")),
    Example(("sun", "anna")),
    Example(()),
    Example(("paris", "otto", "berlin", "anna") * 6),  # several windows
    Example(("berlin", "sees"), second=("otto", "in", "paris")),
    Example(("berlin", "paris") * 9, second=("anna", "otto") * 9),  # both are cut
]
MASK, SPECIAL = 4, (0, 2, 3)


def made(featurizer, probability, seed=0, **options):
    rows = encode_rows(TEXTS, featurizer, None)
    chosen = list(range(len(rows)))[::-1]
    before, words = rows.inputs(chosen), rows.words(chosen)
    transform = word_dropout(featurizer, (), probability, **options)
    after = transform(before, words, np.random.default_rng(seed))
    draw = np.random.default_rng(seed)
    struck = [draw.random(len(own)) < probability for own in words]
    return [rows.windows[row] for row in chosen], words, struck, before, after


@pytest.mark.parametrize("alignment", ["first", "x"])
@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_all_pieces_of_a_word_become_the_mask_piece(make_featurizer, alignment, probability):
    featurizer = make_featurizer("pieces", max_length=18, alignment=alignment)
    windows, words, struck, before, after = made(featurizer, probability)
    expected = before["input_ids"].copy()
    for row, (window, own, hidden) in enumerate(zip(windows, words, struck, strict=True)):
        for number, word in enumerate(own):
            first = window.tokens[window.starts[number]]
            pieces = featurizer.pieces([word])[word]
            for place in range(first, first + len(pieces)):
                if expected[row, place] in SPECIAL:  # the rest of the word has been cut
                    break
                assert before["input_ids"][row, place] == pieces[place - first]
                if hidden[number]:
                    expected[row, place] = MASK
    np.testing.assert_array_equal(after["input_ids"], expected)
    assert after["tokens"] is before["tokens"]
    shown = (before["input_ids"] == after["input_ids"]).all()
    assert shown == (probability == 0.0)


@pytest.mark.parametrize("map_", ["operator", "paper"])  # whose zeros are other bytes
@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_a_hashed_word_becomes_zeros(map_, probability):
    spec = ProjectionSpec(families=(("murmur", 32),), map=map_, eos=True)
    windows, _, struck, before, after = made(ProjectionFeaturizer(spec, 12), probability)
    expected = before["fingerprint"].copy()
    for row, (window, hidden) in enumerate(zip(windows, struck, strict=True)):
        for token, gone in zip(window.tokens, hidden, strict=True):
            if gone:
                expected[row, token] = spec.padding
    np.testing.assert_array_equal(after["fingerprint"], expected)
    same = (before["fingerprint"] == after["fingerprint"]).all()
    assert same == (probability == 0.0)


def test_each_draw_is_another(make_featurizer):
    featurizer = make_featurizer("pieces")
    rows = encode_rows(TEXTS, featurizer, None)
    before, words = rows.inputs([0]), rows.words([0])
    transform, generator = word_dropout(featurizer, (), 0.5), np.random.default_rng(1)
    found = {str(transform(before, words, generator)["input_ids"].tolist()) for _ in range(20)}
    assert len(found) > 5


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_pieces_and_hashes_are_hidden_together(make_featurizer, probability):
    pieces = make_featurizer("pieces", max_length=18)
    both = HashedSubwordFeaturizer(pieces, ProjectionSpec(families=(("murmur", 32),)))
    _, _, _, before, after = made(both, probability)
    *_, alone = made(pieces, probability)
    np.testing.assert_array_equal(after["input_ids"], alone["input_ids"])
    hidden = before["input_ids"] != after["input_ids"]
    assert (after["fingerprint"][hidden] == both.spec.padding).all()
    np.testing.assert_array_equal(after["fingerprint"][~hidden], before["fingerprint"][~hidden])
    assert hidden.any() == (probability > 0)
    assert (before["fingerprint"][hidden] != both.spec.padding).any(axis=-1).all()


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_pieces_are_hidden_and_hashes_stay(make_featurizer, probability):
    pieces = make_featurizer("pieces", max_length=18)
    both = HashedSubwordFeaturizer(pieces, ProjectionSpec(families=(("murmur", 32),)))
    *_, words = made(both, probability)
    *_, before, after = made(both, probability, hides="pieces")
    np.testing.assert_array_equal(after["input_ids"], words["input_ids"])
    assert after["fingerprint"] is before["fingerprint"]
    *_, alone = made(pieces, probability, hides="pieces")
    np.testing.assert_array_equal(after["input_ids"], alone["input_ids"])


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_letters_change_and_capitals_stay(make_featurizer, probability):
    """The last two features of a word tell of capitals; the others are those of another word."""
    spec = ProjectionSpec(families=(("murmur", 32),), capitalization=True)
    pieces = make_featurizer("pieces", max_length=18)
    both = HashedSubwordFeaturizer(pieces, spec)
    *_, words = made(both, probability)
    *_, before, after = made(both, probability, hides="letters")
    np.testing.assert_array_equal(after["input_ids"], words["input_ids"])
    hidden = before["input_ids"] != after["input_ids"]
    old, new = before["fingerprint"], after["fingerprint"]
    np.testing.assert_array_equal(old[~hidden], new[~hidden])
    np.testing.assert_array_equal(old[..., -1] >> 4, new[..., -1] >> 4)
    changed = (old[hidden] != new[hidden]).any(axis=-1)
    assert changed.sum() >= 0.9 * len(changed)


@pytest.mark.parametrize("text", ["東 京 点 上 は", "Bob", "aaa I", "\u1100\u1161 가", "a-b O'N"])
def test_letters_change_and_shapes_stay(text):
    """Even of words that become a letter longer, or that their new letters do not compose."""
    spec = ProjectionSpec(families=(("murmur", 32),), shape=True)
    featurizer = ProjectionFeaturizer(spec, 12)
    rows = encode_rows([Example(tuple(text.split()))], featurizer, None)
    before, words = rows.inputs([0]), rows.words([0])
    transform = word_dropout(featurizer, (), 1.0, hides="letters")
    for seed in range(20):
        after = transform(before, words, np.random.default_rng(seed))
        old, new = before["fingerprint"], after["fingerprint"]
        np.testing.assert_array_equal(old[..., spec.hashed // 4 :], new[..., spec.hashed // 4 :])
        assert (old != new)[0, : len(words[0])].any(axis=-1).all()


def test_hashed_words_with_other_letters():
    spec = ProjectionSpec(families=(("murmur", 32),))
    featurizer = ProjectionFeaturizer(spec, 12)
    windows, words, struck, before, after = made(featurizer, 0.4, hides="letters")
    draw = np.random.default_rng(0)
    flat = [word for own in words for word in own]
    gone = draw.random(len(flat)) < 0.4
    letters = Letters.of(flat)
    others = iter([strange(word, letters, draw) for word, g in zip(flat, gone, strict=True) if g])
    for row, (window, own, hidden) in enumerate(zip(windows, words, struck, strict=True)):
        for token, word, new in zip(window.tokens, own, hidden, strict=False):
            expected = featurizer.hashes([next(others) if new else word])[0]
            np.testing.assert_array_equal(after["fingerprint"][row, token], expected)
    assert (before["fingerprint"] != after["fingerprint"]).any()


@given(st.text(max_size=12), st.integers(0, 2**32 - 1))
def test_a_strange_word_has_the_capitals_of_the_old_one(word, seed):
    new = strange(word, Letters(["e", "n", "ü"], ["日"]), np.random.default_rng(seed))
    assert len(new) == len(word)
    for old, c in zip(word, new, strict=True):
        if old.isalpha():
            assert c.lower() in ("enü" if old.lower() != old.upper() else "日")
            assert (c != c.lower()) == (old != old.lower())
        else:
            assert c == old


@pytest.mark.parametrize("words", ["東 京 点 上 は", "Bob", "aaa I", "A b C d", "UN EU"])
def test_a_word_that_the_batch_has_not(words):
    """Where words are single characters nearly all that are drawn are words."""
    flat = words.split()
    letters, seen = Letters.of(flat), {word.lower() for word in flat}
    for seed in range(20):
        for word in flat:
            new = unseen(word, seen, letters, np.random.default_rng(seed))
            assert new.lower() not in seen
            assert len(new) in (len(word), len(word) + 1)
            np.testing.assert_array_equal(capitals([new]), capitals([word]))


def test_a_word_without_letters_stays():
    assert unseen("12-3", {"12-3"}, Letters(["e"], []), np.random.default_rng(0)) == "12-3"
    assert Letters.of(["İstanbul"]).cased == [*"stanbul"]


@pytest.mark.parametrize("word", ["12-3", "İ", "Ⓐ"])
def test_a_strange_word_where_there_are_no_letters(word):
    assert strange(word, Letters([], []), np.random.default_rng(0)) == word


@pytest.mark.parametrize(
    ("kind", "hides", "message"),
    [
        ("pieces", "hashes", "expected words, pieces, letters, got 'hashes'"),
        ("hashes", "pieces", "pieces of 'projection' cannot be hidden"),
        ("pieces", "letters", "letters of 'subwords' cannot be hidden"),
    ],
)
def test_what_cannot_be_hidden(make_featurizer, kind, hides, message):
    hashed = ProjectionFeaturizer(ProjectionSpec(families=(("murmur", 32),)), 12)
    featurizer = {"pieces": make_featurizer("pieces"), "hashes": hashed}[kind]
    with pytest.raises(ValueError, match=message):
        word_dropout(featurizer, (), hides=hides)


@pytest.mark.parametrize("others", ["東京 は 日本", "في مدينة", "1º 2ª ĸ", "İ ß ŉ"])
def test_what_is_hashed_of_capitals_stays_beside_other_scripts(others):
    letters = Letters.of(["The", "cat", *others.split()])
    generator = np.random.default_rng(0)
    for word in ["Paris", "iPhone", "NASA", "cat", "東京"]:
        made = [strange(word, letters, generator) for _ in range(50)]
        np.testing.assert_array_equal(capitals(made), np.repeat(capitals([word]), 50, axis=0))
