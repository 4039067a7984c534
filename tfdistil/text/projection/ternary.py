"""Two bits to -1, 0 or +1: the published maps, and tables over whole bytes."""

from __future__ import annotations

from functools import cache

import numpy as np

from tfdistil.errors import RecipeError

MAPS: dict[str, tuple[int, int, int, int]] = {
    "operator": (0, 1, -1, 0),
    "paper": (-1, 0, 0, 1),
    "unbalanced": (0, 1, -1, 1),
}
"""Values of the bit pairs 00, 01, 10, 11.

``operator`` is the published code's, ``paper`` the one of Kaliamoorthi et al. 2021, section 3.4.1;
both have P(+1) = P(-1) = 1/4. ``unbalanced`` is that of the paper's ablation: P(+1) = 1/2.
"""


def map_values(name: str) -> tuple[int, int, int, int]:
    """The values of the bit pairs 00, 01, 10, 11.

    Raises:
        RecipeError: another name.
    """
    if name not in MAPS:
        raise RecipeError(f"unknown ternary map {name!r}; expected one of {', '.join(MAPS)}")
    return MAPS[name]


def pair_of(name: str, value: int) -> int:
    """The lowest bit pair that stands for -1, 0 or +1."""
    return map_values(name).index(value)


def padding_byte(name: str) -> int:
    """The byte of four zero features."""
    return 0b01010101 * pair_of(name, 0)


@cache
def ternary_table(name: str) -> np.ndarray:
    """Features of every fingerprint byte, int8 ``[256, 4]``; the lowest two bits come first.

    A graph that looks up the bytes of a fingerprint in it has the token's features. Read-only.

    Raises:
        RecipeError: an unknown map.
    """
    pairs = (np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3
    table = np.array(map_values(name), np.int8)[pairs]
    table.flags.writeable = False
    return table


@cache
def sign_table(name: str) -> np.ndarray:
    """Bytes of signs (00 is 0, 01 is +1, 10 is -1) to bytes of a map, uint8 ``[256]``.

    Read-only.
    """
    pair = np.array([pair_of(name, sign) for sign in MAPS["operator"]])
    pairs = (np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3
    table = (pair[pairs] << np.array([0, 2, 4, 6])).sum(axis=1).astype(np.uint8)
    table.flags.writeable = False
    return table


def expand(fingerprints: np.ndarray, name: str) -> np.ndarray:
    """Fingerprints ``[..., N / 4]`` to features int8 ``[..., N]``."""
    table = ternary_table(name)
    return table[fingerprints].reshape(*fingerprints.shape[:-1], -1)
