"""Files of a checkpoint folder, which may come from anybody: what came and where, in each error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tfdistil.errors import CheckpointError

_LONGEST = 1 << 28
"""Bytes of a file that is read whole; XLM-RoBERTa's tokenizer.json has 17 MB."""


def read_bytes(path: Path) -> bytes:
    """The content of a plain file.

    Raises:
        CheckpointError: no such file, a pipe or device (which may never end), or a file of more
            than 256 MiB.
    """
    if not path.is_file():
        raise CheckpointError(f"{path} is not there, or is no plain file")
    try:
        if (size := path.stat().st_size) > _LONGEST:
            raise CheckpointError(f"{path} has {size:,} bytes; expected at most {_LONGEST:,}")
        return path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error


def read_text(path: Path) -> str:
    """The content of a text file in UTF-8, its lines ended by ``\\n``.

    Raises:
        CheckpointError: see `read_bytes`, and bytes that are not UTF-8.
    """
    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path} is no text in UTF-8: {error}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The object a JSON file holds.

    Raises:
        CheckpointError: see `read_text`, and text that is no JSON object.
    """
    try:
        data = json.loads(read_text(path))
    except ValueError as error:
        raise CheckpointError(f"{path} cannot be read as JSON: {error}") from error
    except RecursionError:
        raise CheckpointError(f"{path} cannot be read as JSON: it is nested too deeply") from None
    if not isinstance(data, dict):
        raise CheckpointError(f"{path} holds a JSON {type(data).__name__}; expected an object")
    return data
