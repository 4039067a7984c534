"""How often languages are drawn: against the equations solved by search, and by counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfdistil.errors import DataError
from tfdistil.shards.sampling import draw_pass, language_shares, sampling_exponent

SIZES = {"en": 15_000_000_000, "de": 5_000_000_000, "is": 40_000_000, "yo": 9_000_000}


def equation_1(sizes: dict[str, int], exponent: float) -> dict[str, float]:
    """P'(l) = P(l)^S / Σ P(k)^S of CAMeMBERT, as it is printed."""
    p = {name: size / sum(sizes.values()) for name, size in sizes.items()}
    return {name: p[name] ** exponent / sum(q**exponent for q in p.values()) for name in p}


def by_bisection(sizes: dict[str, int], more: str, less: str, ratio: float) -> float:
    """The exponent at which Equation 1 has the ratio."""
    low, high = 0.0, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        shares = equation_1(sizes, middle)
        low, high = (middle, high) if shares[more] < ratio * shares[less] else (low, middle)
    return low


@pytest.mark.parametrize(("more", "less", "ratio"), [("en", "is", 100), ("de", "yo", 1.5)])
def test_the_exponent_solves_the_equation(more, less, ratio):
    exponent = sampling_exponent(SIZES, more, less, ratio)
    assert exponent == pytest.approx(by_bisection(SIZES, more, less, ratio), rel=1e-9)
    shares = language_shares(SIZES, exponent)
    assert shares[more] == pytest.approx(ratio * shares[less])
    assert shares == pytest.approx(equation_1(SIZES, exponent))


def test_a_thousand_times_as_large_and_drawn_a_hundred_times_as_often():
    """The example of BERT's multilingual model, whose exponent was rounded to 0.7."""
    exponent = sampling_exponent({"en": 1000, "is": 1}, "en", "is", 100)
    assert exponent == pytest.approx(2 / 3)


def test_exponents_at_which_plain_powers_overflow():
    sizes = {"a": 10**9, "b": 10**9 + 1, "c": 7}
    shares = language_shares(sizes, sampling_exponent(sizes, "b", "a", 100))
    assert shares["b"] == pytest.approx(100 * shares["a"], rel=1e-5)
    assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.parametrize(("exponent", "expected"), [(1, [0.75, 0.25]), (0, [0.5, 0.5])])
def test_as_they_are_and_all_alike(exponent, expected):
    shares = language_shares({"a": 3, "b": 1, "empty": 0}, exponent)
    assert shares == pytest.approx(dict(zip("ab", expected, strict=True)))


@pytest.mark.parametrize(
    ("sizes", "ratio", "text"),
    [
        ({"a": 2, "b": 1}, 0, "expected more than 0"),
        ({"a": 2, "b": 1}, -1.0, "expected more than 0"),
        ({"a": 2, "b": 1}, float("inf"), "expected more than 0"),
        ({"a": 2}, 10, "no text in 'b' to balance; languages: a"),
        ({"a": 0, "b": 1}, 10, "no text in 'a'"),
        ({"a": 5, "b": 5}, 10, "5 bytes each"),
    ],
)
def test_what_no_exponent_solves(sizes, ratio, text):
    with pytest.raises(DataError) as caught:
        sampling_exponent(sizes, "a", "b", ratio)
    assert text in str(caught.value)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=5).filter(any),
    st.lists(st.floats(1e-4, 1), min_size=5, max_size=5),
    st.integers(0, 99),
)
def test_a_pass_has_so_many_rows_of_each_language(counts, weights, seed):
    language = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    shares = np.array(weights[: len(counts)])
    drawn = draw_pass(language, shares, np.random.default_rng(seed))
    assert len(drawn) == len(language)
    there = np.where(np.array(counts) > 0, shares, 0)
    expected = there / there.sum() * len(language)
    for one, count in enumerate(counts):
        times = np.bincount(drawn, minlength=len(language))[language == one]
        assert abs(times.sum() - expected[one]) < 1 + 1e-6
        if count:  # as evenly as can be: a row comes again when all others have come
            assert times.max() - times.min() <= 1


def test_over_many_passes_small_languages_have_their_share_and_all_rows_come():
    language = np.repeat([0, 1, 2], [900, 95, 5])
    shares = np.array([0.9496, 0.05, 0.0004])  # of 1,000 rows: 0.4 of the last language
    generator, passes = np.random.default_rng(1), 2000
    times = np.zeros(1000, np.int64)
    for _ in range(passes):
        np.add.at(times, draw_pass(language, shares, generator), 1)
    # A sum of Bernoulli draws of 0.4: its error is √(2000 · 0.24) = 22; four of them.
    assert times[language == 2].sum() == pytest.approx(0.4 * passes, abs=88)
    assert times.min() > 0
    assert times[language == 1].sum() == pytest.approx(50 * passes, abs=passes)


def test_the_order_is_the_generators():
    language, shares = np.repeat([0, 1], [50, 10]), np.array([0.5, 0.5])
    first, again, other = (draw_pass(language, shares, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert (np.diff(language[first]) != 0).sum() > 10  # languages are mixed


def test_nothing_to_draw():
    with pytest.raises(DataError, match="no language with a share has rows"):
        draw_pass(np.zeros(3, np.int64), np.array([0.0, 1.0]), np.random.default_rng(0))
