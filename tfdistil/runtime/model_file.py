"""The model file: a ``.tflite`` flatbuffer with its assets in a zip at the end."""

from __future__ import annotations

import hashlib
import json
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from tfdistil.errors import ModelFileError, TfdistilError
from tfdistil.runtime.config import check_config
from tfdistil.runtime.tflite import MAGIC

CONFIG = "tfdistil.json"
FORMAT = 1
ASSET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
MAX_ASSET_BYTES = 256 * 2**20
MAX_ASSETS = 1000
MAX_MODEL_BYTES = 2**31 - 1
"""Of a flatbuffer: its offsets are 32 bits with a sign."""

_DAMAGED = "Copy the file again, or export the model again."
_LONGEST = 600  # characters of an error; what a file says of itself may have no end


def printable(text: str) -> str:
    """The text with U+FFFD for what a terminal would not show but obey."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


@contextmanager
def file_errors(path: Path, what: str) -> Iterator[None]:
    """Whatever goes wrong with a file is one `ModelFileError` that names it, short and printable.

    Args:
        path: the file.
        what: did not work, where the error does not say it: ``cannot be read``.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except OSError as error:
        raise ModelFileError(f"{path}: {what}: {error.strerror or error}") from error
    except BaseException as error:  # the tokenizers' native code panics outside of Exception
        said = str(error) if isinstance(error, TfdistilError) else f"{what}: {error}"
        shown = printable(" ".join(said.split()))
        shown = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 4] + " ..."
        raise ModelFileError(f"{path}: {shown}") from error


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What a model file says of itself. Everything in it is verified against its checksums.

    Attributes:
        path: the file.
        config: ``tfdistil.json``.
        assets: the other associated files by name.
        model: the flatbuffer, which begins the file. It is what was verified: the file may change.
        file_bytes: size of the file.
    """

    path: Path
    config: Mapping[str, Any]
    assets: Mapping[str, bytes]
    model: bytes = field(repr=False)
    file_bytes: int

    @classmethod
    def open(cls, path: str | Path) -> ModelFile:
        """Read and verify a file.

        Raises:
            ModelFileError: not a model file of tfdistil, damaged, or of a newer format.
        """
        path = Path(path)
        with file_errors(path, "cannot be read"):
            # Before it is opened: a pipe would wait for somebody who writes.
            if not stat.S_ISREG(path.stat().st_mode):
                _fail(
                    "is no file",
                    "Give a .tflite file, such as RUN/student.tflite of a run that has one.",
                )
            with path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(0)
                if file.read(8)[4:] != MAGIC:
                    _fail("is no TensorFlow Lite model (no TFL3 at byte 4)", _DAMAGED)
                assets, model_bytes = _read_assets(file)
                config = _read_config(assets.pop(CONFIG))
                file.seek(0)
                model = file.read(model_bytes)
            _verify(config["checksums"], assets, model)
            return cls(path, config, assets, model, size)


def _fail(what: str, remedy: str) -> NoReturn:
    raise ModelFileError(f"{what}. {remedy}")


def _read_assets(file: BinaryIO) -> tuple[dict[str, bytes], int]:
    """The associated files, and the offset of the first one: where the flatbuffer ends."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check_entries(entries)
            # Reading checks the CRC of each entry.
            return {e.filename: archive.read(e) for e in entries}, entries[0].header_offset
    except ModelFileError:
        raise
    except Exception as error:  # on damaged bytes zipfile raises whatever its parsing runs into
        raise ModelFileError(
            f"has no readable associated files at its end ({error}): it is truncated, "
            "damaged, or a plain .tflite that tfdistil-export did not make. " + _DAMAGED
        ) from error


def _check_entries(entries: list[zipfile.ZipInfo]) -> None:
    """Refuse what `tfdistil.exporting.pack` never writes, before anything is read into memory."""
    names = [entry.filename for entry in entries]
    if CONFIG not in names:
        _fail(f"has no {CONFIG}", "It was not made by tfdistil-export.")
    if len(names) > MAX_ASSETS or len({*names}) < len(names):
        _fail(f"has {len(names)} associated files, or two of one name", _DAMAGED)
    for entry in entries:
        if not ASSET_NAME.fullmatch(entry.filename):
            _fail(f"has an associated file with the name {entry.filename!r}", _DAMAGED)
        if (
            entry.compress_type != zipfile.ZIP_STORED
            or entry.compress_size != entry.file_size
            or entry.flag_bits & 1
        ):
            _fail(
                f"has an associated file that is compressed or encrypted ({entry.filename})",
                "tfdistil-export stores them as they are: export the model again.",
            )
    entries.sort(key=lambda entry: entry.header_offset)
    if not 0 < entries[0].header_offset <= MAX_MODEL_BYTES:
        _fail(f"has {entries[0].header_offset} bytes before its associated files", _DAMAGED)
    total = sum(entry.file_size for entry in entries)
    if total > MAX_ASSET_BYTES:
        _fail(f"claims {total} bytes of assets; the most is {MAX_ASSET_BYTES}", _DAMAGED)


def _read_config(content: bytes) -> dict[str, Any]:
    try:
        config = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{CONFIG} is no JSON ({error}). {_DAMAGED}") from error
    version = config.get("format") if isinstance(config, dict) else None
    if type(version) is not int or version < 1:
        _fail(f"has a {CONFIG} without a format number", _DAMAGED)
    if version > FORMAT:
        _fail(
            f"has format {version}; this version of tfdistil reads up to {FORMAT}",
            "Upgrade tfdistil, or export the model with this version.",
        )
    try:
        check_config(config)
    except ValueError as error:
        raise ModelFileError(f"has a {CONFIG} {error}. {_DAMAGED}") from error
    return config


def _verify(checksums: Mapping[str, str], assets: Mapping[str, bytes], model: bytes) -> None:
    contents = {"model": model, **assets}
    found = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    for name in sorted({*found, *checksums}):
        if found.get(name) != checksums.get(name):
            _fail(
                f"is damaged: the checksum of {name!r} is {found.get(name)}, expected "
                f"{checksums.get(name)}",
                _DAMAGED,
            )
