"""Lengths that batches are padded to."""

from __future__ import annotations

import keras
import pytest

from tfdistil.padding import padded_lengths


@pytest.mark.parametrize(
    ("pieces", "tokens", "multiple", "longest", "expected"),
    [
        (1, 1, 8, 96, (8, 8)),
        (17, 8, 8, 96, (24, 8)),
        (90, 41, 8, 92, (92, 48)),  # not more than the model reads
        (9, 3, 64, 64, (64, 64)),
    ],
)
def test_a_multiple(pieces, tokens, multiple, longest, expected):
    assert padded_lengths(pieces, tokens, multiple, longest) == expected


@pytest.mark.parametrize(
    ("pieces", "tokens", "multiple", "longest", "expected"),
    [
        (1, 1, 8, 96, 32),
        (33, 8, 8, 96, 64),
        (65, 41, 8, 96, 96),  # not more than the model reads
        (9, 3, 10, 10, 10),
        (9, 3, 64, 64, 64),  # as the export asks for
        (100, 9, 64, 512, 128),
    ],
)
def test_few_of_them_on_jax(monkeypatch, pieces, tokens, multiple, longest, expected):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    assert padded_lengths(pieces, tokens, multiple, longest) == (expected, expected)
