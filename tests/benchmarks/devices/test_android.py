"""The conversation with a phone: the real adb, and a phone that is played."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.benchmarks.devices.fake_phone import APP, FakePhone
from tfdistil.benchmarks import cli
from tfdistil.benchmarks.devices import adb as adb_module
from tfdistil.benchmarks.devices import android

QUICK = ["--queries", "4", "--batches", "2", "--rounds", "2"]

needs_adb = pytest.mark.skipif(shutil.which("adb") is None, reason="needs adb (Debian: adb)")


@pytest.fixture
def adb(tmp_path, monkeypatch):
    """An adb server of our own, with keys of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(free.getsockname()[1]))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(android, "POLL_SECONDS", 0.05)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> str:
        done = subprocess.run(
            ["adb", *arguments], capture_output=True, text=True, check=False, timeout=60
        )
        return done.stdout + done.stderr

    call("start-server")
    yield call
    call("kill-server")


@pytest.fixture
def phones(adb, tmp_path):
    """Makes phones, which adb knows."""
    made = []

    def make(state: str = "device", **options) -> FakePhone:
        folder = tmp_path / f"phone{len(made)}"
        folder.mkdir()
        phone = FakePhone(folder, **options)
        made.append(phone)
        adb("connect", phone.address)
        deadline = time.monotonic() + 30
        while f"{phone.address}\t{state}" not in (said := adb("devices")):
            assert time.monotonic() < deadline, said
            time.sleep(0.1)
        return phone

    yield make
    for phone in made:
        phone.close()


@pytest.fixture
def apk(tmp_path) -> Path:
    path = tmp_path / "demo.apk"
    path.write_bytes(b"PK" + bytes(300_000))
    return path


def said_in_a_line(capsys, *arguments) -> str:
    assert cli.main([*map(str, arguments)]) == 2
    said = [s for s in capsys.readouterr().err.splitlines() if not s.startswith(("  ", "INFO"))]
    assert len(said) == 1
    return said[0]


