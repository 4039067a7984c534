"""Associated files into a ``.tflite``: an uncompressed zip at its end.

This is the convention of TensorFlow Lite metadata: a flatbuffer is read from its beginning and a
zip from its end, so one file is both. ``unzip -l`` lists the assets, and the stock interpreter
loads the model as it is.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from typing import Any

from tfdistil.errors import ExportError
from tfdistil.runtime.model_file import ASSET_NAME, CONFIG, MAX_ASSET_BYTES, MAX_ASSETS
from tfdistil.runtime.tflite import MAGIC

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date a zip can hold
_MODE = 0o644
_UNIX = 3
_NUMBERS = re.compile(r"\[\n[-+.\deE,\s]+\]")
"""A list of nothing but numbers. No text of JSON has a line break in it, so this is in none."""


def config_bytes(config: Mapping[str, Any]) -> bytes:
    """``tfdistil.json`` as it is written: UTF-8, sorted keys, indent 1, numbers in rows.

    Raises:
        ExportError: a value that is no JSON.
    """
    try:
        text = json.dumps(config, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
        # A CRF of 72 labels has 5,328 numbers: a line for each would be as long as the numbers.
        rows = _NUMBERS.sub(lambda found: "".join(found[0].split()), text)
        return (rows + "\n").encode()
    except (TypeError, ValueError) as error:
        raise ExportError(f"{CONFIG} cannot be written as JSON: {error}") from error


def pack(model: bytes, assets: Mapping[str, bytes]) -> bytes:
    """Append assets to a flatbuffer. The same input gives the same bytes, on any machine.

    ``assets["tfdistil.json"]`` gets the key ``checksums``: SHA-256, in hexadecimal, of the
    flatbuffer (``model``) and of every other asset by its name.

    Args:
        model: a TensorFlow Lite flatbuffer.
        assets: file name to content; ``tfdistil.json`` among them.

    Raises:
        ExportError: no flatbuffer, one that already carries assets, or assets that
            `tfdistil.runtime.model_file.ModelFile` would refuse.
    """
    if model[4:8] != MAGIC:
        raise ExportError("this is no TensorFlow Lite flatbuffer: no TFL3 at byte 4")
    if zipfile.is_zipfile(io.BytesIO(model)):
        raise ExportError("the model already has associated files; pack the flatbuffer alone")
    _check(assets)
    others = {name: content for name, content in assets.items() if name != CONFIG}
    checksums = {"model": _sha256(model)} | {name: _sha256(c) for name, c in others.items()}
    try:
        config = json.loads(assets[CONFIG])
    except ValueError as error:
        raise ExportError(f"{CONFIG} is no JSON: {error}") from error
    contents = others | {CONFIG: config_bytes({**config, "checksums": checksums})}
    file = io.BytesIO(model)
    # Appending to the file makes offsets count from its beginning, as `unzip` wants them.
    with zipfile.ZipFile(file, "a", zipfile.ZIP_STORED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = _MODE << 16
            archive.writestr(entry, contents[name])
    return file.getvalue()


def _check(assets: Mapping[str, bytes]) -> None:
    if CONFIG not in assets:
        raise ExportError(f"the assets have no {CONFIG} (they are {sorted(assets)})")
    for name in assets:
        if not ASSET_NAME.fullmatch(name) or name == "model":
            raise ExportError(
                f"an asset cannot be called {name!r}; use letters, digits, '.', '_' and '-', "
                "and not 'model'"
            )
    total = sum(map(len, assets.values()))
    if len(assets) > MAX_ASSETS or total > MAX_ASSET_BYTES:
        raise ExportError(
            f"{len(assets)} assets of {total} bytes; the most is {MAX_ASSETS} assets of "
            f"{MAX_ASSET_BYTES} bytes"
        )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
