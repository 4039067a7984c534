"""A device that runs a model loads nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median

import pytest

FIRST_LABEL = """
import json, sys, time
begin = time.process_time()
import tfdistil
loaded = "tfdistil.runtime" in sys.modules
tfdistil.Runtime(sys.argv[1]).predict(["play jazz in the kitchen"])
print(json.dumps({
    "seconds": time.process_time() - begin, "eager": loaded, "modules": sorted(sys.modules)
}))
"""


def first_label(path) -> dict:
    process = subprocess.run(
        [sys.executable, "-c", FIRST_LABEL, str(path)], capture_output=True, text=True, check=True
    )
    return json.loads(process.stdout)


def test_no_training_library_is_loaded(tags_int8):
    found = first_label(tags_int8.path)
    assert not found["eager"]
    heavy = {"tensorflow", "keras", "transformers", "pydantic", "rich", "jinja2", "matplotlib"}
    assert not heavy & {*found["modules"]}
    assert "tfdistil.metrics" not in found["modules"]
    assert "ai_edge_litert.schema_py_generated" not in found["modules"]


@pytest.mark.slow
def test_first_label_comes_within_half_a_second(tags_int8):
    # Seconds of the processor, so that a busy machine does not fail it.
    assert median(first_label(tags_int8.path)["seconds"] for _ in range(5)) < 0.5


def test_names_of_the_package():
    import tfdistil

    assert tfdistil.__version__[0].isdigit()
    assert {"Runtime", "__version__"} <= {*dir(tfdistil)}
    with pytest.raises(AttributeError, match="no attribute 'Model'"):
        _ = tfdistil.Model


def test_the_command_writes_the_answer_and_nothing_else(tags_int8):
    """LiteRT notes which kernels it has, on the terminal itself."""
    command = "from tfdistil.cli.main import main; raise SystemExit(main())"
    process = subprocess.run(
        [sys.executable, "-c", command, "predict", str(tags_int8.path), "play jazz"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.count("\n") == 1
    assert process.stderr == ""
