"""Mutated data files: every registered reader's good files, damaged in ways that are known.

A case is a folder with the files and ``case.json``: the format, its options, what to read, and what
must come of it:

    refused   an error, whatever else is in the file
    same      the examples of the good file
    None      an error, or examples that hold together
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.data.test_readers_contract import CASES, Case
from tfdistil.data.example import Example
from tfdistil.data.readers import READERS, read
from tfdistil.data.source import Source, load
from tfdistil.printable import CONTROL

Mutation = Callable[[bytes, random.Random], "tuple[bytes, str | None]"]
"""The content of a file to another one and what must come of it."""

JSON = ("rasa", "jsonl_spans", "clinc")


def _at(raw: bytes, rng: random.Random) -> int:
    """A place behind a byte-order mark and within a line's text."""
    return rng.randrange(3, max(4, len(raw) - 1))


def flip(raw: bytes, rng: random.Random) -> tuple[bytes, None]:
    changed = bytearray(raw)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed), None


def cut(raw: bytes, rng: random.Random) -> tuple[bytes, None]:
    return raw[: rng.randrange(len(raw))], None


def drop(raw: bytes, rng: random.Random) -> tuple[bytes, None]:
    start = rng.randrange(len(raw))
    return raw[:start] + raw[start + rng.randint(1, 40) :], None


def splice(raw: bytes, rng: random.Random) -> tuple[bytes, None]:
    """A part of the file once more somewhere else."""
    start, to = rng.randrange(len(raw)), rng.randrange(len(raw))
    return raw[:to] + raw[start : start + rng.randint(1, 60)] + raw[to:], None


def structure(raw: bytes, rng: random.Random) -> tuple[bytes, None]:
    """Characters that formats are made of, where they do not belong."""
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(raw))
        raw = raw[:at] + rng.choice([*b'\t\n\r",;[]{}: #\\-']).to_bytes(1, "big") + raw[at:]
    return raw, None


def number(raw: bytes, rng: random.Random) -> tuple[bytes, None]:
    """Another number, where there is one."""
    places = [i for i, byte in enumerate(raw) if 48 <= byte <= 57] or [0]
    at = rng.choice(places)
    big = rng.choice([b"-1", b"1e999", b"9" * 30, b"9" * 5000, b"0.5", b"NaN", b"true", b"null"])
    return raw[:at] + big + raw[at + 1 :], None


def deep(raw: bytes, rng: random.Random) -> tuple[bytes, None]:
    at = rng.randrange(len(raw))
    depth = rng.choice([60, 900, 990, 5000, 200_000])
    opening, closing = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    return raw[:at] + opening * depth + b"1" + closing * depth + raw[at:], None


def huge(raw: bytes, rng: random.Random) -> tuple[bytes, None]:
    at = rng.randrange(len(raw))
    return raw[:at] + rng.choice([b"x", b"\t", b" ", b"[", b'"', b","]) * 2_500_000 + raw[at:], None


