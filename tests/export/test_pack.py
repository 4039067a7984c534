"""Assets inside a flatbuffer: what any zip tool, the interpreter and the runtime make of it."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import zipfile

import numpy as np
import pytest

from tfdistil.errors import ExportError
from tfdistil.exporting.pack import config_bytes, pack
from tfdistil.runtime.model_file import ModelFile

CONFIG = {
    "format": 1,
    "task": {"kind": "classes", "labels": ["ä", "b"]},
    "featurizer": {},
    "splitter": {},
    "signatures": {"online": {"batch": 1, "length": 4}},
    "outputs": {},
}
ASSETS = {
    "tfdistil.json": config_bytes(CONFIG),
    "tokenizer.json": b"{}",
    "labels.txt": "ä\nb\n".encode(),
    "transitions.npy": bytes(range(256)) * 40,
}


@pytest.fixture(scope="session")
def flatbuffer() -> bytes:
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((1, 4), tf.float32)])
    def double(x):
        return {"y": x * 2.0}

    module = tf.Module()
    module.double = double
    return tf.lite.TFLiteConverter.from_concrete_functions(
        [double.get_concrete_function()], module
    ).convert()


@pytest.fixture(scope="session")
def packed(flatbuffer) -> bytes:
    return pack(flatbuffer, ASSETS)


def test_the_flatbuffer_comes_first_and_unchanged(flatbuffer, packed):
    assert packed.startswith(flatbuffer)


def test_zipfile_reads_the_assets(packed):
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == sorted(ASSETS)
        for entry in archive.infolist():
            assert entry.compress_type == zipfile.ZIP_STORED
            assert entry.date_time == (1980, 1, 1, 0, 0, 0)
            if entry.filename != "tfdistil.json":
                assert archive.read(entry) == ASSETS[entry.filename]


@pytest.mark.skipif(shutil.which("unzip") is None, reason="unzip is not installed")
def test_unzip_lists_the_assets_without_complaint(packed, tmp_path):
    (tmp_path / "m.tflite").write_bytes(packed)
    for option in ("-l", "-t"):
        process = subprocess.run(
            ["unzip", option, str(tmp_path / "m.tflite")], capture_output=True, text=True
        )
        assert process.returncode == 0
        assert not process.stderr
        assert all(name in process.stdout for name in ASSETS)


@pytest.mark.parametrize("by", ["path", "content"])
def test_the_stock_interpreter_runs_the_packed_file(packed, tmp_path, by):
    from ai_edge_litert.interpreter import Interpreter

    path = tmp_path / "m.tflite"
    path.write_bytes(packed)
    source = {"model_path": str(path)} if by == "path" else {"model_content": packed}
    interpreter = Interpreter(**source)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.ones((1, 4), np.float32))
    interpreter.invoke()
    result = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert result.tolist() == [[2.0] * 4]


def test_checksums(flatbuffer, packed):
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        config = json.loads(archive.read("tfdistil.json"))
    assert config.pop("checksums") == {
        "model": hashlib.sha256(flatbuffer).hexdigest(),
        **{
            name: hashlib.sha256(content).hexdigest()
            for name, content in ASSETS.items()
            if name != "tfdistil.json"
        },
    }
    assert config == CONFIG


def test_same_bytes_whatever_the_order(flatbuffer, packed):
    assert pack(flatbuffer, dict(reversed(ASSETS.items()))) == packed


def test_model_file_reads_it_back(packed, flatbuffer, tmp_path):
    (tmp_path / "m.tflite").write_bytes(packed)
    file = ModelFile.open(tmp_path / "m.tflite")
    assert file.model == flatbuffer
    assert file.file_bytes == len(packed)
    assert {**file.assets, "tfdistil.json": ASSETS["tfdistil.json"]} == ASSETS
    assert file.config["task"] == CONFIG["task"]


def test_config_is_readable_text():
    text = config_bytes({"b": "ä", "a": 1}).decode()
    assert text == '{\n "a": 1,\n "b": "ä"\n}\n'


def test_rows_of_numbers_are_one_line_each_and_no_text_is_changed():
    config = {
        "rows": [[0.5, -1e-06], [2, 3.0]],
        "text": "[\n1, 2]",
        "list": ["[1, 2]", 1],
        "no": [],
    }
    text = config_bytes(config).decode()
    assert json.loads(text) == config
    assert '"rows": [\n  [0.5,-1e-06],\n  [2,3.0]\n ]' in text


@pytest.mark.parametrize("value", [float("nan"), {1, 2}])
def test_config_that_is_no_json(value):
    with pytest.raises(ExportError, match="cannot be written as JSON"):
        config_bytes({"a": value})


@pytest.mark.parametrize(
    ("assets", "message"),
    [
        ({"labels.txt": b""}, r"have no tfdistil\.json"),
        ({**ASSETS, "../x": b""}, r"cannot be called '\.\./x'"),
        ({**ASSETS, "a/b": b""}, "cannot be called 'a/b'"),
        ({**ASSETS, "": b""}, "cannot be called ''"),
        ({**ASSETS, "model": b""}, "cannot be called 'model'"),
        ({"tfdistil.json": b"{"}, "is no JSON"),
        ({**ASSETS, **{f"a{i}": b"" for i in range(1000)}}, "1004 assets"),
    ],
)
def test_assets_the_runtime_would_refuse(flatbuffer, assets, message):
    with pytest.raises(ExportError, match=message):
        pack(flatbuffer, assets)


def test_models_that_cannot_be_packed(packed):
    with pytest.raises(ExportError, match="no TFL3"):
        pack(b"PK\x03\x04 something", ASSETS)
    with pytest.raises(ExportError, match="already has associated files"):
        pack(packed, ASSETS)
