"""Vectors of whole words, found by hash."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tfdistil.students.word_vectors import KEY_BYTES, WordVectors, places, rows_of


def keys_of(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, KEY_BYTES)).astype(np.uint8)


def most_words(choices: np.ndarray, rows: int) -> int:
    """By another way: words are edges, and a component of the graph has room for its vertices."""
    ends = (np.ones(len(choices)), (choices[:, 0], choices[:, 1]))
    count, of_row = connected_components(coo_array(ends, (rows, rows)), directed=False)
    vertices = np.bincount(of_row, minlength=count)
    edges = np.bincount(of_row[choices[:, 0]], minlength=count)
    return int(np.minimum(vertices, edges).sum())


@pytest.mark.parametrize("words", [0, 1, 100, 256, 600])
def test_as_many_words_as_there_can_be_have_a_row_of_their_own(words):
    keys = keys_of(words)
    choices, found = rows_of(keys, 256), places(keys, 256)
    placed = found >= 0
    assert len(set(found[placed])) == placed.sum() == most_words(choices, 256)
    assert (found[placed, None] == choices[placed]).any(axis=1).all()


def test_no_word_is_left_out_for_a_later_one():
    keys = keys_of(600)
    whole = places(keys, 256) >= 0
    for some in (50, 200, 400):
        np.testing.assert_array_equal(places(keys[:some], 256) >= 0, whole[:some])


def test_both_rows_may_be_the_same():
    keys = [[3, 0, 3, 0, 1, 1], [3, 0, 3, 0, 2, 2], [3, 0, 4, 0, 3, 3], [3, 0, 3, 0, 1, 1]]
    assert places(np.array(keys, np.uint8), 256).tolist() == [3, -1, 4, -1]


def layer(**changes) -> WordVectors:
    made = WordVectors(**{"rows": 256, "dim": 6, "codes": 3, "first_byte": 1, "seed": 1, **changes})
    made.build()
    return made


def fingerprints(keys: np.ndarray) -> np.ndarray:
    """Of three words at most, as one row: a byte in front and one behind."""
    return np.pad(keys, ((0, 0), (1, 1)), constant_values=7)[None]


@pytest.mark.parametrize("rows", [256, 1024, 65536])
def test_a_word_has_its_vector_and_others_have_none(rows):
    keys = keys_of(150)
    vectors = np.random.default_rng(1).normal(size=(150, 6)).astype(np.float32) + 3
    table = layer(rows=rows)
    before = np.asarray(table(fingerprints(keys)))
    assert len(np.unique(before, axis=1)[0]) == 1  # nobody is known

    count = table.assign(keys, vectors)
    placed = places(keys, rows) >= 0
    assert count == placed.sum() > 140
    found = np.asarray(table(fingerprints(keys)))[0]
    np.testing.assert_array_equal(found[~placed], np.zeros((150 - count, 6)))
    # With fewer words than entries nothing is lost: centred, turned and scaled as all are.
    centred = vectors[placed] - vectors[placed].mean(axis=0)
    size = np.sqrt(np.mean(centred**2)) * 6**0.5
    np.testing.assert_allclose(
        found[placed] @ found[placed].T, centred @ centred.T / size**2, atol=1e-5
    )
    assert np.mean(found[placed] ** 2) == pytest.approx(1 / 6, rel=1e-4)
    others = np.asarray(table(fingerprints(keys_of(2000, seed=5))))
    assert (np.abs(others).max(axis=-1) > 0).sum() <= 2  # one in 30,000 is mistaken
    np.testing.assert_array_equal(table(fingerprints(np.zeros((3, KEY_BYTES), np.uint8))), 0)


def test_other_words_have_one_vector_that_can_be_trained():
    table = layer()
    keys = keys_of(20)
    table.assign(keys, np.random.default_rng(1).normal(size=(20, 6)))
    books = np.asarray(table.codebooks)
    books[-1] = [4, 5]
    known = np.asarray(table(fingerprints(keys)))
    table.codebooks.assign(books)
    np.testing.assert_array_equal(table(fingerprints(keys)), known)
    others = np.asarray(table(fingerprints(keys_of(9, seed=2))))
    np.testing.assert_array_equal(others, np.tile([4.0, 5.0], (1, 9, 3)))


def test_of_words_with_the_same_hash_the_first_counts():
    keys, vectors = keys_of(10), np.eye(10, 6)
    both, once = layer(), layer()
    assert both.assign(np.concatenate([keys, keys]), np.concatenate([vectors, -vectors])) == 10
    once.assign(keys, vectors)
    for ours, theirs in zip(both.get_weights(), once.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"rows": 300}, "power of two from 256 to 65,536, got 300"),
        ({"rows": 128}, "power of two from 256 to 65,536, got 128"),
        ({"rows": 2**17}, "rows is a whole number from 1 to 65,536"),
        ({"codes": 4}, "4 codes do not divide the 6 columns"),
        ({"dim": 0}, "dim is a whole number"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(change, text):
    with pytest.raises(ValueError, match=text):
        layer(**change)


@pytest.mark.parametrize(
    ("vectors", "text"),
    [
        (np.ones((3, 5)), r"3 words of 6 columns, got \(3, 5\)"),
        (np.ones((0, 6)), "begins with one word at least, got none"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(vectors, text):
    with pytest.raises(ValueError, match=text):
        layer().assign(keys_of(min(3, len(vectors))), vectors)


def test_a_single_word_is_like_all_others():
    table = layer()
    assert table.assign(keys_of(1), np.ones((1, 6))) == 1
    np.testing.assert_array_equal(table(fingerprints(keys_of(2))), np.zeros((1, 2, 6)))