def test_without_adb(student_file, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = said_in_a_line(capsys, student_file, "--device", "android")
    assert "adb is missing; it is Debian's package adb" in said


@needs_adb
def test_without_a_phone(adb, student_file, capsys):
    said = said_in_a_line(capsys, student_file, "--device", "android")
    assert said.startswith("tfdistil-benchmark: no Android device; connect one")


@needs_adb
def test_a_phone_without_the_app(phones, apk, student_file, shape_file, tmp_path, capsys):
    phone = phones()
    out = tmp_path / "out.json"
    arguments = [student_file, shape_file, "--device", "android", "--apk", apk, "--json", out]
    assert cli.main([*map(str, arguments), *QUICK]) == 0
    table = capsys.readouterr().out
    assert "tiny against student" in table
    assert "on Fake 1, tensorflow-lite 2.17.0" in table
    data = json.loads(out.read_text())
    assert [m["name"] for m in data["models"]] == ["student", "tiny"]
    assert data["models"][0]["bytes"] == student_file.stat().st_size  # it arrived whole
    assert data["models"][0]["online_ms"]["calls"] == 4
    assert data["protocol"] | {"queries": 4, "batches": 2, "rounds": 2} == data["protocol"]
    assert set(data["ratios"]) == {"tiny"}
    # The phone is as it was.
    assert phone.files == {}
    assert not phone.installed
    assert not phone.running
    kinds = {service.partition(":")[0].partition(",")[0] for service in phone.services}
    assert kinds == {"shell", "exec", "sync"}


@needs_adb
def test_a_phone_with_the_app_keeps_it_and_its_files(phones, student_file, capsys):
    phone = phones(installed=True)
    own = f"/data/data/{APP}/files/benchmark/mine.json"
    phone.files[own] = b"{}"
    assert cli.main([str(student_file), "--device", "android", *QUICK]) == 0
    assert phone.installed
    assert {*phone.files} == {own}


@needs_adb
def test_models_of_any_name_and_the_files_of_others(phones, student_file, shape_file, tmp_path):
    phone = phones(installed=True)
    others = {"/data/local/tmp/tfdistil/mine.tflite": b"1", "/data/local/tmp/student.tflite": b"2"}
    phone.files |= others
    names = ["-rf", """it's "my"; $(reboot) model – ü"""]
    for name, file in zip(names, [student_file, shape_file], strict=True):
        shutil.copy(file, tmp_path / f"{name}.tflite")
    out = tmp_path / "out.json"
    models = [f"./{name}.tflite" for name in names]
    assert cli.main([*models, "--device", "android", "--json", str(out), *QUICK]) == 0
    assert [m["name"] for m in json.loads(out.read_text())["models"]] == names
    assert phone.files == others


@needs_adb
@pytest.mark.parametrize(
    ("result", "says"),
    [
        ("[1]", "gave no JSON object: '[1]'"),
        ('{"error": "no signature of one row"}', "no signature of one row"),
        ("{", "gave no JSON: '{'"),
        ('{"models": [], "ratios": {}}', "is of another version: its result has no 'protocol'"),
        (None, "ended without a result; see `adb logcat`"),
    ],
)
def test_an_app_that_fails_and_a_phone_that_is_put_back(
    phones, student_file, apk, capsys, result, says
):
    phone = phones()
    phone.play = lambda extras: result
    said = said_in_a_line(capsys, student_file, "--device", "android", "--apk", apk)
    assert says in said
    assert (phone.files, phone.installed, phone.running) == ({}, False, False)


@needs_adb
def test_what_a_phone_may_lack(phones, student_file, apk, tmp_path, capsys):
    phone = phones()
    command = [student_file, "--device", "android"]
    assert "build it with `make android`" in said_in_a_line(capsys, *command)
    apk.write_bytes(b"no package")
    assert "NOT_APK" in said_in_a_line(capsys, *command, "--apk", apk)
    phone.installed, phone.debuggable = True, False
    assert "no debug build" in said_in_a_line(capsys, *command)
    texts = tmp_path / "texts.txt"
    texts.write_text("a")
    assert "--texts does not go with" in said_in_a_line(capsys, *command, "--texts", texts)
    assert phone.files == {}


@needs_adb
def test_phones_that_are_not_ready_or_too_many(phones, adb, student_file, capsys):
    command = [student_file, "--device", "android"]
    locked = phones("unauthorized", trusts=False)
    assert "does not trust this computer" in said_in_a_line(capsys, *command)
    ready = phones(installed=True)
    said = said_in_a_line(capsys, *command)
    listed = ", ".join(sorted([locked.address, ready.address]))
    assert f"2 Android devices, {listed}; give --serial" in said
    assert "--serial is 'x'; there is" in said_in_a_line(capsys, *command, "--serial", "x")
    assert cli.main([*map(str, command), "--serial", ready.address, *QUICK]) == 0


@needs_adb
def test_ctrl_c_puts_the_phone_back(phones, student_file, apk):
    phone = phones()
    phone.play = lambda extras: time.sleep(600)
    command = [sys.executable, "-m", "tfdistil.benchmarks.cli", str(student_file)]
    process = subprocess.Popen(
        [*command, "--device", "android", "--apk", str(apk)],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not phone.running:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: adb is told, too
    assert process.wait(60) == 130
    assert (phone.files, phone.installed, phone.running) == ({}, False, False)


@needs_adb
def test_a_phone_that_is_unplugged(phones, student_file, apk, capsys):
    phone = phones()

    def unplugged(extras: dict[str, str]) -> None:
        time.sleep(1)
        phone.close()

    phone.play = unplugged
    assert cli.main([str(student_file), "--device", "android", "--apk", str(apk)]) == 2
    said = capsys.readouterr().err
    assert f"tfdistil-benchmark: {phone.address} is gone: " in said
    commands = said.partition("put it back with\n")[2].splitlines()[:-1]
    for command in commands:  # what the user is told works
        assert command.startswith(f"    adb -s {phone.address} ")
        phone.shell(command.partition(" shell ")[2] or "cmd package uninstall")
    assert (phone.files, phone.installed, phone.running) == ({}, False, False)


@needs_adb
def test_a_phone_that_hangs(phones, student_file, monkeypatch, capsys):
    phone = phones(installed=True)
    monkeypatch.setattr(adb_module, "PATIENCE", 2.0)
    phone.heard = lambda: time.sleep(30)
    assert "no answer in 2 s" in said_in_a_line(capsys, student_file, "--device", "android")


@needs_adb
def test_ctrl_c_at_every_point_puts_the_phone_back(phones, student_file, apk, capsys):
    phone = phones()
    command = [str(student_file), "--device", "android", "--apk", str(apk), *QUICK]
    assert cli.main(command) == 0
    for point in range(len(phone.services)):
        phone.services.clear()
        # To the process, not to a thread: another one than the main thread may be given it.
        phone.heard = lambda at=point: (
            os.kill(os.getpid(), signal.SIGINT) if len(phone.services) == at + 1 else None
        )
        assert cli.main(command) == 130, point
        left = (phone.files, phone.installed, phone.running)
        assert left == ({}, False, False), f"after Ctrl-C at {point}: {phone.services}"