def not_utf8(raw: bytes, rng: random.Random) -> tuple[bytes, str]:
    at = _at(raw, rng)
    while raw[at] & 0xC0 == 0x80:  # not within a character
        at -= 1
    return raw[:at] + rng.choice([b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5"]) + raw[
        at:
    ], "refused"


def nul(raw: bytes, rng: random.Random) -> tuple[bytes, str]:
    at = _at(raw, rng)
    while raw[at] & 0xC0 == 0x80:
        at -= 1
    return raw[:at] + b"\0" + raw[at:], "refused"


def wide(raw: bytes, rng: random.Random) -> tuple[bytes, str]:
    text = raw.decode("utf-8").removeprefix("\ufeff")
    return text.encode(rng.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-32"])), "refused"


def nothing(raw: bytes, rng: random.Random) -> tuple[bytes, str]:
    return rng.choice([b"", b"\n" * 50, b" \t\r\n", b"\xef\xbb\xbf"]), "refused"


def marked(raw: bytes, rng: random.Random) -> tuple[bytes, str]:
    return b"\xef\xbb\xbf" + raw.removeprefix(b"\xef\xbb\xbf"), "same"


def windows(raw: bytes, rng: random.Random) -> tuple[bytes, str]:
    return raw.replace(b"\r", b"").replace(b"\n", b"\r\n"), "same"


ANYWHERE: tuple[Mutation, ...] = (
    flip,
    cut,
    drop,
    splice,
    structure,
    number,
    deep,
    huge,
    not_utf8,
    nul,
    wide,
    nothing,
    marked,
    windows,
)

LABELS = {
    "conll": "LOC",
    "slotgated": "greet",
    "mtod": "who",
    "rasa": "city",
    "jsonl_spans": "PER",
    "table": "greet",
    "clinc": "greet",
    "top": "SL:D",
}
"""A label of the good file that only stands where labels do."""

BAD_LABELS = ("\x1b[31mX", "a\x07b", "a\x85b", "a\u2028b", "x" * 300)


def labelled(case: Case, rng: random.Random) -> tuple[dict[str, bytes], str] | None:
    """A label that no terminal should see, or, in JSON, that no file can hold."""
    old = LABELS.get(case.format, "\0")
    name = next((name for name, text in case.files.items() if old in text), None)
    if name is None:
        return None
    # White space parts a TOP parse wherever it stands.
    choice = [bad for bad in BAD_LABELS if case.format != "top" or len(bad.split()) == 1]
    bad = rng.choice(choice)
    if case.format in JSON:
        bad = rng.choice([json.dumps(bad)[1:-1], "a\\ud800", "\\udfff", "a\\u0000b"])
    new = old.replace(old.removeprefix("SL:"), bad)
    return {name: case.files[name].replace(old, new).encode()}, "refused"


def columns(case: Case, rng: random.Random) -> tuple[dict[str, bytes], str] | None:
    """A row with a column too few or too many, where every row has as many."""
    if case.format not in ("table", "mtod") or case.main.endswith("jsonl"):
        return None
    separator = "," if case.main.endswith("csv") else "\t"
    text = case.files[case.main].rstrip("\n")
    last = text.rpartition("\n")[2]
    cells = last.split(separator)
    row = rng.choice([[*cells, "more"], cells[:-1], [*cells, ""]])
    return {case.main: f"{text}\n{separator.join(row)}\n".encode()}, "refused"


def write_cases(folder: Path, numbers: Sequence[int], seed: int = 15) -> list[Path]:
    """The cases of these numbers; every reader and every mutation has its turn."""
    found, wanted = [], set(numbers)
    for index, (case, what, files, expected) in enumerate(_mutants(seed)):
        if index > max(wanted):
            break
        if index not in wanted:
            continue
        path = folder / f"{index:04}-{case.format}-{what}"
        target = case.write(path, files)
        facts = {
            "format": case.format,
            "options": case.options,
            "read": str(target.relative_to(path)),
            "expected": expected,
            "examples": [_digest(example) for example in case.examples],
        }
        (path / "case.json").write_text(json.dumps(facts), "utf-8")
        found.append(path)
    return found


def _mutants(seed: int) -> Iterator[tuple[Case, str, dict[str, bytes], str | None]]:
    rng = random.Random(seed)
    while True:
        for mutation in (*ANYWHERE, labelled, columns):
            for case in CASES:
                if mutation in (labelled, columns):
                    made = mutation(case, rng)
                    if made is None:
                        continue
                    files, expected = made
                else:
                    name = rng.choice(sorted(case.files))
                    content, expected = mutation(case.files[name].encode(), rng)
                    files = {name: content}
                yield case, mutation.__name__, files, expected


def _digest(example: Example) -> list[Any]:
    tags = None if example.tags is None else list(example.tags)
    return [list(example.words), tags, example.label, list(example.second or ()), example.language]


def target(path: Path) -> str:
    """Read a case in every way and check what comes of it."""
    facts = json.loads((path / "case.json").read_text("utf-8"))
    data = path / facts["read"]
    source = Source(data, facts["format"], options=facts["options"])
    collected = load([source], errors="collect")
    for problem in collected.problems:
        message = str(problem)
        assert len(message) < 4000, f"a problem of {len(message)} characters"
        assert all(c.isprintable() or c == "\n" for c in message), repr(message)
    _hold_together(collected.examples)
    guessed = read(data, None, errors="collect")
    _hold_together(guessed.examples)
    if facts["expected"] == "refused":
        assert collected.problems, f"read as {[_digest(e) for e in collected.examples]}"
    found = [_digest(example) for example in load([source]).examples]  # raises the first problem
    assert not collected.problems, "collected problems, but raised none"
    if facts["expected"] == "same":
        assert found == facts["examples"], f"another reading: {found}"
    return f"{len(found)} examples"


def _hold_together(examples: tuple[Example, ...]) -> None:
    for example in examples:
        assert example.words
        assert example.tags is None or len(example.tags) == len(example.words)
        for text in (*example.words, *(example.second or ()), example.language):
            text.encode("utf-8")
        for label in {example.label, example.language, *(example.tags or ())} - {None}:
            assert label
            assert not CONTROL.search(label), repr(label)
        if example.text is not None and example.offsets is not None:
            cuts = tuple(example.text[start:end] for start, end in example.offsets)
            assert cuts == example.words


def formats() -> set[str]:
    """The formats that cases are made of."""
    return {case.format for case in CASES} & set(READERS)
