from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tfdistil.benchmarks import cli
from tfdistil.benchmarks.devices.device import names
from tfdistil.benchmarks.latency import Protocol, measure
from tfdistil.benchmarks.model import open_interpreter, random_inputs, shapes, vocabulary_size
from tfdistil.benchmarks.probe import probe
from tfdistil.benchmarks.table import format_table
from tfdistil.errors import ModelFileError

BATCH, LENGTH = 4, 8  # of the files of conftest.py
QUICK = Protocol(queries=20, batches=4, rounds=2, warm_up=2)


@pytest.fixture(scope="module")
def benchmark(student_file, shape_file):
    return measure({"student": student_file, "shape": shape_file}, QUICK)


def test_measures_every_model(benchmark, student_file):
    student, shape = benchmark.models
    assert student.bytes == student_file.stat().st_size
    # Untrained, both directions' biases are equal (stored once) and the head's zero (dropped).
    assert student.parameters == 60 * 4 + 2 * (4 * 24 + 6 * 24) + 24 + 12 * 3
    for model in (student, shape):
        data = model.to_json()
        assert data["online_ms"]["calls"] == 20
        assert data["online_ms"]["batch"] == 1
        assert data["batch_ms"]["batch"] == BATCH
        assert data["batch_ms"]["length"] == LENGTH
        assert 0 < data["online_ms"]["p50"] <= data["online_ms"]["p90"] <= data["online_ms"]["p99"]
        expected = 1e3 * BATCH / data["batch_ms"]["p50"]
        assert data["queries_per_second"] == pytest.approx(expected)
        assert data["load_ms"] > 0
        assert data["peak_rss_bytes"] > data["base_rss_bytes"] > 1e6


def test_ratios_and_table(benchmark):
    ratio = benchmark.ratio("shape", "student")
    student, shape = benchmark.models
    assert ratio["bytes"] == shape.bytes / student.bytes
    assert ratio["online"]["low"] <= ratio["online"]["median"] <= ratio["online"]["high"]
    table = format_table(benchmark.to_json())
    assert [line.split()[0] for line in table.splitlines()] == [
        "model",
        "student",
        "shape",
        "shape",
        "on",
    ]
    assert "shape against student" in table


def test_json_is_json(benchmark):
    data = json.loads(json.dumps(benchmark.to_json()))
    assert data["protocol"]["threads"] == 1
    assert data["environment"]["cores"] >= 1
    assert {"cpu", "machine", "instructions", "ai-edge-litert"} <= set(data["environment"])
    assert set(data["ratios"]) == {"shape"}


def test_inputs_are_full_rows_of_known_ids(student_file):
    vocabulary = vocabulary_size(student_file)
    assert vocabulary == 60
    online, batch = shapes(open_interpreter(student_file), student_file)
    assert (online.batch, batch.batch) == (1, BATCH)
    inputs = random_inputs(batch, vocabulary, np.random.default_rng(0))
    assert inputs["attention_mask"].min() == 1
    assert 1 <= inputs["input_ids"].min() <= inputs["input_ids"].max() < 60
    assert inputs["input_ids"].dtype == np.int32


def test_a_process_of_its_own_does_not_inherit_our_memory(student_file):
    ballast = np.ones(60_000_000)
    assert probe(student_file)["peak_rss_bytes"] < 4e8 < ballast.nbytes


def test_command(student_file, shape_file, tmp_path, capsys):
    out = tmp_path / "out.json"
    quick = ["--queries", "10", "--batches", "2", "--rounds", "2", "--json", str(out)]
    assert cli.main([str(student_file), str(shape_file), *quick]) == 0
    assert "tiny against student" in capsys.readouterr().out
    assert [m["name"] for m in json.loads(out.read_text())["models"]] == ["student", "tiny"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["missing.tflite"], "missing.tflite: no such file"),
        (["{model}", "--queries", "0"], "--queries must be at least 1, got 0"),
        (["{model}", "--reference", "gpt"], "unknown reference 'gpt'; there is mbert-shape"),
        (["{model}", "--texts", "none.txt"], "none.txt cannot be read"),
    ],
)
def test_errors_are_one_line(student_file, capsys, arguments, text):
    assert cli.main([a.format(model=student_file) for a in arguments]) == 2
    assert text in capsys.readouterr().err


def test_files_that_cannot_be_written_or_told_apart(student_file, tmp_path, capsys):
    quick = ["--queries", "2", "--batches", "1", "--rounds", "1"]
    assert cli.main([str(student_file), *quick, "--json", str(tmp_path)]) == 2
    assert f"tfdistil-benchmark: {tmp_path}" in capsys.readouterr().err
    same = tmp_path / "mbert-shape.tflite"
    same.write_bytes(student_file.read_bytes())
    assert cli.main([str(same), "--reference", "mbert-shape"]) == 2
    assert "has the name of the reference 'mbert-shape'; rename it" in capsys.readouterr().err


def test_without_the_training_stack_it_says_what_to_install(student_file, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    assert cli.main([str(student_file), "--reference", "mbert-shape"]) == 2
    said = capsys.readouterr().err
    assert "tensorflow is missing" in said
    assert "pip install 'tfdistil[train]'" in said


def test_what_is_no_model(tmp_path):
    path = tmp_path / "x.tflite"
    path.write_bytes(b"nonsense" * 10)
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        measure({"x": path}, QUICK)
    with pytest.raises(ModelFileError, match="cannot be run"):
        probe(Path("nowhere.tflite"))


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "--reference mbert-shape" in capsys.readouterr().out


def test_same_stems_keep_their_paths(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    paths = [tmp_path / "a" / "s.tflite", tmp_path / "b" / "s.tflite", tmp_path / "t.tflite", run]
    found = names(paths)
    assert list(found) == [str(paths[0]), str(paths[1]), "t", "run"]
    assert found["run"] == run / "student.tflite"


def test_no_training_library_is_needed_to_say_how_to_call_it(tmp_path):
    script = (
        "import sys; from tfdistil.benchmarks.cli import parser; parser().format_help();"
        "print({'tensorflow', 'keras', 'numpy'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
