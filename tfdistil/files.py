"""Writing files so that a killed process never leaves a half-written one under its final name."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tfdistil.errors import RunError


@contextlib.contextmanager
def new_file(path: Path, suffix: str = "") -> Iterator[Path]:
    """A path to write to; it gets its name only when the block ends without an error.

    Args:
        path: the name it gets.
        suffix: what the other path ends in, for writers that go by it.
    """
    partial = _partial(path, suffix)
    try:
        yield partial
        partial.replace(path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)  # on a full disk what is of no use must not stay


def remove_file(path: Path) -> None:
    """Remove a file if there is one, and what a killed process has left of it in `new_file`."""
    for one in (path, _partial(path)):
        one.unlink(missing_ok=True)


def _partial(path: Path, suffix: str = "") -> Path:
    return path.with_name(f".{path.name}.partial{suffix}")


def reserve(path: Path) -> None:
    """Take the space of a sparse file now.

    What is written through a memory map has no way to fail: on a full disk it kills the process.

    Raises:
        OSError: there is not enough space.
    """
    size = path.stat().st_size
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except (AttributeError, OSError) as error:
            if getattr(error, "errno", None) not in (None, *_NOT_RESERVED):
                raise OSError(*error.args[:2], str(path)) from None
            for start in range(0, size, _BLOCK):
                _rewrite(file, start, min(_BLOCK, size - start))
            file.flush()
            os.fsync(file.fileno())


def make_room(folder: Path, size: int) -> None:
    """Make sure that a folder can take a file of so many bytes.

    For what native code writes: on a full disk it stops halfway, and says so in its own ways.

    Raises:
        OSError: it cannot.
    """
    room = folder / ".room.partial"
    try:
        with room.open("wb") as file:
            file.truncate(size)
        reserve(room)
    finally:
        room.unlink(missing_ok=True)


_BLOCK = 1 << 20
_NOT_RESERVED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
"""What systems say that have no such call, or not for this kind of file."""


def _rewrite(file: IO[bytes], start: int, size: int) -> None:
    """Write what a part of a file holds over it, so that a hole becomes zeros on the disk."""
    file.seek(start)
    data = file.read(size)
    file.seek(start)
    file.write(data)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as partial, partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, data: Any) -> None:
    """Write JSON with sorted keys, whole or not at all."""
    write_text(path, json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill; it gets its name only when the block ends without an error."""
    partial = path.with_name(f".{path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        shutil.rmtree(path, ignore_errors=True)
        partial.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read_json(path: Path) -> Any:
    """The JSON of a file of a run.

    Raises:
        RunError: no JSON, or nested deeper than Python reads it.
        OSError: a file that cannot be read.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path}: damaged ({error}); remove the folder and run again") from None


def check_regular(path: Path) -> None:
    """Make sure that reading a path comes to an end: not a pipe, not a device, not a folder.

    Raises:
        OSError: it is none of a regular file, or there is none.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def beside(base: Path, name: str) -> str:
    """The folder of that name relative to ``base`` if there is one; else the name, a hub id say.

    Of a path that leads nowhere, where it was looked for.
    """
    there = (base / name).is_dir() or (name.startswith(".") and not Path(name).is_dir())
    return str(base / name) if there else name


def relative_name(path: Path, base: Path) -> str:
    """A path as it is named from a folder that it lies in; else the whole of it."""
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path)


def sha256(path: Path) -> str:
    """Hex digest of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
