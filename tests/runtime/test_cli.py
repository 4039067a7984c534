"""The commands `predict` and `info`, as a user types them."""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import zipfile

import pytest

from tfdistil.errors import DataError, ModelFileError
from tfdistil.exporting.pack import pack
from tfdistil.runtime import Runtime, cli
from tfdistil.runtime.cli import add_info, add_predict


def run(*arguments: object) -> int:
    parser = argparse.ArgumentParser(prog="tfdistil")
    subparsers = parser.add_subparsers()
    add_predict(subparsers)
    add_info(subparsers)
    args = parser.parse_args([str(a) for a in arguments])
    return args.func(args)


@pytest.fixture
def stdin(monkeypatch):
    def fill(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    return fill


def test_plain(intent_slots, capsys):
    text = "play jazz in the kitchen"
    assert run("predict", intent_slots.path, text, "what's the weather?") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    (result,) = Runtime(intent_slots.path).predict([text])
    assert lines[0].startswith(f"{result.label} {result.label_score:.2f}: ")
    for span in result.spans:
        assert f"[{span.text}]({span.label} {span.score:.2f})" in lines[0]


def test_jsonl_from_standard_input(intent_slots, capsys, stdin):
    stdin("play jazz\r\n\nwas läuft 東京?".encode())
    assert run("predict", intent_slots.path, "--jsonl") == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [a["text"] for a in answers] == ["play jazz", "", "was läuft 東京?"]
    expected = Runtime(intent_slots.path).predict([a["text"] for a in answers])
    assert answers == [json.loads(json.dumps(r.to_dict())) for r in expected]


def test_a_byte_order_mark_is_no_text(intent_slots, capsys, stdin, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfplay jazz\n")
    assert run("predict", intent_slots.path, "--file", tmp_path / "a.txt", "--jsonl") == 0
    stdin(b"\xef\xbb\xbfplay jazz\n")
    assert run("predict", intent_slots.path, "--jsonl") == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["text"] for answer in answers] == ["play jazz"] * 2


def test_conll_of_words_in_a_file(tags_int8, capsys, tmp_path):
    (tmp_path / "a.txt").write_text("don't stop .\n\nplay", "utf-8")
    assert run("predict", tags_int8.path, "--file", tmp_path / "a.txt", "--words", "--conll") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["don't", "stop", ".", "", "", "play", ""]
    assert all(len(line.split("\t")) == 2 for line in lines if line)


def test_conll_of_labels_of_single_words_is_what_a_training_file_has(parts_of_speech, capsys):
    text = "play some jazz in the old town tonight"
    assert run("predict", parts_of_speech.path, text, "--conll") == 0
    written = [line.split("\t")[1] for line in capsys.readouterr().out.splitlines() if line]
    (result,) = Runtime(parts_of_speech.path).predict([text])
    assert written == [tag.removeprefix("B-") for tag in result.tags]
    assert set(written) & {"DET", "NOUN"}


def test_conll_with_an_intent(intent_slots, capsys):
    assert run("predict", intent_slots.path, "play jazz", "--conll") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("# label = ")
    assert [line.split("\t")[0] for line in lines[1:3]] == ["play", "jazz"]


def test_many_lines_are_answered_in_blocks(tags_int8, capsys, stdin):
    stdin(b"play jazz\n" * 600)
    assert run("predict", tags_int8.path) == 0
    assert len(capsys.readouterr().out.splitlines()) == 600


def test_a_pipe_is_answered_line_by_line():
    read, write = os.pipe()
    with os.fdopen(read, "rb") as stream, os.fdopen(write, "wb", buffering=0) as pipe:
        blocks = cli._as_they_come(stream)
        pipe.write("play\nwas lä".encode()[:-1])
        assert next(blocks) == [("play", "standard input", 1)]
        pipe.write("ä".encode()[1:] + b"uft\r\n\nand")
        assert next(blocks) == [("was läuft", "standard input", 2), ("", "standard input", 3)]
        pipe.close()
        assert next(blocks) == [("and", "standard input", 4)]
        assert next(blocks, None) is None


def test_the_folder_of_a_run_stands_for_its_file(intent_slots, capsys, tmp_path):
    shutil.copy(intent_slots.path, tmp_path / "student.tflite")
    for path in (tmp_path, intent_slots.path):
        assert run("predict", path, "play jazz") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert run("info", tmp_path) == 0
    assert "intent" in capsys.readouterr().out


def test_arguments_that_are_no_utf8(intent_slots, capsys):
    assert run("predict", intent_slots.path, "play \udcff", "--jsonl") == 0
    assert json.loads(capsys.readouterr().out)["text"] == "play \ufffd"


def test_pairs(pair, capsys):
    assert run("predict", pair.path, "play jazz\tplay rock") == 0
    out = capsys.readouterr().out
    assert out.split(" ")[0] in ("contradiction", "entailment", "neutral")
    assert out.endswith(": play jazz | play rock\n")


def test_wrong_input(intent_slots, pair, tmp_path, stdin):
    path = tmp_path / "a.txt"
    path.write_bytes(b"fine\nbr\xff\n")
    with pytest.raises(DataError, match=r"a\.txt:2: is no UTF-8"):
        run("predict", intent_slots.path, "--file", path)
    with pytest.raises(DataError, match=r"nowhere\.txt: cannot be read"):
        run("predict", intent_slots.path, "--file", tmp_path / "nowhere.txt")
    stdin(b"a\tb\nab\n")
    with pytest.raises(DataError, match="standard input:2: expected two texts with a tab"):
        run("predict", pair.path)
    with pytest.raises(DataError, match="--conll writes a tag per word"):
        run("predict", pair.path, "a\tb", "--conll")
    with pytest.raises(DataError, match="--words does not go with"):
        run("predict", pair.path, "a\tb", "--words")
    with pytest.raises(ModelFileError, match="cannot be read"):
        run("predict", tmp_path / "nowhere.tflite", "a")


def test_info(intent_slots, capsys):
    assert run("info", intent_slots.path) == 0
    out = capsys.readouterr().out
    for part in (
        "task        intent_slots",
        "intents   2: music weather",
        "signature   online: batch 1, length 16",
        "signature   batch: batch 4, length 16",
        "FULLY_CONNECTED 2",
        "asset       tokenizer.json",
        "runtime     2.3.0 or later",
        "constants   float32",
        "parts       pieces",
    ):
        assert part in out


def test_info_of_a_file_that_says_strange_things(intent_slots, tmp_path, capsys):
    """Values of another form are refused; what a terminal would obey is not shown to it."""
    with zipfile.ZipFile(intent_slots.path) as archive:
        assets = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(assets["tfdistil.json"])
    path = tmp_path / "m.tflite"

    def info(**values):
        changed = json.dumps({**config, **values}).encode()
        path.write_bytes(pack(intent_slots.flatbuffer, {**assets, "tfdistil.json": changed}))
        return run("info", path)

    assert info(quantize="\x1b[31mred") == 0
    assert "quantized   \ufffd[31mred" in capsys.readouterr().out
    for values in ({"operators": "x"}, {"constants": 5}, {"assets": 5}, {"path": "elsewhere"}):
        assert info(**values) == 0  # what is measured is shown, not what a file says of itself
        assert f"file        {path}" in capsys.readouterr().out
    tags = ["O", *(f"I-{number}" for number in range(20_000))]
    for values in (
        {"task": config["task"] | {"slots": tags}},
        {"task": {"labels": [[]]}},
        {"languages": 7},
        {"signatures": {"online": {}}},
    ):
        with pytest.raises(ModelFileError, match=r"m\.tflite: "):
            info(**values)


@pytest.mark.parametrize("threads", ["0", "1000000", "x"])
def test_numbers_of_threads(threads, intent_slots, capsys):
    with pytest.raises(SystemExit) as error:
        run("predict", intent_slots.path, "a", "--threads", threads)
    assert error.value.code == 2
    assert "argument --threads" in capsys.readouterr().err


def test_info_as_json(tags_int8, capsys):
    assert run("info", tags_int8.path, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    size = tags_int8.path.stat().st_size
    assert data["file_bytes"] == size
    assert data["model_bytes"] == len(tags_int8.flatbuffer)
    assert data["operators"].keys() == {"online", "batch"}
    assert data["operators"]["online"]["FULLY_CONNECTED"] == 1
    assert data["constants"]["int8"] > 0
    assert sum(data["constants"].values()) < data["model_bytes"]
    assert sum(data["parts"].values()) == data["model_bytes"]
    assert data["task"]["kind"] == "tags"
    assert "checksums" not in data


@pytest.mark.parametrize("command", ["predict", "info"])
def test_help_shows_examples(command, capsys):
    with pytest.raises(SystemExit) as error:
        run(command, "--help")
    assert error.value.code == 0
    assert f"tfdistil {command} student.tflite" in capsys.readouterr().out


def test_k_best_needs_json_lines_and_a_crf(intent_slots, pair, capsys):
    with pytest.raises(DataError, match="--k goes with --jsonl"):
        run("predict", intent_slots.path, "play jazz", "--k", 2)
    with pytest.raises(DataError, match=r"--k does not go with this model: .* one of the kind crf"):
        run("predict", intent_slots.path, "play jazz", "--k", 2, "--jsonl")
    with pytest.raises(DataError, match=r"--k does not go with this model: .* task is 'pair'"):
        run("predict", pair.path, "a\tb", "--k", 2, "--jsonl")
