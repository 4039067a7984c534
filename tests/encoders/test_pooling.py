"""Means of pieces, and texts compared, in training and as the exported graph has them."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.encoders.pooling import compared, mean_of_pieces, states_of_text


def test_the_mean_of_pieces() -> None:
    hidden = np.random.default_rng(0).normal(size=(3, 5, 4)).astype("float32")
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0]], "int32")
    expected = np.stack(
        [row[: sum(real)].mean(axis=0) for row, real in zip(hidden, mask, strict=True)]
    )
    for exporting in (False, True):
        found = mean_of_pieces(hidden, mask, exporting)
        np.testing.assert_allclose(found, expected[:, None], atol=1e-6)


def test_two_texts_compared() -> None:
    hidden = np.random.default_rng(0).normal(size=(2, 6, 4)).astype("float32")
    mask = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]], "int32")
    second = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 0]], "int32")
    u = np.stack([hidden[0, :3].mean(0), hidden[1, :2].mean(0)])
    v = np.stack([hidden[0, 3:].mean(0), hidden[1, 2:5].mean(0)])
    expected = np.concatenate([u, v, abs(u - v), u * v], axis=-1)[:, None]
    for exporting in (False, True):
        found = compared(hidden, mask, second, exporting)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    alone = np.array(compared(hidden, mask, 0 * second))
    np.testing.assert_array_equal(alone[..., 4:8], np.zeros((2, 1, 4)))  # no second text


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
def test_masks_of_any_dtype(dtype: str) -> None:
    hidden = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")
    mask = np.array([[1, 1, 1, 1], [1, 1, 1, 0]])
    second = np.array([[0, 0, 1, 1], [0, 1, 1, 0]])
    for pooling, size in {"mean": 3, "compare": 12}.items():
        found = states_of_text(pooling, hidden, mask.astype(dtype), second.astype(dtype))
        assert found.shape == (2, 1, size)
        np.testing.assert_array_equal(
            found, states_of_text(pooling, hidden, mask.astype("int32"), second.astype("int32"))
        )


def test_no_mask_is_all_real_and_no_segments_is_one_text() -> None:
    hidden = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")
    mean = np.array(states_of_text("mean", hidden, None, None))
    np.testing.assert_allclose(mean, hidden.mean(axis=1, keepdims=True), atol=1e-6)
    alone = np.array(states_of_text("compare", hidden, None, None))
    np.testing.assert_allclose(alone[..., :3], mean, atol=1e-6)
    assert not alone[..., 3:6].any()
