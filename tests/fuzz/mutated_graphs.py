"""Damage to a flatbuffer: at random bytes, and at fields that its schema gives a meaning."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

INTEGERS = (0, 1, 2, 3, 5, 7, 16, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1)
"""What stands where another number was: small, and on both sides of what a type holds."""

FLOATS = (0.0, -1.0, 1e-45, 1e-30, 1e-9, 1e9, 1e30, float("inf"), float("-inf"), float("nan"))

# The tables of a model: number of a field to what it is. A letter is a number as `struct` has it,
# "[i" a vector of such, "text" a string, another word a table, "[word" a vector of tables.
SCHEMA = {
    "model": {0: "I", 1: "[code", 2: "[graph", 4: "[buffer", 6: "[metadata", 7: "[signature"},
    "code": {0: "b", 1: "text", 2: "i", 3: "i"},
    "graph": {0: "[tensor", 1: "[i", 2: "[i", 3: "[operator"},
    "tensor": {0: "[i", 1: "b", 2: "I", 4: "quantization", 5: "B", 7: "[i", 8: "B"},
    "quantization": {2: "[f", 3: "[q", 4: "B", 6: "i"},
    "operator": {0: "I", 1: "[i", 2: "[i", 3: "B", 4: "options"},
    "options": dict.fromkeys(range(7), "i"),
    "buffer": {0: "[I"},
    "metadata": {0: "text", 1: "I"},
    "signature": {0: "[map", 1: "[map", 2: "text", 4: "I"},
    "map": {0: "text", 1: "I"},
}


_OF_KERNELS = ("operator", "tensor", "quantization", "options", "buffer") * 3


class Field(NamedTuple):
    """A field that a table of a file has: which, where the table is, and where its value is."""

    table: str
    number: int
    kind: str
    start: int
    place: int


def flipped_bytes(model: bytes, dice: random.Random) -> bytes:
    """One to four bytes become others."""
    damaged = bytearray(model)
    for _ in range(dice.randint(1, 4)):
        damaged[dice.randrange(len(damaged))] ^= dice.randrange(1, 256)
    return bytes(damaged)


def changed_words(model: bytes, dice: random.Random) -> bytes:
    """One or two aligned words become one of `INTEGERS`, or move a little."""
    damaged = bytearray(model)
    for _ in range(dice.randint(1, 2)):
        at = 4 * dice.randrange(len(damaged) // 4)
        (old,) = struct.unpack_from("<I", damaged, at)
        near = [old + 1, old - 1, old + 4, old - 4, old << 8, dice.getrandbits(32)]
        struct.pack_into("<I", damaged, at, dice.choice([*INTEGERS, *near]) % 2**32)
    return bytes(damaged)


def header(model: bytes, dice: random.Random) -> bytes:
    """The root's offset, or the first table and what points to its layout."""
    damaged = bytearray(model)
    (root,) = struct.unpack_from("<I", damaged, 0)
    at = dice.choice([0, root, root + 4, root + 8]) + dice.randrange(4)
    damaged[min(at, len(damaged) - 1)] = dice.randrange(256)
    return bytes(damaged)


def cut(model: bytes, dice: random.Random) -> bytes:
    """Bytes are missing at the end or inside, or there are more."""
    at = dice.randrange(8, len(model))
    gap = dice.choice([1, 4, 16, 1000])
    return dice.choice(
        [model[:at], model[:at] + model[at + gap :], model[:at] + bytes(gap) + model[at:]]
    )


def changed_fields(model: bytes, dice: random.Random) -> bytes:
    """One to three fields of the schema have other values, or are gone."""
    found = fields(model)
    damaged = bytearray(model)
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        # The table first: a graph has a thousand tensors for each signature.
        table = dice.choice([*found, *(t for t in _OF_KERNELS if t in found)])
        _change(damaged, dice.choice(found[table]), dice)
    return bytes(damaged)


GRAPH_MUTATIONS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "bytes": flipped_bytes,
    "words": changed_words,
    "header": header,
    "cut": cut,
    "fields": changed_fields,
}


