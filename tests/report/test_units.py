from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.report import units


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        (units.size, 812, "812 B"),
        (units.size, 1_930_000, "1.9 MB"),
        (units.size, 999_960, "1.0 MB"),
        (units.size, 708_000_000, "708 MB"),
        (units.size, 5_300_000_000_000, "5,300 GB"),
        (units.count, 4321, "4,321"),
        (units.count, 22_713_216, "22.7 M"),
        (units.count, 177_853_440, "178 M"),
        (units.milliseconds, 0.26, "0.260"),
        (units.milliseconds, 57.71, "57.7"),
        (units.milliseconds, 1234.5, "1,234"),
        (units.ratio, 219.7, "220×"),
        (units.ratio, 5.24, "5.2×"),
        (units.ratio, 9.96, "10×"),
        (units.points, 73.94, "73.9"),
        (units.signed, 2.13, "+2.1"),
        (units.signed, -0.2, "−0.2"),
        (units.percent, 97.109, "97.1 %"),
        (units.share, 1.0, "100 %"),
        (units.share, 0.999999, "99.99 %"),
        (units.share, 0.956, "95.6 %"),
        (units.duration, 4.21, "4.2 s"),
        (units.duration, 59.97, "1 min 00 s"),
        (units.duration, 192, "3 min 12 s"),
        (units.duration, 3720, "1 h 02 min"),
        (units.duration, 7199, "2 h 00 min"),
        (units.plain, True, "yes"),
        (units.plain, 40_000, "40,000"),
        (units.plain, -0.2, "−0.2"),
        (units.plain, 0.31, "0.31"),
        (units.plain, ["a", 2], "a, 2"),
        (units.plain, "<b>", "<b>"),
    ],
)
def test_numbers_read_well(function, value, text):
    assert function(value) == text


@pytest.mark.parametrize(
    "function",
    [
        units.size,
        units.count,
        units.milliseconds,
        units.ratio,
        units.points,
        units.signed,
        units.percent,
        units.share,
        units.duration,
    ],
)
@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_was_not_measured_is_a_dash(function, value):
    assert function(value) == units.NOTHING


@given(st.integers(0, 10**14))
def test_a_size_is_never_off_by_more_than_its_rounding(count):
    number, unit = units.size(count).replace(",", "").split()
    factor = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}[unit]
    assert abs(float(number) * factor - count) <= 0.0501 * count + 0.5


@given(st.floats(1e-5, 1e5))
def test_significant_digits_keep_the_value(value):
    assert float(units.significant(value).replace(",", "")) == pytest.approx(value, rel=0.0051)
