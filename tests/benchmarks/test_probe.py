"""Memory and load time of a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tfdistil.benchmarks import probe
from tfdistil.errors import ModelFileError


def test_the_most_memory_there_was_not_what_there_is():
    script = (
        "import numpy; from tfdistil.benchmarks.probe import peak_rss; print(peak_rss());"
        "ballast = numpy.ones(30_000_000); print(peak_rss()); del ballast; print(peak_rss())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    before, with_it, after = map(int, done.stdout.split())
    assert with_it > before + 200e6
    assert after > before + 200e6


def test_what_the_process_prints(student_file, capsys):
    probe.main(student_file, 1)
    data = json.loads(capsys.readouterr().out)
    assert set(data) == {"load_ms", "peak_rss_bytes", "base_rss_bytes"}
    assert data["peak_rss_bytes"] >= data["base_rss_bytes"] > 0
    assert data["load_ms"] > 0


def test_a_damaged_file_is_named_with_the_reason(student_file, tmp_path):
    path = tmp_path / "half.tflite"
    path.write_bytes(student_file.read_bytes()[:2000])
    with pytest.raises(ModelFileError, match=r"half\.tflite cannot be run: .*cannot be loaded"):
        probe.probe(path)


def test_a_process_that_dies_in_silence(monkeypatch, tmp_path):
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\nexit 3\n")
    silent.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(silent))
    with pytest.raises(ModelFileError, match="cannot be run: it said nothing"):
        probe.probe(Path("any.tflite"))
