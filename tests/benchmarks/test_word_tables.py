"""Columns against codes."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.benchmarks.word_tables import lost


def test_what_columns_lose_is_the_variance_of_the_others():
    draw = np.random.default_rng(0)
    table = (draw.normal(size=(500, 8)) * 2.0 ** -np.arange(8) + 3).astype(np.float32)
    values = np.linalg.svd(table - table.mean(axis=0), compute_uv=False) ** 2
    columns, codes = lost(table, 2)
    assert columns == pytest.approx(100 * values[2:].sum() / values.sum(), abs=1e-3)
    assert 0 < codes < columns


def test_rows_that_have_a_code_each_lose_nothing():
    table = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    assert lost(table, 2)[1] == pytest.approx(0, abs=1e-3)
    assert lost(table, 8) == pytest.approx((0, 0), abs=1e-3)
