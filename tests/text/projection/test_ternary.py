"""Maps and tables over bytes against the two-bit definitions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.text.projection import reference
from tfdistil.errors import RecipeError
from tfdistil.text.projection.ternary import MAPS, expand, padding_byte, sign_table, ternary_table

every_map = pytest.mark.parametrize("name", MAPS)


@every_map
def test_table_is_the_map_of_four_bit_pairs(name):
    table = ternary_table(name)
    assert (table.dtype, table.shape) == (np.int8, (256, 4))
    for byte in range(256):
        assert table[byte].tolist() == reference.features(bytes([byte]), name)
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 1


@pytest.mark.parametrize(
    ("name", "shares"),
    [("operator", (1, 2, 1)), ("paper", (1, 2, 1)), ("unbalanced", (1, 1, 2))],
)
def test_balance(name, shares):
    table = ternary_table(name)
    assert tuple(np.sum(table == value) // 256 for value in (-1, 0, 1)) == shares


@pytest.mark.parametrize(("name", "byte"), [("operator", 0), ("paper", 0x55), ("unbalanced", 0)])
def test_padding_is_four_zeros(name, byte):
    assert padding_byte(name) == byte
    assert not ternary_table(name)[byte].any()


@every_map
def test_signs_keep_their_values(name):
    """Bytes without the pair 11, which is no sign."""
    signs = ternary_table("operator")
    for byte in range(256):
        if all(byte >> at & 3 != 3 for at in (0, 2, 4, 6)):
            assert ternary_table(name)[sign_table(name)[byte]].tolist() == signs[byte].tolist()


def test_expand_keeps_the_axes_before():
    fingerprints = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    found = expand(fingerprints, "paper")
    assert (found.shape, found.dtype) == ((2, 3, 16), np.int8)
    assert found[1, 2].tolist() == reference.features(fingerprints[1, 2].tobytes(), "paper")


@pytest.mark.parametrize("function", [ternary_table, sign_table, padding_byte])
def test_unknown_map(function):
    with pytest.raises(RecipeError, match="unknown ternary map 'binary'; expected one of operator"):
        function("binary")
