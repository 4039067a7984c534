from __future__ import annotations

import numpy as np
import pytest

from tfdistil.students import build_student
from tfdistil.students.embeddings import svd_embedding


@pytest.fixture
def table() -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(300, 20)) * np.linspace(3, 0.1, 20)).astype(np.float32)


@pytest.mark.parametrize("width", [1, 7, 20])
def test_error_is_the_tail_of_the_singular_values(table, width):
    singular = np.linalg.svd(table.astype(np.float64), compute_uv=False)
    embedding = svd_embedding(table, width).astype(np.float64)
    # The best linear map back to the table's space is least squares.
    back, *_ = np.linalg.lstsq(embedding, table.astype(np.float64), rcond=None)
    error = np.sum((embedding @ back - table) ** 2)
    assert error == pytest.approx(np.sum(singular[width:] ** 2), rel=1e-4, abs=1e-5)
    np.testing.assert_allclose(
        np.linalg.svd(embedding, compute_uv=False), singular[:width], rtol=1e-4
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
    ("bad", "width", "text"),
    [
        (np.ones(3), 1, "matrix"),
        (np.full((4, 4), np.nan), 2, "finite"),
        (np.ones((4, 4)), 5, r"outside 1 \.\. 4"),
        (np.ones((4, 4)), 0, r"outside 1 \.\. 4"),
    ],
)
def test_errors(bad, width, text):
    with pytest.raises(ValueError, match=text):
        svd_embedding(bad, width)


def test_set_embedding(table):
    student = build_student(
        "bilstm", vocabulary=300, embedding=7, width=4, outputs={"tags": ("word", 3)}
    )
    embedding = svd_embedding(table, 7)
    student.set_embedding(embedding)
    np.testing.assert_array_equal(student.word_embeddings, embedding)
    with pytest.raises(ValueError, match=r"\(300, 7\), got \(300, 20\)"):
        student.set_embedding(table)
