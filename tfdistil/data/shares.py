"""A number shared out among groups by size and weight, so that none gives more than it has."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil

_HALF = Fraction(1, 2)


def shares(sizes: Sequence[int], weights: Sequence[float], count: int) -> list[int]:
    """How many of ``count`` each group gives.

    Group i with n_i members of weight w_i has the share q_i = min(n_i, level * w_i * n_i), with the
    one level at which the shares sum to ``count``: a group that would give more than it has gives
    all, and the others share what is left. Of the running sums of the shares, rounded to the
    nearest, the differences are what each gives. So that is less than one off the share of each
    group, and of all neighbours together; all is exact, whatever the sizes and weights.

    Args:
        sizes: members of each group, 0 or more.
        weights: of a member of each group, above 0.
        count: how many are wanted, 0 or more.

    Returns:
        A number per group; of all together ``count``, or all members where they are fewer.
    """
    masses = [Fraction(weight) * size for size, weight in zip(sizes, weights, strict=True)]
    level = _level(sizes, weights, masses, count)
    parts = [min(Fraction(n), level * mass) for n, mass in zip(sizes, masses, strict=True)]
    ends = [ceil(end - _HALF) for end in accumulate(parts, initial=Fraction(0))]
    return [end - start for start, end in pairwise(ends)]


def _level(
    sizes: Sequence[int], weights: Sequence[float], masses: Sequence[Fraction], count: int
) -> Fraction:
    """The level of `shares`; groups are full from the greatest weight downwards."""
    left, mass, level = Fraction(count), sum(masses, Fraction(0)), Fraction(0)
    for group in sorted(range(len(sizes)), key=lambda i: -weights[i]):
        if not mass:
            break
        level = left / mass
        if level * Fraction(weights[group]) < 1:
            break
        left, mass = left - sizes[group], mass - masses[group]
    return level
