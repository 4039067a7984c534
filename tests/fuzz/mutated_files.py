"""Model files that are damaged or made up, with checksums that fit, and what must come of some."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.fuzz.mutated_graphs import GRAPH_MUTATIONS
from tfdistil.exporting.pack import pack

CONFIG = "tfdistil.json"
VALUES = (
    None, True, 0, -1, 1, 2, 6, 7, 2**31, 2**63, 10**400, 1.5, 1e308, "", "x", "O", "a\x1b[31mb",
    "\u202e\x00", "x" * 5000, [], ["O"], [[]], {}, {"a": 1}, [None] * 3000, "../../x", "NaN",
)  # fmt: skip
"""What stands in the place of another value of JSON."""


class Parts(NamedTuple):
    """A sound model file: the flatbuffer and the associated files."""

    model: bytes
    assets: Mapping[str, bytes]

    @classmethod
    def of(cls, content: bytes) -> Parts:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            end = min(entry.header_offset for entry in archive.infolist())
            return cls(content[:end], {name: archive.read(name) for name in archive.namelist()})

    def packed(self) -> bytes:
        """A file with checksums that fit."""
        return pack(self.model, self.assets)


class Mutant(NamedTuple):
    """A file, and what must come of it: ``refused``, ``same`` answers, or either (``any``)."""

    content: bytes
    expected: str


def mutant(parts: Parts, dice: random.Random) -> tuple[str, Mutant]:
    """One file out of a sound one, with the name of what was done to it."""
    kind = dice.choices([*MUTATIONS], [weight for weight, _ in MUTATIONS.values()])[0]
    return kind, MUTATIONS[kind][1](parts, dice)


def _graph(kind: str) -> Callable[[Parts, random.Random], Mutant]:
    def mutate(parts: Parts, dice: random.Random) -> Mutant:
        model = GRAPH_MUTATIONS[kind](parts.model, dice)
        if model[4:8] != b"TFL3":  # refused at once: the rest of the damage is of interest
            model = model[:4] + b"TFL3" + model[8:]
        return Mutant(parts._replace(model=model).packed(), "any")

    return mutate


def _config(parts: Parts, dice: random.Random) -> Mutant:
    """Other values in ``tfdistil.json``."""
    config = json.loads(parts.assets[CONFIG])
    for _ in range(dice.choice([1, 1, 2])):
        _change_json(config, dice)
    if not isinstance(config, dict):
        config = {"format": config}
    return Mutant(_stored(parts, json.dumps(config).encode()), "any")


def _config_bytes(parts: Parts, dice: random.Random) -> Mutant:
    """Bytes of ``tfdistil.json``: no checksum is over them."""
    content = bytearray(_with_checksums(parts))
    for _ in range(dice.randint(1, 3)):
        content[dice.randrange(len(content))] = dice.choice(
            [*b'"{}[],:0\\ \x00\xff', dice.randrange(256)]
        )
    return Mutant(_stored(parts, bytes(content), repair=False), "any")


def _asset(parts: Parts, dice: random.Random) -> Mutant:
    """Values or bytes of the featurizer's file."""
    name = dice.choice(
        [name for name in ("tokenizer.json", "projection.json") if name in parts.assets]
    )
    content = parts.assets[name]
    if dice.random() < 0.7:
        data = json.loads(content)
        for _ in range(dice.choice([1, 1, 2])):
            _change_json(data, dice)
        content = json.dumps(data).encode()
    else:
        damaged = bytearray(content)
        for _ in range(dice.randint(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        content = bytes(damaged[: dice.choice([len(damaged), dice.randrange(len(damaged))])])
    return Mutant(parts._replace(assets={**parts.assets, name: content}).packed(), "any")


def _swapped(parts: Parts, dice: random.Random) -> Mutant:
    """Two members have each other's content, or one is gone."""
    names = [name for name in parts.assets if name != CONFIG]
    one, two = dice.sample(names, 2)
    assets = dict(parts.assets)
    if dice.random() < 0.5:
        assets[one], assets[two] = assets[two], assets[one]
    else:
        del assets[one]
    repaired = dice.random() < 0.5
    if repaired:
        return Mutant(parts._replace(assets=assets).packed(), "any")
    return Mutant(_zipped(parts.model, {**assets, CONFIG: _with_checksums(parts)}), "refused")


def _unrepaired(parts: Parts, dice: random.Random) -> Mutant:
    """A bit of the graph or of an asset is another, and the checksum is as it was."""
    names = ["model", *(name for name in parts.assets if name != CONFIG)]
    name = dice.choice(names)
    content = bytearray(parts.model if name == "model" else parts.assets[name])
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    model = bytes(content) if name == "model" else parts.model
    assets = {**parts.assets, CONFIG: _with_checksums(parts)}
    if name != "model":
        assets[name] = bytes(content)
    return Mutant(_zipped(model, assets), "refused")


def _truncated(parts: Parts, dice: random.Random) -> Mutant:
    content = parts.packed()
    return Mutant(content[: dice.randrange(len(content))], "refused")


def _hostile_zip(parts: Parts, dice: random.Random) -> Mutant:
    """Members that no export has: outside, compressed, twice, encrypted, too many, too large."""
    content = io.BytesIO(parts.packed())
    kind = dice.choice(["outside", "bomb", "twice", "encrypted", "many", "large", "link"])
    with zipfile.ZipFile(content, "a") as archive:
        if kind == "outside":
            archive.writestr(dice.choice(["../x", "/tmp/x", "a/../../x", "C:\\x", "x\x1b"]), b"")
        elif kind == "bomb":
            archive.writestr("zeros", bytes(10**7), zipfile.ZIP_DEFLATED)
        elif kind == "many":
            for number in range(1001):
                archive.writestr(f"n{number}", b"")
        elif kind == "link":
            entry = zipfile.ZipInfo("tokenizer.jsonl")
            entry.external_attr = 0o120777 << 16
            archive.writestr(entry, b"/etc/passwd")
    found = bytearray(content.getvalue())
    entry = found.index(b"PK\x01\x02")
    if kind == "twice":
        found = bytearray(
            _zipped(parts.model, {**parts.assets, CONFIG: _with_checksums(parts)}, twice=True)
        )
    elif kind == "encrypted":
        found[entry + 8] |= 1
    elif kind == "large":
        struct.pack_into("<II", found, entry + 20, 2**31, 2**31)
    return Mutant(bytes(found), "refused")


def _harmless(parts: Parts, dice: random.Random) -> Mutant:
    """What means nothing: dates and order in the zip, its comment, white space, fields to come."""
    kind = dice.choice(["date", "comment", "order", "space", "field"])
    content = parts.packed()
    if kind == "date":
        found = bytearray(content)
        struct.pack_into(
            "<HH", found, found.index(b"PK\x01\x02") + 12, *dice.sample(range(2**16), 2)
        )
        return Mutant(bytes(found), "same")
    if kind == "comment":
        comment = dice.randbytes(dice.randrange(200)).replace(b"PK", b"..")
        return Mutant(content[:-2] + struct.pack("<H", len(comment)) + comment, "same")
    config = json.loads(_with_checksums(parts))
    if kind == "field":
        config["later"] = dice.choice(VALUES)
    if kind == "order":
        config = dict(dice.sample([*config.items()], len(config)))
    text = json.dumps(config, indent=dice.choice([None, 0, 7]), ensure_ascii=kind == "space")
    names = dice.sample([*parts.assets], len(parts.assets))
    assets = {name: parts.assets[name] for name in names} | {CONFIG: text.encode()}
    return Mutant(_zipped(parts.model, assets), "same")


MUTATIONS: dict[str, tuple[float, Callable[[Parts, random.Random], Mutant]]] = {
    **{
        f"graph-{kind}": (weight, _graph(kind))
        for kind, weight in zip(GRAPH_MUTATIONS, (3, 3, 1, 1, 12), strict=True)
    },
    "config": (4, _config),
    "config-bytes": (1, _config_bytes),
    "asset": (4, _asset),
    "swapped": (1, _swapped),
    "unrepaired": (2, _unrepaired),
    "truncated": (1, _truncated),
    "zip": (1, _hostile_zip),
    "harmless": (2, _harmless),
}
"""Name to how often, and how."""


def _with_checksums(parts: Parts) -> bytes:
    """``tfdistil.json`` as it is in the packed file."""
    return Parts.of(parts.packed()).assets[CONFIG]


def _stored(parts: Parts, config: bytes, repair: bool = True) -> bytes:
    """A file with a ``tfdistil.json`` that `pack` may refuse to write."""
    if repair:
        try:
            return parts._replace(assets={**parts.assets, CONFIG: config}).packed()
        except Exception:
            checksums = json.loads(_with_checksums(parts))["checksums"]
            config = config[:-1] + b', "checksums": ' + json.dumps(checksums).encode() + b"}"
    return _zipped(parts.model, {**parts.assets, CONFIG: config})


def _zipped(model: bytes, assets: Mapping[str, bytes], twice: bool = False) -> bytes:
    file = io.BytesIO(model)
    with zipfile.ZipFile(file, "a") as archive:
        for name, content in assets.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
        if twice:
            # A name of the same length is written over, and the archive warns of nothing.
            archive.writestr("labels.tx2", b"x")
    return file.getvalue().replace(b"labels.tx2", b"labels.txt") if twice else file.getvalue()


def _change_json(data: Any, dice: random.Random) -> None:
    """A value somewhere in it becomes another, goes, or is there under another name."""
    while True:
        keys = [*data] if isinstance(data, dict) else [*range(len(data))]
        if not keys:
            return
        key = dice.choice(keys)
        inner = data[key]
        if isinstance(inner, dict | list) and inner and dice.random() < 0.8:
            data = inner
            continue
        how = dice.choice(["change", "change", "change", "drop", "rename"])
        if how == "drop":
            del data[key]
        elif how == "rename" and isinstance(data, dict):
            data[dice.choice(["x", "kind", "", key + "\x00"])] = data.pop(key)
        elif type(inner) is int:
            data[key] = dice.choice([inner + 1, inner - 1, -inner, *VALUES])
        else:
            data[key] = dice.choice(VALUES)
        return
