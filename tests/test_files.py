"""Files appear whole or not at all."""

from __future__ import annotations

import hashlib
import os

import pytest

from tfdistil.files import new_folder, sha256, write_bytes, write_json, write_text


def test_files_are_written_with_their_folders(tmp_path):
    path = tmp_path / "a" / "b" / "c.txt"
    write_text(path, "日本\n")
    assert path.read_bytes() == "日本\n".encode()
    assert [p.name for p in path.parent.iterdir()] == ["c.txt"]


def test_json_is_sorted_and_utf_8(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"b": "é", "a": [1, 2.5, None]})
    assert path.read_text("utf-8") == '{\n "a": [\n  1,\n  2.5,\n  null\n ],\n "b": "é"\n}\n'


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def disk_full(descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="no space"):
        write_text(path, "new")
    assert path.read_text() == "old"
    monkeypatch.undo()
    write_text(path, "new")
    assert path.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_what_cannot_be_json_touches_nothing(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, 1)
    with pytest.raises(TypeError):
        write_json(path, {1, 2})
    assert path.read_text() == "1\n"


def test_a_new_folder_gets_its_name_at_the_end(tmp_path):
    path = tmp_path / "deep" / "model"
    with new_folder(path) as partial:
        (partial / "weights").write_text("new")
        assert not path.exists()
    assert (path / "weights").read_text() == "new"
    assert [p.name for p in path.parent.iterdir()] == ["model"]


def test_a_folder_whose_making_fails_keeps_the_old_one(tmp_path):
    path = tmp_path / "model"
    with new_folder(path) as partial:
        (partial / "weights").write_text("old")

    def fail():
        with new_folder(path) as partial:
            (partial / "weights").write_text("half")
            (partial / "rest").write_text("half")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        fail()
    assert (path / "weights").read_text() == "old"
    with new_folder(path) as partial:
        assert list(partial.iterdir()) == []  # nothing of the failed attempt is left
        (partial / "weights").write_text("new")
    assert [p.name for p in path.iterdir()] == ["weights"]
    assert (path / "weights").read_text() == "new"


@pytest.mark.parametrize("size", [0, 5, (1 << 20) + 1])
def test_sha256_is_that_of_the_content(tmp_path, size):
    data = bytes(i % 251 for i in range(size))
    write_bytes(tmp_path / "a", data)
    assert sha256(tmp_path / "a") == hashlib.sha256(data).hexdigest()
