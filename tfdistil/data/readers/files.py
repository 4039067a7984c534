"""Bytes to lines: UTF-8 without NUL, with every broken line named."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path

from tfdistil.errors import DataError
from tfdistil.files import check_regular

Problem = Callable[..., None]
"""``problem(message, line, path)``: raises or collects a `DataError`."""

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def check_readable(path: Path) -> None:
    """Make sure that reading a file comes to an end.

    Raises:
        DataError: no such file, no regular one, or one that this user may not read.
    """
    try:
        check_regular(path)
        path.open("rb").close()
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"cannot be opened: {reason}", path) from None


def check_text(path: Path) -> None:
    """Make sure that there is something to look at.

    Raises:
        DataError: see `check_readable`; a file that is empty, or in UTF-16.
    """
    check_readable(path)
    with path.open("rb") as file:
        if (start := file.read(2)) in _WIDE:
            raise DataError(_hint(start), path, 1)
        file.seek(0)
        if not any(line.removeprefix(codecs.BOM_UTF8).strip() for line in file):
            raise DataError("the file is empty", path, 1)


def read_text(path: Path, problem: Problem) -> str:
    """The file as text without byte-order mark; a broken byte becomes U+FFFD once it is reported.

    Line ends are left as they are.

    Raises:
        DataError: see `check_readable`; a file that is empty; what ``problem`` raises otherwise.
    """
    check_readable(path)
    raw = path.read_bytes()
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if not raw.strip():
        raise DataError("the file is empty", path, 1)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = _decode_lines(raw, path, problem)
    if "\0" in text:
        for number, line in enumerate(text.split("\n"), 1):
            if "\0" in line:
                problem(f"NUL byte at column {line.index(chr(0)) + 1}", number, path)
        text = text.replace("\0", "\ufffd")
    return text


def read_lines(path: Path, problem: Problem) -> list[str]:
    r"""The lines without their ends (``\n`` or ``\r\n``; no other character ends a line)."""
    text = read_text(path, problem)
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    return lines


def each_line(path: Path, problem: Problem) -> Iterator[str]:
    """Those lines one after the other, of a file that need not fit into memory.

    Raises:
        DataError: as `read_text` does, of a line when it is reached.
    """
    check_readable(path)
    empty = True
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if number == 1:
                hint = _hint(raw)
                raw = raw.removeprefix(codecs.BOM_UTF8)
            empty = empty and not raw.strip()
            line = _decode(raw.removesuffix(b"\n").removesuffix(b"\r"), number, path, problem, hint)
            if "\0" in line:
                problem(f"NUL byte at column {line.index(chr(0)) + 1}", number, path)
                line = line.replace("\0", "\ufffd")
            yield line
    if empty:
        raise DataError("the file is empty", path, 1)


def _decode_lines(raw: bytes, path: Path, problem: Problem) -> str:
    lines, hint = raw.split(b"\n"), _hint(raw)
    decoded = [_decode(line, number, path, problem, hint) for number, line in enumerate(lines, 1)]
    return "\n".join(decoded)


def _hint(raw: bytes) -> str:
    wide = "it looks like UTF-16: " if raw.startswith(_WIDE) else ""
    return f"{wide}save the file as UTF-8"


def _decode(line: bytes, number: int, path: Path, problem: Problem, hint: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = line[error.start]
        problem(f"broken UTF-8: byte 0x{byte:02x} at byte {error.start + 1}; {hint}", number, path)
        return line.decode("utf-8", "replace")
