"""Shares against the level found by bisection, and the laws of rounding."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.data.shares import shares

GROUPS = st.lists(st.tuples(st.integers(0, 300), st.floats(1e-3, 1e3)), min_size=1, max_size=8)


def exact(sizes, weights, count):
    """The shares before rounding: the level is found by halving an interval of its logarithm."""
    sizes, weights = np.asarray(sizes, float), np.asarray(weights, float)
    low, high = -40.0, 40.0
    for _ in range(200):
        level = (low + high) / 2
        filled = np.minimum(sizes, np.exp(level) * weights * sizes)
        low, high = (low, level) if filled.sum() > count else (level, high)
    return filled


@given(groups=GROUPS, share=st.floats(0, 1.2))
def test_shares_are_those_of_one_level(groups, share):
    sizes, weights = zip(*groups, strict=True)
    count = round(share * sum(sizes))
    given_ = shares(sizes, weights, count)
    assert sum(given_) == min(count, sum(sizes))
    assert all(0 <= number <= size for number, size in zip(given_, sizes, strict=True))
    if 0 < count < sum(sizes):
        wanted = exact(sizes, weights, count)
        assert np.abs(given_ - wanted).max() < 1 + 1e-6
        ends = np.abs(np.cumsum(given_) - np.cumsum(wanted))
        assert ends.max() <= 0.5 + 1e-6  # so neighbours together are less than one off


@given(groups=GROUPS)
def test_a_greater_number_takes_at_most_one_of_a_group_away(groups):
    sizes, weights = zip(*groups, strict=True)
    steps = [shares(sizes, weights, count) for count in range(0, sum(sizes) + 1, 7)]
    for fewer, more in pairwise(steps):
        assert all(n >= before - 1 for before, n in zip(fewer, more, strict=True))


@pytest.mark.parametrize(
    ("sizes", "weights", "count", "numbers"),
    [
        ([700, 300], [1, 1], 50, [35, 15]),
        ([700, 300], [1, 7], 40, [10, 30]),
        ([700, 10], [1, 1000], 50, [40, 10]),  # all there are, and the rest of the other
        ([700, 10, 100], [1, 1000, 7], 90, [40, 10, 40]),
        ([1, 1, 1, 1], [1, 1, 1, 1], 2, [0, 1, 0, 1]),  # every other one, not the first two
        ([3, 4], [1, 2], 9, [3, 4]),
        ([0, 4], [5, 1], 3, [0, 3]),
        ([8, 8, 8], [5e-324, 1e308, 1], 12, [0, 8, 4]),
        ([], [], 3, []),
    ],
)
def test_by_hand(sizes, weights, count, numbers):
    assert shares(sizes, weights, count) == numbers
