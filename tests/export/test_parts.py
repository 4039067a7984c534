"""Bytes of a file by what they are for."""

from __future__ import annotations

import pytest

from tests.students.test_student_contract import MAKERS, VOCABULARY, batch, make
from tfdistil.exporting.convert import Entry, convert
from tfdistil.exporting.inspect import inspect_model

CODED = MAKERS["piece_qrnn-codes"]
HASHES = 5 * (32 + 4)
"""Of hashes in int8: a kernel of 32 rows and 5 columns, and 5 biases of 4 bytes."""


def parts(name: str, quantize: str) -> dict[str, int]:
    model = make(name, "tags")
    entry = Entry(*model.export_function(16, 1))
    flatbuffer = convert(model, {"online": entry}, quantize, batch(name, [5, 16, 9, 12], 16))
    found = inspect_model(flatbuffer)
    assert sum(found.parts.values()) == len(flatbuffer)
    assert sum(found.constants.values()) == len(flatbuffer) - found.parts["operators"]
    return found.parts


@pytest.mark.parametrize(("quantize", "size"), [("int8", 1), ("float16", 2), ("none", 4)])
@pytest.mark.parametrize("name", ["bilstm", "piece_qrnn", "transformer"])
def test_a_table_of_pieces(name, quantize, size):
    found = parts(name, quantize)
    assert found["pieces"] == VOCABULARY * 6 * size
    assert "hashes" not in found
    assert found["body"] > 0


def test_codes_and_their_codebooks():
    assert CODED["embedding_codes"] == 3
    assert parts("piece_qrnn-codes", "int8")["pieces"] == VOCABULARY * 3 + 256 * 6


def test_hashes_beside_pieces():
    found = parts("piece_qrnn-hashes", "int8")
    assert found["pieces"] == VOCABULARY * 6
    assert HASHES - 20 <= found["hashes"] <= HASHES + 1024  # and the table of what two bits say


def test_hashes_alone():
    found = parts("pqrnn", "int8")
    assert "pieces" not in found
    assert 16 * 32 <= found["hashes"] <= 16 * (32 + 4) + 1024
