"""Changes to checkpoint folders, and what must become of a changed one."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Expectation = Literal["refused", "doubted", "exact", "same"]
"""What must become of a case:

- refused: an error; the damage can be told.
- doubted: read as the files say with a warning, or an error; something seems to be missing.
- exact: read as the files say, to the last bit, or an error; the damage cannot always be told.
- same: read as without the change.
"""

Change = Callable[[Path, random.Random], object]
Edit = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True)
class Case:
    """A change to one of the sound checkpoints."""

    name: str
    base: str
    expected: Expectation
    change: Change

    def make(self, bases: Path, folder: Path) -> Path:
        """Write the changed checkpoint."""
        target = folder / self.name
        shutil.copytree(bases / self.base, target)
        self.change(target, random.Random(self.name))
        return target


def edited(file: str, edit: Edit) -> Change:
    def change(folder: Path, rng: random.Random) -> None:
        path = folder / file
        path.write_bytes(edit(path.read_bytes() if path.exists() else b"", rng))

    return change


def with_keys(file: str, **keys: Any) -> Change:
    """Set keys of a JSON file."""

    def change(folder: Path, rng: random.Random) -> None:
        path = folder / file
        content = json.loads(path.read_text("utf-8")) if path.exists() else {}
        path.write_text(json.dumps(content | keys), "utf-8")

    return change


def without(file: str, key: str) -> Change:
    def change(folder: Path, rng: random.Random) -> None:
        content = json.loads((folder / file).read_text("utf-8"))
        del content[key]
        (folder / file).write_text(json.dumps(content), "utf-8")

    return change


def flipped(data: bytes, rng: random.Random) -> bytes:
    """One to three bytes changed."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        changed[rng.randrange(len(changed))] ^= rng.randint(1, 255)
    return bytes(changed)


def cut(data: bytes, rng: random.Random) -> bytes:
    """Cut off anywhere, the last byte (a line end, where there is one) and all before it gone."""
    return data[: rng.randrange(len(data.rstrip()))]


def replaced(file: str, make: Callable[[Path], Any]) -> Change:
    def change(folder: Path, rng: random.Random) -> None:
        (folder / file).unlink()
        make(folder / file)

    return change


TEXTS: dict[str, bytes] = {
    "empty": b"",
    "nul": b"\0" * 100,
    "list": b"[]",
    "text": b'"model_type"',
    "deep": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "deep-list": b"[" * 200_000,
    "utf-16": '{"model_type": "bert"}'.encode("utf-16"),
    "latin-1": b'{"model_type": "b\xe9rt"}',
    "surrogate": b'{"model_type": "\\ud800"}',
    "escape": b'{"model_type": "\\u001b[2J"}',
    "long-number": b'{"model_type": "bert", "vocab_size": ' + b"9" * 10_000 + b"}",
    "long-text": b'{"model_type": "' + b"x" * 2_000_000 + b'"}',
}
