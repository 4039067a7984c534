"""The model file: a ``.tflite`` flatbuffer with its assets in a zip at the end."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from tfdistil.errors import ModelFileError

CONFIG = "tfdistil.json"
FORMAT = 1
ASSET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
MAX_ASSET_BYTES = 256 * 2**20
MAX_ASSETS = 1000
MAGIC = b"TFL3"  # bytes 4 to 7 of a TensorFlow Lite flatbuffer

_BLOCK = 2**20
_DAMAGED = "Copy the file again, or export the model again."
_SETTINGS = {
    "task": dict,
    "featurizer": dict,
    "splitter": dict,
    "signatures": dict,
    "outputs": dict,
    "checksums": dict,
}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What a model file says of itself. Everything in it is verified against its checksums.

    Attributes:
        path: the file.
        config: ``tfdistil.json``.
        assets: the other associated files by name.
        model_bytes: size of the flatbuffer, which begins the file.
        file_bytes: size of the file.
    """

    path: Path
    config: Mapping[str, Any]
    assets: Mapping[str, bytes]
    model_bytes: int
    file_bytes: int

    @classmethod
    def open(cls, path: str | Path) -> ModelFile:
        """Read and verify a file.

        Raises:
            ModelFileError: not a model file of tfdistil, damaged, or of a newer format.
        """
        path = Path(path)
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(0)
                if file.read(8)[4:] != MAGIC:
                    _fail(path, "is no TensorFlow Lite model (no TFL3 at byte 4)", _DAMAGED)
                assets, model_bytes = _read_assets(file, path)
                config = _read_config(assets, path)
                _verify(config["checksums"], assets, _sha256(file, model_bytes), path)
        except OSError as error:
            raise ModelFileError(f"{path} cannot be read: {error.strerror or error}") from error
        assets.pop(CONFIG)
        return cls(path, config, assets, model_bytes, size)


def _fail(path: Path, what: str, remedy: str) -> NoReturn:
    raise ModelFileError(f"{path} {what}. {remedy}")


def _read_assets(file: BinaryIO, path: Path) -> tuple[dict[str, bytes], int]:
    """The associated files, and the offset of the first one: where the flatbuffer ends."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check_entries(entries, path)
            # Reading checks the CRC of each entry.
            return {e.filename: archive.read(e) for e in entries}, entries[0].header_offset
    except ModelFileError:
        raise
    except Exception as error:  # on damaged bytes zipfile raises whatever its parsing runs into
        raise ModelFileError(
            f"{path} has no readable associated files at its end ({error}): it is truncated, "
            "damaged, or a plain .tflite that tfdistil-export did not make. " + _DAMAGED
        ) from error


def _check_entries(entries: list[zipfile.ZipInfo], path: Path) -> None:
    """Refuse what `tfdistil.export.pack` never writes, before anything is read into memory."""
    names = [entry.filename for entry in entries]
    if CONFIG not in names:
        _fail(path, f"has no {CONFIG}", "It was not made by tfdistil-export.")
    if len(names) > MAX_ASSETS or len({*names}) < len(names):
        _fail(path, f"has {len(names)} associated files, or two of one name", _DAMAGED)
    for entry in entries:
        if not ASSET_NAME.fullmatch(entry.filename):
            _fail(path, f"has an associated file with the name {entry.filename!r}", _DAMAGED)
        if (
            entry.compress_type != zipfile.ZIP_STORED
            or entry.compress_size != entry.file_size
            or entry.flag_bits & 1
        ):
            _fail(
                path,
                f"has an associated file that is compressed or encrypted ({entry.filename})",
                "tfdistil-export stores them as they are: export the model again.",
            )
    total = sum(entry.file_size for entry in entries)
    if total > MAX_ASSET_BYTES:
        _fail(path, f"claims {total} bytes of assets; the most is {MAX_ASSET_BYTES}", _DAMAGED)
    entries.sort(key=lambda entry: entry.header_offset)


def _read_config(assets: Mapping[str, bytes], path: Path) -> dict[str, Any]:
    try:
        config = json.loads(assets[CONFIG].decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: {CONFIG} is no JSON ({error}). {_DAMAGED}") from error
    version = config.get("format") if isinstance(config, dict) else None
    if not isinstance(version, int) or version < 1:
        _fail(path, f"has a {CONFIG} without a format number", _DAMAGED)
    if version > FORMAT:
        _fail(
            path,
            f"has format {version}; this version of tfdistil reads up to {FORMAT}",
            "Upgrade tfdistil, or export the model with this version.",
        )
    for key, kind in _SETTINGS.items():
        if not isinstance(config.get(key), kind):
            _fail(path, f"has a {CONFIG} without {key!r}", _DAMAGED)
    for name, shape in config["signatures"].items():
        if not isinstance(shape, dict) or not all(
            isinstance(shape.get(key), int) and shape[key] > 0 for key in ("batch", "length")
        ):
            _fail(path, f"has no batch and length for signature {name!r} in {CONFIG}", _DAMAGED)
    return config


def _verify(
    checksums: Mapping[str, Any], assets: Mapping[str, bytes], model: str, path: Path
) -> None:
    found = {"model": model} | {
        name: hashlib.sha256(content).hexdigest()
        for name, content in assets.items()
        if name != CONFIG
    }
    for name in sorted({*found, *checksums}):
        if found.get(name) != checksums.get(name):
            _fail(
                path,
                f"is damaged: the checksum of {name!r} is {found.get(name)}, expected "
                f"{checksums.get(name)}",
                _DAMAGED,
            )


def _sha256(file: BinaryIO, size: int) -> str:
    """Of the first ``size`` bytes."""
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0 and (block := file.read(min(_BLOCK, size))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest()
