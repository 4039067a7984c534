"""A Python elsewhere, which here is this one in a process that shares nothing but its packages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tfdistil import Runtime
from tfdistil.benchmarks.answers import Answers, answer
from tfdistil.benchmarks.devices.remote_python import BOOT, RemotePython
from tfdistil.benchmarks.latency import Protocol
from tfdistil.errors import DeviceError

QUICK = dict(vars(Protocol(queries=4, batches=2, rounds=2, warm_up=1)))
JOB = {"protocol": QUICK, "texts": [], "timed_texts": False, "memory": False}


@pytest.fixture
def elsewhere(tmp_path):
    """A Python with a folder of its own for what is temporary."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    return RemotePython([sys.executable, "-c", BOOT], "elsewhere", environment)


def test_it_measures_and_answers_as_here_and_leaves_nothing(
    elsewhere, slots_file, student_file, tmp_path
):
    said: list[str] = []
    texts = ["play jazz", "wake me up at seven"]
    job = JOB | {"texts": texts, "timed_texts": True, "memory": True}
    files = {"slots": slots_file, "bare one": student_file}
    found = elsewhere.work(job, files, said.append)
    slots, bare = found["measured"]["models"]
    assert (slots["name"], slots["bytes"]) == ("slots", slots_file.stat().st_size)
    assert slots["online_ms"]["calls"] == slots["text_ms"]["calls"] == 4
    assert bare["text_ms"] is None
    assert bare["load_ms"] > 0
    assert {*found["answers"]} == {"slots"}
    assert (
        Answers.from_json(found["answers"]["slots"]).labels
        == answer(Runtime(slots_file), texts).labels
    )
    assert any("answers to 2 texts" in line for line in said)
    assert [*tmp_path.iterdir()] == []


def test_it_runs_the_code_that_is_sent(elsewhere, slots_file, tmp_path, monkeypatch):
    """Not what happens to be installed there."""
    decoy = tmp_path / "decoy"
    (decoy / "tfdistil").mkdir(parents=True)
    (decoy / "tfdistil/__init__.py").write_text("raise RuntimeError('the wrong one')")
    elsewhere.environment["PYTHONPATH"] = str(decoy)
    assert elsewhere.work(JOB, {"a": slots_file}, print)["measured"]["models"]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["no-such-program"], "elsewhere: no-such-program: No such file"),
        (["sh", "-c", "echo >&2 hello; echo >&2 no python3 here; exit 127"], "no python3 here"),
        (["sh", "-c", "exec 0<&-; exit 3"], "no result: it ended with status 3"),
        (
            [
                sys.executable,
                "-c",
                f"import sys; sys.version_info = (3, 9); {BOOT!r}; exec({BOOT!r})",
            ],
            "Python 3.10 or later is needed there",
        ),
        (
            [sys.executable, "-c", f"import sys; sys.modules['numpy'] = None; exec({BOOT!r})"],
            r"numpy is missing there; `python3 -m pip install",
        ),
    ],
)
def test_what_goes_wrong_is_said_in_a_line(command, says, slots_file):
    with pytest.raises(DeviceError, match=says):
        RemotePython(command, "elsewhere").work(JOB, {"a": slots_file}, print)


def test_an_error_there_is_one_here(elsewhere, tmp_path):
    path = tmp_path / "x.tflite"
    path.write_bytes(b"nonsense" * 10)
    with pytest.raises(DeviceError, match=r"elsewhere: .*x\.tflite cannot be loaded"):
        elsewhere.work(JOB, {"x": path}, print)
    assert [*tmp_path.iterdir()] == [path]


def test_it_ends_when_nobody_waits_any_more(slots_file, tmp_path):
    """Ctrl-C here: the work there stops and its folder goes away."""
    started = threading.Event()
    script = (
        "import sys; from pathlib import Path; from tfdistil.benchmarks.devices.remote_python "
        "import BOOT, RemotePython; job = eval(sys.argv[1]);"
        "RemotePython([sys.executable, '-c', BOOT], 'x').work(job, {'a': Path(sys.argv[2])},"
        "lambda line: print(line, flush=True))"
    )
    endless = JOB | {"protocol": QUICK | {"queries": 100_000_000}}
    process = subprocess.Popen(
        [sys.executable, "-c", script, repr(endless), str(slots_file)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert "online" in process.stdout.readline()
    assert len([*tmp_path.iterdir()]) == 1
    started.set()
    process.send_signal(signal.SIGINT)  # to this process alone: the other one is not told
    assert process.wait(60) != 0
    deadline = time.monotonic() + 30
    while [*tmp_path.iterdir()] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [*tmp_path.iterdir()] == []


def test_the_models_may_be_links(elsewhere, slots_file, tmp_path):
    link = tmp_path / "link.tflite"
    link.symlink_to(slots_file)
    (model,) = elsewhere.work(JOB, {"a": link}, print)["measured"]["models"]
    assert model["file"] == "link.tflite"
    assert isinstance(Path(model["file"]), Path)
