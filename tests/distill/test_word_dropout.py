"""Whole words hidden: against a loop over words, for pieces and for hashes."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.data.example import Example
from tfdistil.distill.rows import encode_rows
from tfdistil.distill.word_dropout import word_dropout
from tfdistil.text.hashed_subwords import HashedSubwordFeaturizer
from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec

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


@pytest.mark.parametrize(
    ("kind", "hides", "message"),
    [("pieces", "hashes", "none of"), ("hashes", "pieces", "'projection' cannot be hidden")],
)
def test_what_cannot_be_hidden(make_featurizer, kind, hides, message):
    hashed = ProjectionFeaturizer(ProjectionSpec(families=(("murmur", 32),)), 12)
    featurizer = {"pieces": make_featurizer("pieces"), "hashes": hashed}[kind]
    with pytest.raises(ValueError, match=message):
        word_dropout(featurizer, (), hides=hides)
