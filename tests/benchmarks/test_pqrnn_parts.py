"""The parts of a pQRNN: each file has what its name says, and only that."""

from __future__ import annotations

from tfdistil.benchmarks.pqrnn_parts import pqrnn_parts
from tfdistil.exporting.inspect import inspect_model

SIZES = {"features": 64, "bottleneck": 16, "layers": 2, "state": 8}


def test_files_lack_what_they_are_named_for():
    files = pqrnn_parts(slots=5, intents=3, length=8, batch=2, **SIZES)
    seen = {name: inspect_model(file) for name, file in files.items()}
    count = {name: dict(found.operators["online"]) for name, found in seen.items()}
    assert all(found.float_operator_count == 0 for found in seen.values())
    assert count["full"]["MUL"] > count["no-mask"]["MUL"]
    assert count["full"]["GATHER"] > count["no-mask"]["GATHER"]
    assert count["full"]["ADD"] == count["no-condition"]["ADD"] + 1
    assert "ARG_MAX" not in count["no-condition"]
    assert {"CAST", "GATHER", "RESHAPE"} == set(count["expansion"])
