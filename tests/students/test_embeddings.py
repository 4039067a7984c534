from __future__ import annotations

import numpy as np
import pytest

from tfdistil.errors import DataError
from tfdistil.students import build_student
from tfdistil.students.embeddings import (
    pca_ppa_embedding,
    read_vectors,
    svd_embedding,
    vectors_for_vocabulary,
)


@pytest.fixture
def table() -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(300, 20)) * np.linspace(3, 0.1, 20)).astype(np.float32)


@pytest.mark.parametrize("dim", [1, 7, 20])
def test_error_is_the_tail_of_the_singular_values(table, dim):
    singular = np.linalg.svd(table.astype(np.float64), compute_uv=False)
    embedding = svd_embedding(table, dim).astype(np.float64)
    # The best linear map back to the table's space is least squares.
    back, *_ = np.linalg.lstsq(embedding, table.astype(np.float64), rcond=None)
    error = np.sum((embedding @ back - table) ** 2)
    assert error == pytest.approx(np.sum(singular[dim:] ** 2), rel=1e-4, abs=1e-5)
    np.testing.assert_allclose(
        np.linalg.svd(embedding, compute_uv=False), singular[:dim], rtol=1e-4
    )


def test_columns_share_one_range(table):
    # One int8 scale for the table: no column may waste it on another's behalf.
    spread = svd_embedding(table, 20).std(axis=0)
    assert table.std(axis=0).max() / table.std(axis=0).min() > 20
    assert spread.max() / spread.min() < 4


def test_all_dimensions_keep_all_inner_products(table):
    embedding = svd_embedding(table, 20)
    np.testing.assert_allclose(embedding @ embedding.T, table @ table.T, atol=1e-3)


@pytest.mark.parametrize(
    ("bad", "dim", "text"),
    [
        (np.ones(3), 1, "matrix"),
        (np.full((4, 4), np.nan), 2, "finite"),
        (np.ones((4, 4)), 5, r"outside 1 \.\. 4"),
        (np.ones((4, 4)), 0, r"outside 1 \.\. 4"),
    ],
)
def test_errors(bad, dim, text):
    with pytest.raises(ValueError, match=text):
        svd_embedding(bad, dim)


def test_set_embedding(table):
    student = build_student(
        "bilstm", vocabulary=300, embedding=7, hidden_dim=4, outputs={"tags": ("word", 3)}
    )
    embedding = svd_embedding(table, 7)
    student.set_embedding(embedding)
    np.testing.assert_array_equal(student.word_embeddings, embedding)
    with pytest.raises(ValueError, match=r"\(300, 7\), got \(300, 20\)"):
        student.set_embedding(table)


def post_processed(table: np.ndarray, directions: int) -> np.ndarray:
    """Algorithm 1 of Raunak et al. 2019 as it is written."""
    centred = table - table.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:directions]
    return centred - centred @ axes.T @ axes


def reduced(table: np.ndarray, dim: int) -> np.ndarray:
    centred = table - table.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][:dim].T


# D is 20: at a width of 19 the first post-processing leaves fewer axes than the PCA keeps.
@pytest.mark.parametrize(("dim", "directions"), [(9, 2), (12, 5), (7, 0), (20, 9), (19, 4)])
def test_pca_ppa_is_the_three_steps(table, dim, directions):
    shifted = table + np.linspace(-3, 3, 20, dtype=np.float32)
    expected = post_processed(shifted.astype(np.float64), directions)
    expected = post_processed(reduced(expected, dim), directions)
    found = pca_ppa_embedding(shifted, dim, directions)
    assert (found.shape, found.dtype) == ((300, dim), np.float32)
    # Axes have either sign and the result is turned: products are what both must share.
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-3)


@pytest.mark.parametrize("directions", [14, 17])
def test_pca_ppa_of_xtremedistil(directions):
    table = np.random.default_rng(1).normal(size=(400, 48)) + 2
    found = pca_ppa_embedding(table, 30, directions)
    assert np.linalg.matrix_rank(found, tol=1e-3) == min(30, 48 - directions) - directions
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-5)
    spread = found.std(axis=0)
    assert spread.min() > 0.1 * spread.max()  # no column stays empty


@pytest.mark.parametrize(
    ("dim", "directions", "text"),
    [(5, 5, "5 directions: at most 4"), (20, 10, "at most 9"), (5, -1, "-1"), (21, 1, "1 .. 20")],
)
def test_pca_ppa_errors(table, dim, directions, text):
    with pytest.raises(ValueError, match=text):
        pca_ppa_embedding(table, dim, directions)


FASTTEXT = "3 2\nthe 0.5 -1 \n</s> 1e-1 2 \nIn\u00a0a\u0085 3 4 \n"
GLOVE = "the 0.5 -1\r\n. . . 0.1 2\r\nthe 9 9\r\n5 1 2"