@lru_cache(maxsize=8)
def fields(model: bytes) -> dict[str, list[Field]]:
    """All fields that a sound file has, by their table's name in `SCHEMA`."""
    found: dict[str, list[Field]] = {}
    for field in _walk(model, "model", struct.unpack_from("<I", model, 0)[0]):
        found.setdefault(field.table, []).append(field)
    return found


def _walk(model: bytes, table: str, start: int) -> Iterator[Field]:
    def follow(at: int) -> int:
        return at + struct.unpack_from("<I", model, at)[0]

    layout = start - struct.unpack_from("<i", model, start)[0]
    (size,) = struct.unpack_from("<H", model, layout)
    for number, kind in SCHEMA[table].items():
        if 4 + 2 * number >= size:
            continue
        (offset,) = struct.unpack_from("<H", model, layout + 4 + 2 * number)
        if not offset:
            continue
        place = start + offset
        yield Field(table, number, kind, start, place)
        if kind in SCHEMA:
            yield from _walk(model, kind, follow(place))
        elif kind[1:] in SCHEMA:
            vector = follow(place)
            (count,) = struct.unpack_from("<I", model, vector)
            for n in range(count):
                yield from _walk(model, kind[1:], follow(vector + 4 + 4 * n))


def _change(model: bytearray, field: Field, dice: random.Random) -> None:
    if dice.random() < 0.1:
        _drop(model, field)
    elif field.kind in ("b", "B", "i", "I"):
        (old,) = struct.unpack_from(f"<{field.kind}", model, field.place)
        _write(model, field.place, field.kind, _integer(old, dice))
    else:
        _change_vector(model, field, dice)


def _drop(model: bytearray, field: Field) -> None:
    """The table gets a layout of its own, without the field."""
    layout = field.start - struct.unpack_from("<i", model, field.start)[0]
    (size,) = struct.unpack_from("<H", model, layout)
    copy = bytearray(model[layout : layout + size])
    struct.pack_into("<H", copy, 4 + 2 * field.number, 0)
    model.extend(bytes(-len(model) % 4))
    struct.pack_into("<i", model, field.start, field.start - len(model))
    model.extend(copy)


def _change_vector(model: bytearray, field: Field, dice: random.Random) -> None:
    """The field points to another vector: changed in an element, shorter, longer, turned round."""
    if field.kind in SCHEMA:
        return
    vector = field.place + struct.unpack_from("<I", model, field.place)[0]
    (count,) = struct.unpack_from("<I", model, vector)
    letter = {"t": "B"}.get(field.kind[0], field.kind[-1] if len(field.kind) == 2 else "I")
    if field.table == "buffer":
        count //= 4
    elif field.kind[1:] in SCHEMA:  # of tables: their offsets stay where they are
        _write(model, vector, "I", dice.choice([count - 1, count + 1, 0, 2**31]))
        return
    values = list(struct.unpack_from(f"<{count}{letter}", model, vector + 4))
    how = dice.choice(["change", "change", "change", "drop", "repeat", "turn", "empty"])
    if values and how != "empty":
        at = dice.randrange(len(values))
        if how == "change":
            values[at] = (
                dice.choice([*FLOATS, 2 * values[at], -values[at]])
                if letter == "f"
                else _integer(values[at], dice)
            )
        elif how == "drop":
            del values[at]
        elif how == "repeat":
            values.insert(at, values[at])
        else:
            values.reverse()
    else:
        values = []
    model.extend(bytes(-(len(model) + 4) % 16))
    struct.pack_into("<I", model, field.place, len(model) - field.place)
    size = struct.calcsize(letter)
    length = len(values) * (4 if field.table == "buffer" else 1)
    model.extend(struct.pack("<I", length) + bytes(size * len(values)))
    for n, value in enumerate(values):
        _write(model, len(model) - size * (len(values) - n), letter, value)
    model.extend(bytes(4))


def _integer(old: int, dice: random.Random) -> int:
    return dice.choice([old + 1, old - 1, -old, -1, -2, *INTEGERS])


def _write(model: bytearray, at: int, letter: str, value: float) -> None:
    if letter == "f":
        struct.pack_into("<f", model, at, value if abs(value) < 3e38 else float("inf"))
        return
    bits = 8 * struct.calcsize(letter)
    model[at : at + bits // 8] = (int(value) % 2**bits).to_bytes(bits // 8, "little")
