"""Bytes of a file by what they are for."""

from __future__ import annotations

import pytest

from tests.students.test_student_contract import MAKERS, VOCABULARY, batch, make
from tfdistil.errors import ModelFileError
from tfdistil.exporting.convert import Entry, convert
from tfdistil.exporting.inspect import inspect_model
from tfdistil.runtime.parts import part_bytes
from tfdistil.runtime.tflite import Model, Operator, Signature, Subgraph, Tensor

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


def test_words_and_hashes_beside_pieces():
    """Of one input: bytes of it find a word, and all of them are its hashes."""
    found = parts("piece_qrnn-words", "int8")
    assert found["pieces"] == VOCABULARY * 6
    assert HASHES - 20 <= found["hashes"] <= HASHES + 1024
    rows = 256 * (2 + 2)  # a check of two bytes and two codes
    books = 2 * 256 * 2 + 2
    assert found["words"] == rows + books
    assert parts("piece_qrnn-hashes", "int8").keys() == found.keys() - {"words"}


def test_hashes_alone():
    found = parts("pqrnn", "int8")
    assert "pieces" not in found
    assert 16 * 32 <= found["hashes"] <= 16 * (32 + 4) + 1024


def looked_up(shape: tuple[int, ...], buffers: list[bytes]) -> Model:
    """A graph that looks ids up in the last buffer."""
    tensors = [Tensor((1, 8), "int32", 0, None, False, False)]
    tensors += [Tensor(shape, "float32", n, None, False, False) for n in range(1, len(buffers))]
    tensors.append(Tensor((1, 8, 4), "float32", 0, None, False, False))
    last = len(tensors) - 1
    gather = Operator("GATHER", (last - 1, 0), (last,), 0, None)
    signature = Signature("online", 0, [("input_ids", 0)], [("y", last)])
    graph = Subgraph(tensors, (0,), (last,), [gather])
    return Model([graph], [memoryview(one) for one in buffers], [signature], {}, False)


def test_a_table_is_what_its_bytes_are():
    """Whatever its shape says."""
    model = looked_up((2**31 - 1,) * 20_000, [b"", bytes(160)])
    assert part_bytes(model, 200) == {"pieces": 160, "body": 0, "operators": 40}


def test_constants_that_overlap_are_refused():
    with pytest.raises(ModelFileError, match="has 320 bytes of constants in 200 bytes"):
        part_bytes(looked_up((10, 4), [b"", bytes(160), bytes(160)]), 200)
