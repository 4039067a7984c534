"""Students of any size with random weights: they convert, and their size is that of their parts."""

from __future__ import annotations

import pytest

from tfdistil.benchmarks.student_shape import main
from tfdistil.exporting.inspect import inspect_model
from tfdistil.printable import byte_size


@pytest.mark.parametrize("kind", [[], ["--layers", "1"]], ids=["bilstm", "transformer"])
def test_writes_an_int8_graph_of_the_size_asked_for(tmp_path, capsys, kind):
    out = tmp_path / "shape.tflite"
    sizes = ["--vocabulary", "5000", "--embedding", "6", "--hidden-dim", "5", "--length", "8"]
    assert main([str(out), *sizes, *kind]) == 0
    assert f"{out}: {byte_size(out.stat().st_size)}" in capsys.readouterr().out
    inspection = inspect_model(out.read_bytes())
    assert inspection.float_operator_count == 0
    assert inspection.constants["int8"] >= 5000 * 6
    assert ("SOFTMAX" in inspection.operators["online"]) == bool(kind)
