"""On a full disk: an error and not a signal, nothing half written, and what was there stays."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tfdistil.console.failures import describe, exit_status, is_disk_full
from tfdistil.errors import DataError
from tfdistil.files import make_room, new_folder, reserve, write_json

KILOBYTES = 300


@pytest.fixture
def disk(tmp_path):
    """A file system of its own with so many kilobytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={KILOBYTES}k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("needs the program mount")
    if done.returncode:
        pytest.skip(f"needs to be allowed to mount: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


WRITERS = {
    "signals": """
        import numpy as np
        from tfdistil.distill.signals import _new_array
        from tfdistil.files import new_folder
        with new_folder(disk / "a") as folder:
            array = _new_array(folder / "a.npy", np.dtype(np.float32), (200_000,))
            array[:] = 1  # without space for it a signal kills the process here
    """,
    "weights": """
        from tfdistil.distill.weights import save_weights
        from tfdistil.students import build_student
        outputs = {"tags": ("word", 3)}
        sizes = {"vocabulary": 3000, "embedding": 64, "hidden_dim": 8}
        model = build_student("bilstm", **sizes, outputs=outputs)
        save_weights(model, disk / "a.weights.h5")
    """,
    "teacher": """
        from tfdistil.encoders import save_encoder, scratch_encoder
        sizes = dict(vocabulary=3000, hidden_dim=64, layers=1)
        sizes |= dict(attention_heads=2, intermediate_dim=8)
        heads = {"tags": ("word", 2)}
        model = scratch_encoder(**sizes, max_positions=16, outputs=heads, seed=1)
        save_encoder(model, disk / "teacher", labels={"tags": ("O", "B-a")})
    """,
    "bytes": """
        from tfdistil.files import write_bytes
        write_bytes(disk / "a", b"x" * 600_000)
    """,
    "a folder": """
        from tfdistil.files import new_folder
        with new_folder(disk / "a") as folder:
            (folder / "b").write_bytes(b"x" * 600_000)
    """,
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_full_disk_is_one_line_and_leaves_nothing(disk, what):
    write_json(disk / "kept.json", [1])
    code = "\n".join(line[4:] for line in WRITERS[what].splitlines())
    script = f"""
import sys
from pathlib import Path

from tfdistil.console.failures import exit_status

def work():
    disk = Path({str(disk)!r})
{code}

sys.exit(exit_status("tfdistil", "this", work))
"""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("tfdistil: "), done.stderr
    assert last.endswith("the disk is full. What is finished is kept: make room and run this again")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    found = sorted(path.name for path in disk.rglob("*") if path.is_file())
    assert found == ["kept.json"]
    assert json.loads((disk / "kept.json").read_text("utf-8")) == [1]


@pytest.mark.slow
@pytest.mark.long
def test_a_run_stops_on_a_full_disk_and_goes_on_when_there_is_room(disk):
    tiny = Path(__file__).parents[1] / "tiny.yaml"
    command = [
        sys.executable,
        "-m",
        "tfdistil.cli.main",
        "run",
        str(tiny),
        "--out",
        str(disk / "run"),
    ]
    command += [
        "--set",
        "models.teacher.fine_tune.epochs=1",
        "--set",
        "distill.joint.stop.epochs=1",
    ]
    states = []
    for size in (100, 400, 200_000):  # in the teacher, in its signals, and at last
        subprocess.run(["mount", "-o", f"remount,size={size}k", str(disk)], check=True)
        done = subprocess.run(command, capture_output=True, text=True)
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
        manifest = disk / "run" / "manifest.json"
        steps = json.loads(manifest.read_text("utf-8"))["steps"] if manifest.exists() else []
        states.append((done.returncode, len(steps)))
        if done.returncode:
            assert done.stderr.splitlines()[-1].endswith("make room and run this again")
            assert not list(disk.rglob(".*.partial*"))
    assert states[0] == (2, 0)
    assert [steps for _, steps in states] == sorted(steps for _, steps in states)
    assert states[-1] == (0, 7)


def test_space_is_taken_and_what_is_there_stays(tmp_path, monkeypatch):
    path = tmp_path / "a"
    size = (1 << 20) + 1000
    for call in (os.posix_fallocate, None, unsupported):
        with path.open("wb") as file:
            file.write(b"begin")
            file.truncate(size)
        assert path.stat().st_blocks * 512 < size
        if call is None:
            monkeypatch.delattr(os, "posix_fallocate")
        else:
            monkeypatch.setattr(os, "posix_fallocate", call, raising=False)
        reserve(path)
        assert path.stat().st_blocks * 512 >= size
        assert path.read_bytes() == b"begin".ljust(size, b"\0")
        path.unlink()


def unsupported(descriptor, start, size):
    raise OSError(errno.EOPNOTSUPP, "not supported")


def full(descriptor, start, size):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_no_room_is_told_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"No space left on device: .*room") as caught:
        make_room(tmp_path, 1000)
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_not_finished_takes_no_space(tmp_path):
    def fail() -> None:
        with new_folder(tmp_path / "a") as folder:
            (folder / "b").write_text("half")
            raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert list(tmp_path.iterdir()) == []


def chained() -> Exception:
    try:
        try:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "weights.h5")
        finally:
            raise RuntimeError("cannot close")
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.ENOSPC, "x", "a.h5"), "a.h5: the disk is full."),
        (OSError(errno.EDQUOT, "x"), "the disk is full."),
        (RuntimeError("I/O error: No space left on device (os error 28)"), "the disk is full."),
        (chained(), "weights.h5: the disk is full."),
        (MemoryError(), "out of memory; a smaller batch_size"),
        (ModuleNotFoundError("x", name="keras"), "keras is missing; this needs `pip install"),
        (DataError("no", "a.txt", 3), "a.txt:3: no"),
        (PermissionError(errno.EACCES, "Permission denied", "a\x1b"), "a\\x1b: Permission denied"),
        (UnicodeEncodeError("ascii", "é", 0, 1, "x"), "cannot write text as ascii; set PYTHONUTF8"),
    ],
)
def test_what_a_user_can_act_on_is_one_line(error, says, capsys):
    def work() -> int:
        raise error

    assert exit_status("tfdistil", "this", work) == 2
    found = capsys.readouterr().err
    assert found.startswith(f"tfdistil: {says}")
    assert found.count("\n") == 1


def test_a_fault_of_the_program_comes_through():
    assert describe(KeyError("a"), "this") is None
    assert not is_disk_full(ValueError("a"))

    def work() -> int:
        raise KeyError("a")

    with pytest.raises(KeyError):
        exit_status("tfdistil", "this", work)


def test_ctrl_c_and_what_works(monkeypatch):
    def stop() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    assert exit_status("tfdistil", "this", lambda: 0) == 0
    assert exit_status("tfdistil", "this", stop) == 130
