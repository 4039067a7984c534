"""Arm: by ssh, for real, to this machine; and emulated where that has been prepared."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tfdistil.benchmarks import cli
from tfdistil.benchmarks.devices import DEVICES
from tfdistil.benchmarks.devices.arm64 import Arm64
from tfdistil.benchmarks.devices.device import Job
from tfdistil.benchmarks.devices.emulated_arm64 import RUNTIMES, folder
from tfdistil.benchmarks.latency import Protocol
from tfdistil.benchmarks.table import format_table
from tfdistil.data.demo.generator import generate

QUICK = Protocol(queries=4, batches=2, rounds=2, warm_up=1)
TEXTS = [" ".join(e.words) for e in generate("intent_slots", "test", 40, seed=1)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--device", "arm64", "--runtime", "tflite-1"], "--runtime is 'tflite-1'; there is"),
        (["--device", "arm64", "--host", "a", "--runtime", "b"], "--runtime is for emulation"),
        (["--device", "arm64", "--host=-oProxyCommand=x"], "expected USER@MACHINE"),
        (["--host", "pi@attic"], "--host goes with --device arm64"),
        (["--device", "arm64"], "python -m tfdistil.benchmarks.prepare_arm64"),
    ],
)
def test_what_cannot_be_is_one_line(student_file, tmp_path, capsys, monkeypatch, arguments, says):
    monkeypatch.setenv("TFDISTIL_CACHE", str(tmp_path))
    assert cli.main([str(student_file), *arguments]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1


def test_help_names_every_device_and_its_options(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    said = capsys.readouterr().out
    for name, device in DEVICES.items():
        assert f"--device {name}:" in said
        assert all(f"{option.flag} {option.metavar}" in said for option in device.options)


@pytest.fixture
def ssh_host(tmp_path, monkeypatch):
    """A real sshd on this machine, which a real ssh finds without a question."""
    sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    ssh = shutil.which("ssh")
    if sshd is None or ssh is None:
        pytest.skip("needs sshd and ssh (Debian: openssh-server)")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd insists; its package makes it at boot
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True
        )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    there = tmp_path / "there"
    (there / "bin").mkdir(parents=True)
    (there / "tmp").mkdir()
    python = there / "bin/python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (tmp_path / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nPidFile none\n"
        f"AuthorizedKeysFile {tmp_path}/user.pub\nStrictModes no\nPermitRootLogin yes\n"
        f'ForceCommand PATH={there}/bin:$PATH TMPDIR={there}/tmp sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    (tmp_path / "ssh_config").write_text(
        f"Host attic\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n"
        f"  IdentityFile {tmp_path}/user\n  StrictHostKeyChecking accept-new\n"
        f"  UserKnownHostsFile {tmp_path}/known\n  LogLevel ERROR\n"
    )
    (tmp_path / "bin").mkdir()
    wrapper = tmp_path / "bin/ssh"
    wrapper.write_text(f'#!/bin/sh\nexec {ssh} -F {tmp_path}/ssh_config "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=os.pathsep)
    server = subprocess.Popen(
        [sshd, "-D", "-e", "-f", str(tmp_path / "sshd_config")], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 10
    while subprocess.run(["ssh", "attic", "true"], capture_output=True, check=False).returncode:
        if server.poll() is not None or time.monotonic() > deadline:
            server.kill()
            pytest.fail(f"sshd does not answer: {server.stderr.read()}")
        time.sleep(0.1)
    yield there
    server.terminate()
    server.wait()


def test_a_machine_behind_ssh(ssh_host, slots_file, student_file, tmp_path, capsys):
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS))
    arguments = [str(slots_file), str(student_file), "--device", "arm64", "--host", "attic"]
    arguments += ["--texts", str(texts), "--queries", "4", "--batches", "2", "--rounds", "2"]
    assert cli.main(arguments) == 0
    said = capsys.readouterr()
    assert "slots: 100.00 % of" in said.out
    assert "labels as on this machine (0 of 40 texts have another one), logits within 0" in said.out
    assert "p50 ms" in said.out
    assert "text ms" in said.out
    assert "load ms" in said.out
    assert "student against slots" in said.out
    assert [*(ssh_host / "tmp").iterdir()] == []
    if os.uname().machine == "x86_64":
        assert "attic is x86_64, no Arm machine" in said.err


def test_a_machine_that_is_not_there(ssh_host, slots_file, capsys):
    (ssh_host / "bin/python3").unlink()
    (ssh_host / "bin/python3").write_text("#!/bin/sh\necho >&2 no snakes here\nexit 1\n")
    (ssh_host / "bin/python3").chmod(0o755)
    for host, says in (("attic", "attic: no result: no snakes here"), ("cellar.invalid", "cellar")):
        assert cli.main([str(slots_file), "--device", "arm64", "--host", host]) == 2
        said = capsys.readouterr().err
        assert says in said
        assert len(said.splitlines()) == 1


@pytest.fixture(params=RUNTIMES)
def runtime(request):
    """One of the emulated runtimes."""
    if not (folder() / "runtimes" / request.param).is_dir():
        pytest.skip("needs `python -m tfdistil.benchmarks.prepare_arm64`")
    return request.param


@pytest.mark.slow
def test_an_emulated_machine_gives_the_same_labels(runtime, slots_file, student_file):
    device = Arm64(runtime=runtime)
    found = device.measure(Job([slots_file, student_file], QUICK, TEXTS), print)
    slots, bare = found["models"]
    assert slots["agreement"]["texts"] == len(TEXTS)
    # That of 2023 rounds matrix products twice, and labels of a model without training are close.
    same, quanta = (0.95, 4) if runtime.startswith("tflite-runtime") else (0.999, 2)
    assert slots["agreement"]["same"] >= same
    assert slots["agreement"]["most_quanta"] <= quanta
    assert "agreement" not in bare
    assert slots["online_ms"] is slots["batch_ms"] is slots["queries_per_second"] is None
    assert found["ratios"]["student"]["online"]["median"] > 0
    environment = found["environment"]
    assert environment["machine"] == "aarch64"
    package, _, version = runtime.rpartition("-")
    assert environment[package] == version
    assert (environment["instructions"], environment["cores"]) == ("dotprod", os.cpu_count())
    assert "p50" not in format_table(found)
    assert "emulated: ratios are the emulator's, and no time is told" in format_table(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "runtime", [name for name in RUNTIMES if name.startswith("ai-edge-litert")], indirect=True
)
def test_a_recurrence_of_gated_states_is_the_same_too(runtime, pqrnn_file):
    """XNNPACK rounds each step's product, on x86 in one way and on Arm in another."""
    (model,) = Arm64(runtime=runtime).measure(Job([pqrnn_file], QUICK, TEXTS), print)["models"]
    assert model["agreement"]["other_texts"] == 0
    assert model["agreement"]["most_quanta"] <= 1
