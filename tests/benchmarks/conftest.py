"""Tiny model files, converted for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfdistil.benchmarks.shapes import TransformerSize, build

TINY = TransformerSize(
    layers=2, hidden_dim=16, heads=2, intermediate_dim=32, vocabulary=60, positions=20, labels=3
)
LENGTH, BATCH = 8, 4  # of both files


@pytest.fixture(scope="session")
def tiny() -> TransformerSize:
    return TINY


@pytest.fixture(scope="session")
def shape_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("shape") / "tiny.tflite"
    path.write_bytes(build(TINY, LENGTH, BATCH))
    return path


@pytest.fixture(scope="session")
def student_file(tmp_path_factory) -> Path:
    from tfdistil.exporting.convert import Entry, convert
    from tfdistil.students import build_student

    student = build_student(
        "bilstm", vocabulary=60, embedding=4, hidden_dim=6, outputs={"tags": ("word", 3)}, seed=0
    )
    entries = {
        name: Entry(*student.export_function(LENGTH, rows))
        for name, rows in (("online", 1), ("batch", BATCH))
    }
    path = tmp_path_factory.mktemp("student") / "student.tflite"
    path.write_bytes(convert(student, entries, "dynamic"))
    return path
