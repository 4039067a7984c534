"""Pieces with the hashes of their words: which word each piece has, by the library's own answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfdistil.errors import ModelFileError, RecipeError
from tfdistil.text.hashed_subwords import HashedSubwordFeaturizer
from tfdistil.text.projection.fingerprints import fingerprints
from tfdistil.text.projection.spec import ProjectionSpec
from tfdistil.text.registry import featurizer_from_assets
from tfdistil.text.subwords import SubwordFeaturizer

SPEC = ProjectionSpec((("affix16", 32), ("ngram", 32)), capitalization=True)
WORDS = st.lists(st.sampled_from(["the", "Jazz", "unbelievable", "münchen", "東京", "", "qqq"]))


def made(tokenizer, max_length=64, **options) -> HashedSubwordFeaturizer:
    return HashedSubwordFeaturizer(
        SubwordFeaturizer.from_tokenizer(tokenizer, max_length, **options), SPEC
    )


def expected(words, word_ids):
    """The fingerprint of each position's word; of special tokens four zeros a byte."""
    rows = fingerprints([*words, "padding"], SPEC)
    rows[-1] = SPEC.padding
    return rows[[-1 if at is None else at for at in word_ids]]


@pytest.mark.parametrize("family", ["wordpiece", "unigram", "byte_level"])
def test_each_piece_has_the_fingerprint_of_its_word(request, family):
    featurizer = made(request.getfixturevalue(family))
    words = ["play", "Some", "unbelievably", "JAZZrooms", "in", "münchen"]
    (window,) = featurizer.encode(words)
    encoding = featurizer.subwords.tokenizer.encode(words, is_pretokenized=True)
    assert window.inputs["input_ids"].tolist() == encoding.ids
    assert len(encoding.ids) > len(words) + 2
    np.testing.assert_array_equal(window.inputs["fingerprint"], expected(words, encoding.word_ids))
    assert window.inputs["fingerprint"].dtype == np.uint8


def test_capitals_that_the_vocabulary_does_not_have(wordpiece):
    featurizer = made(wordpiece)
    (lower,), (upper,) = featurizer.encode(["jazz"]), featurizer.encode(["Jazz"])
    assert lower.length == upper.length
    assert not np.array_equal(lower.inputs["fingerprint"], upper.inputs["fingerprint"])


@pytest.mark.parametrize("family", ["wordpiece", "unigram"])
@pytest.mark.parametrize("max_length", [7, 12, 64])
@settings(max_examples=40, deadline=None)
@given(first=WORDS, second=WORDS)
def test_pairs(request, family, max_length, first, second):
    featurizer = made(request.getfixturevalue(family), max_length)
    (window,) = featurizer.encode(first, second)
    known = featurizer.subwords.pieces([*first, *second])
    # Positions of the pieces that are left, by the special tokens that stand around them.
    ids = window.inputs["input_ids"].tolist()
    one = [n for n, word in enumerate(first) for _ in known[word]]
    two = [n + len(first) for n, word in enumerate(second) for _ in known[word]]
    special = {featurizer.subwords.cls, featurizer.subwords.sep}
    ends = [at for at, id in enumerate(ids) if id in special]
    kept = ends[1] - 1
    other = len(ids) - 2 - featurizer.subwords.separators - kept
    gap = [None] * featurizer.subwords.separators
    word_ids = [None, *one[:kept], *gap, *two[:other], None]
    np.testing.assert_array_equal(
        window.inputs["fingerprint"], expected([*first, *second], word_ids)
    )


@pytest.mark.parametrize("max_length", [7, 9, 16])
@settings(max_examples=60, deadline=None)
@given(words=WORDS)
def test_windows_of_long_texts(wordpiece, max_length, words):
    featurizer = made(wordpiece, max_length)
    windows = featurizer.encode(words)
    plain = featurizer.subwords.encode(words)
    rows = fingerprints(words, SPEC)
    scored = 0
    for window, same in zip(windows, plain, strict=True):
        for name, array in same.inputs.items():
            np.testing.assert_array_equal(window.inputs[name], array)
        assert (window.words, window.dropped) == (same.words, same.dropped)
        np.testing.assert_array_equal(window.tokens, same.tokens)
        first, end = window.words
        np.testing.assert_array_equal(
            window.inputs["fingerprint"][window.tokens[window.starts]], rows[first:end]
        )
        scored += end - first
        for at in (0, -1):
            assert (window.inputs["fingerprint"][at] == SPEC.padding).all()
    assert scored == len(words)


def test_a_file_has_both(wordpiece):
    featurizer = made(wordpiece, 16)
    again = featurizer_from_assets(featurizer.to_json(), featurizer.to_assets())
    assert isinstance(again, HashedSubwordFeaturizer)
    assert again.to_json() == featurizer.to_json()
    (one,), (two,) = featurizer.encode(["Play", "jazz"]), again.encode(["Play", "jazz"])
    np.testing.assert_array_equal(one.inputs["fingerprint"], two.inputs["fingerprint"])
    assert set(featurizer.padding) == set(one.inputs)
    assets = featurizer.to_assets()
    for missing in assets:
        with pytest.raises(ModelFileError, match=rf"needs {missing}; it is missing"):
            featurizer_from_assets(
                featurizer.to_json(), {k: v for k, v in assets.items() if k != missing}
            )


def test_no_end_beside_that_of_the_pieces(wordpiece):
    with pytest.raises(RecipeError, match="eos"):
        HashedSubwordFeaturizer(
            SubwordFeaturizer.from_tokenizer(wordpiece, 16), ProjectionSpec(eos=True)
        )


def test_forgetting_changes_nothing(wordpiece):
    featurizer = made(wordpiece)
    before = featurizer.encode(["Play", "jazz"])[0].inputs["fingerprint"]
    featurizer.forget()
    np.testing.assert_array_equal(
        featurizer.encode(["Play", "jazz"])[0].inputs["fingerprint"], before
    )