def test_reads_fasttext_and_glove(tmp_path):
    (tmp_path / "a.vec").write_bytes(FASTTEXT.encode())
    (tmp_path / "b.txt").write_bytes(GLOVE.encode())
    fasttext, glove = (read_vectors(tmp_path / name) for name in ("a.vec", "b.txt"))
    # No character but the line feed ends a line, and none but the space a field.
    assert {word: vector.tolist() for word, vector in fasttext.items()} == {
        "the": [0.5, -1.0],
        "</s>": [np.float32(0.1).item(), 2.0],
        "In\u00a0a\u0085": [3.0, 4.0],
    }
    assert {word: vector.tolist() for word, vector in glove.items()} == {
        "the": [0.5, -1.0],  # the first one counts
        ". . .": [np.float32(0.1).item(), 2.0],
        "5": [1.0, 2.0],
    }
    assert all(vector.dtype == np.float32 for vector in fasttext.values())


def test_keeps_the_wanted_words_alone(tmp_path):
    (tmp_path / "a.vec").write_text("the 1 2\nsun x 2\nin 3 4\n", "utf-8")
    assert list(read_vectors(tmp_path / "a.vec", {"in", "rain"})) == ["in"]
    assert list(read_vectors(tmp_path / "a.vec", {"in"}, first=1)) == ["the", "in"]
    with pytest.raises(DataError, match=r"a\.vec:2: 'x' is no number"):
        read_vectors(tmp_path / "a.vec", {"sun"})


@pytest.mark.parametrize(
    ("content", "line", "text"),
    [
        (b"a 1 2\nb 1\n", 2, "1 fields behind the word, expected 2 numbers"),
        (b"a 1 2\nb 1 2 3\n", 2, "3 fields behind the word, expected 2 numbers"),
        (b"2 3\na 1 2\n", 2, "2 fields behind the word, expected 3 numbers"),
        (b"a 1 2\n\nb 1 2\n", 2, "0 fields behind the word"),
        (b"a 1 2\nb 1 __import__('os')\n", 2, "__import__"),
        (b"a 1 nan\n", 1, "must be finite"),
        (b"a 1 1e300\n", 1, "must be finite"),
        (b"a 1 2\n 1 2\n", 2, "no word in front"),
        (b"a 1 2\nb\xff 1 2\n", 2, "broken UTF-8: byte 0xff"),
        (b"\xba\x16\x4f\x2f\x0c", 1, r"expected the text format of fastText"),
        (b"a\n", 1, "expected one or more numbers"),
        (b"3 2\na 1 2\nb 1 2\n", 3, "announces 3 words, there are 2"),
        (b"", None, "no word vectors"),
        (b"0 2\n", None, "no word vectors"),
    ],
)
def test_broken_vectors_are_named_with_file_and_line(tmp_path, content, line, text):
    path = tmp_path / "a.vec"
    path.write_bytes(content)
    with pytest.raises(DataError, match=text) as caught:
        read_vectors(path)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="cannot be opened: No such file"):
        read_vectors(tmp_path / "none.vec")
    with pytest.raises(DataError, match="cannot be opened"):
        read_vectors(tmp_path)


def test_pieces_take_the_vectors_of_what_they_spell():
    rng = np.random.default_rng(0)
    vectors = {word: rng.normal(3, 2, size=400) for word in ("sun", "Sun", "rain", "s", "a")}
    pieces = ["[CLS]", "sun", "Sun", "Rain", "##s", "\u2581a", "\u0120rain", "wind", "##wind"]
    found = vectors_for_vocabulary(pieces, vectors)
    for row, word in ((1, "sun"), (2, "Sun"), (3, "rain"), (4, "s"), (5, "a"), (6, "rain")):
        np.testing.assert_array_equal(found.table[row], vectors[word].astype(np.float32))
    assert list(np.flatnonzero(~found.known)) == [0, 7, 8]
    assert found.overlap == pytest.approx(6 / 9)
    rest = found.table[~found.known]
    assert rest.mean() == pytest.approx(3, abs=0.3)
    assert len(np.unique(rest, axis=0)) == 3
    again, other = (vectors_for_vocabulary(pieces, vectors, seed).table for seed in (0, 1))
    np.testing.assert_array_equal(found.table, again)
    assert not np.array_equal(found.table, other)


@pytest.mark.parametrize(
    ("pieces", "vectors", "text"),
    [
        ([], {"a": np.ones(2)}, "got 0 pieces"),
        (["a"], {}, r"the widths \[\]"),
        (["a"], {"a": np.ones(2), "b": np.ones(3)}, r"the widths \[2, 3\]"),
        (["a", "b"], {"c": np.ones(2)}, "none of 2 pieces is among the 1 words"),
    ],
)
def test_vectors_for_vocabulary_errors(pieces, vectors, text):
    with pytest.raises(ValueError, match=text):
        vectors_for_vocabulary(pieces, vectors)
