"""The five systems as recipes: run, killed once in the middle, run to the end, delivered.

Nothing is wired by hand.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.others_long import others_long
from tfdistil.encoders import load_encoder
from tfdistil.runs.run_metrics import Metrics

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
COMMAND = "import sys; from tfdistil.cli.main import main; sys.exit(main(sys.argv[1:]))"
FIRST = {"multi_grained", "eliquare", "pqrnn"}
"""The others are run whole by the tests of `d4_2` and `camembert` under tests/pipeline."""

SYSTEMS = {
    # The recipe to a file after which the run is killed, and what it delivers.
    "xtremedistil": ("phases/student/representation.json", ["student.tflite"]),
    "multi_grained": ("phases/teacher/fine_tune.json", ["student.tflite"]),
    "cascade": ("phases/three/to_three.json", ["two.tflite", "checkpoints/two/config.json"]),
    "eliquare": (
        "phases/half/language.json",
        ["checkpoints/tagger/model.safetensors", "checkpoints/spanish/tokenizer.json"],
    ),
    "pqrnn": ("phases/float/float.json", ["student.tflite"]),
}


def start(name: str, out: Path, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", COMMAND, "run", str(HERE / "recipes" / f"{name}.yaml")]
    short = ["--set", "name=seam", "--set", "baseline=false", *SHORT.get(name, [])]
    with log.open("ab") as file:
        return subprocess.Popen(
            [*command, "--out", str(out), *short],
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=HERE.parents[1],
        )


def updates(number: int, *stages: str) -> list[str]:
    """Overrides that make stages short."""
    return [
        part
        for stage in stages
        for key, value in (("updates", number), ("epochs", "null"), ("every", number // 2))
        for part in ("--set", f"distill.{stage}.stop.{key}={value}")
    ]


SHORT = {
    "xtremedistil": [
        *("--set", "distill.representation.terms.0.layer=2"),
        *updates(8, "representation", "logits", "labels"),
    ],
    "multi_grained": updates(40, "multi_grained"),
    "pqrnn": updates(20, "float", "quantized", "frozen_statistics"),
}


@pytest.mark.parametrize("name", others_long(SYSTEMS, FIRST))
def test_a_system_is_a_recipe(name, tmp_path):
    middle, delivered = SYSTEMS[name]
    out, log = tmp_path / "run", tmp_path / "log"
    process = start(name, out, log)
    try:
        deadline = time.monotonic() + 300
        while not (out / middle).exists():
            assert process.poll() is None, log.read_text("utf-8")[-3000:]
            assert time.monotonic() < deadline, log.read_text("utf-8")[-3000:]
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (out / "metrics.json").exists()
    before = (out / middle).stat().st_mtime_ns
    assert start(name, out, log).wait(timeout=600) == 0, log.read_text("utf-8")[-3000:]
    assert (out / middle).stat().st_mtime_ns == before  # what was done was not done again
    for file in delivered:
        assert (out / file).stat().st_size > 0, file
    metrics = Metrics.load(out)
    assert metrics.delivered.scores["dev"]
    assert (out / "report.html").exists()
    for folder in (out / "checkpoints").glob("*"):
        assert load_encoder(folder).config.layers == 2
