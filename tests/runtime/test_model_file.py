"""Reading model files: what is refused, and that nothing else happens."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from pathlib import Path

import pytest

from tfdistil.errors import ModelFileError
from tfdistil.exporting.pack import config_bytes, pack
from tfdistil.runtime.model_file import MAX_ASSET_BYTES, ModelFile

MODEL = b"\x1c\0\0\0TFL3" + bytes(range(200))
CONFIG = {
    "format": 1,
    "task": {},
    "featurizer": {},
    "splitter": {},
    "signatures": {"online": {"batch": 1, "length": 4}},
    "outputs": {},
}
PACKED = pack(MODEL, {"tfdistil.json": config_bytes(CONFIG), "labels.txt": b"a\nb\n" * 20})


def zipped(config: dict | bytes, *, model: bytes = MODEL, **options) -> bytes:
    """A file with a configuration of any kind and right checksums where it can have them."""
    file = io.BytesIO(model)
    with zipfile.ZipFile(file, "a", options.get("compression", zipfile.ZIP_STORED)) as archive:
        content = config if isinstance(config, bytes) else json.dumps(config).encode()
        archive.writestr(options.get("name", "tfdistil.json"), content)
    return file.getvalue()


def refused(tmp_path, content: bytes) -> str:
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as error:
        ModelFile.open(path)
    assert str(path) in str(error.value)
    return str(error.value)


def test_whole(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(PACKED)
    file = ModelFile.open(str(path))
    assert file.assets == {"labels.txt": b"a\nb\n" * 20}
    assert file.model == MODEL


def test_other_files(tmp_path):
    assert "No such file" in _message(tmp_path / "nowhere.tflite")
    assert "is no file" in _message(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "is no file" in _message(tmp_path / "pipe")
    assert "is no file" in _message(Path("/dev/zero"))
    assert "no TensorFlow Lite model" in refused(tmp_path, b"")
    assert "no TensorFlow Lite model" in refused(tmp_path, b"PK\x03\x04" + b"x" * 50)
    assert "plain .tflite" in refused(tmp_path, MODEL)
    assert "has no tfdistil.json" in refused(tmp_path, zipped({}, name="labels.txt"))


def _message(path) -> str:
    with pytest.raises(ModelFileError) as error:
        ModelFile.open(path)
    return str(error.value)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (b"{", "is no JSON"),
        (b"\xff", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        ([], "without a format number"),
        ({**CONFIG, "format": "1"}, "without a format number"),
        ({**CONFIG, "format": 2}, "has format 2; this version of tfdistil reads up to 1"),
        ({**CONFIG, "checksums": []}, "whose 'checksums' is not names"),
        ({**CONFIG, "checksums": {"model": 1}}, "whose 'checksums' is not names"),
        ({**CONFIG, "checksums": {}, "task": None}, "whose 'task' is not an object"),
        ({key: CONFIG[key] for key in ("format", "task")}, "without 'featurizer'"),
        ({**CONFIG, "checksums": {}, "languages": "en"}, "whose 'languages' is not a list"),
        ({**CONFIG, "checksums": {}, "outputs": {"tags": ["tags"]}}, "whose 'outputs' is not"),
        ({**CONFIG, "checksums": {}, "quantize": "\ud800"}, "with a lone surrogate"),
        ({**CONFIG, "format": True}, "without a format number"),
        (
            {**CONFIG, "checksums": {}, "signatures": {"online": {"batch": 0, "length": 1}}},
            "whose 'signatures' is not names, each with a batch and a length",
        ),
        ({**CONFIG, "checksums": {}}, "the checksum of 'model'"),
        ({**CONFIG, "checksums": {"model": "0" * 64}}, "the checksum of 'model'"),
    ],
)
def test_configurations(tmp_path, config, message):
    assert message in refused(tmp_path, zipped(config))


def test_a_missing_asset(tmp_path):
    import hashlib

    checksums = {"model": hashlib.sha256(MODEL).hexdigest(), "tokenizer.json": "0" * 64}
    message = refused(tmp_path, zipped({**CONFIG, "checksums": checksums}))
    assert "the checksum of 'tokenizer.json' is None" in message


def test_compressed_assets(tmp_path):
    content = zipped(b" " * 1000, compression=zipfile.ZIP_DEFLATED)
    assert "compressed or encrypted" in refused(tmp_path, content)


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/b", "a\nb"])
def test_names_that_are_paths(tmp_path, name):
    file = io.BytesIO(PACKED)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(name, b"")
    assert "associated file with the name" in refused(tmp_path, file.getvalue())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name(tmp_path):
    file = io.BytesIO(PACKED)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("labels.txt", b"")
    assert "two of one name" in refused(tmp_path, file.getvalue())


def test_a_file_that_claims_to_be_huge(tmp_path):
    # Both sizes in the central directory of labels.txt, the first entry.
    at = PACKED.index(b"PK\x01\x02")
    size = (MAX_ASSET_BYTES + 1).to_bytes(4, "little") * 2
    message = refused(tmp_path, PACKED[: at + 20] + size + PACKED[at + 28 :])
    assert f"the most is {MAX_ASSET_BYTES}" in message


def test_every_truncation_is_refused(tmp_path):
    path = tmp_path / "m.tflite"
    for length in range(len(PACKED)):
        path.write_bytes(PACKED[:length])
        with pytest.raises(ModelFileError):
            ModelFile.open(path)


def test_every_changed_byte_is_refused_or_does_no_harm(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(PACKED)
    whole = ModelFile.open(path)
    dice = random.Random(13)
    passed = 0
    for at in range(len(PACKED)):
        damaged = bytearray(PACKED)
        damaged[at] ^= dice.randrange(1, 256)
        path.write_bytes(damaged)
        try:
            file = ModelFile.open(path)
        except ModelFileError:
            continue
        # A date or an attribute of the zip; all that counts is as it was.
        assert at >= len(MODEL)
        assert (file.config, file.assets) == (whole.config, whole.assets)
        passed += 1
    assert passed < 150


def test_random_damage(tmp_path):
    path = tmp_path / "m.tflite"
    dice = random.Random(7)
    for _ in range(300):
        damaged = bytearray(PACKED)
        for _ in range(dice.randrange(2, 30)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        start = dice.randrange(len(damaged))
        del damaged[start : start + dice.choice([0, 0, 1, 40])]
        path.write_bytes(damaged)
        try:
            file = ModelFile.open(path)
        except ModelFileError:
            continue
        assert file.assets == {"labels.txt": b"a\nb\n" * 20}
