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
from typing import Any

from tfdistil.errors import RunError


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


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
    yield partial
    shutil.rmtree(path, ignore_errors=True)
    partial.rename(path)


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
    """The folder of that name relative to ``base`` if there is one; else the name, a hub id say."""
    return str(base / name) if (base / name).is_dir() else name


def sha256(path: Path) -> str:
    """Hex digest of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
