"""An Android device, with the benchmark mode of the demo app."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tfdistil.benchmarks.devices.adb import Adb
from tfdistil.benchmarks.devices.device import Device, Job, Option, Screen
from tfdistil.benchmarks.devices.undo import taken_back, whole
from tfdistil.errors import DeviceError, RecipeError

APP = "org.tfdistil.demo"
ACTIVITY = f"{APP}/.BenchmarkActivity"
APK = Path("android_demo/app/target/apk/tfdistil-demo.apk")
"""Where ``make android`` leaves the app."""

PUSHED = "/data/local/tmp"
INSIDE = "files/benchmark"
"""The folder of the app, below its own, that it reads models from and writes results to."""

POLL_SECONDS = 1.0
NEEDED = ("name", "bytes", "online_ms", "batch_ms")


class Android(Device):
    """Model files in the demo app, which is installed if it is missing.

    What was changed on the device is put back, also after an error or Ctrl-C: files are removed,
    the app is stopped, and uninstalled if it was not there before.

    Args:
        serial: of the device; None: the only one there is.
        apk: of the app; None: `APK`, where it is needed.
    """

    about = "a phone on which adb can install the demo app"
    options = (
        Option("--serial", "SERIAL", "which phone, as `adb devices` calls it (default: the one)"),
        Option("--apk", "FILE", f"the app, where it is not installed (default: {APK})", Path),
    )

    def __init__(self, serial: str | None = None, apk: Path | None = None):
        self.serial, self.apk = serial, apk

    def measure(self, job: Job, screen: Screen) -> dict[str, Any]:
        """See `Device.measure`. Texts are the app's own.

        Raises:
            DeviceError: no device that is ready, no app, or the app fails.
            RecipeError: texts are given.
        """
        if job.texts:
            raise RecipeError("--texts does not go with --device android; the app has its own")
        adb = Adb(self.serial)
        files = job.files(screen)
        token = f"tfdistil-{secrets.token_hex(4)}"
        places = {f"{token}-{n}.tflite": name for n, name in enumerate(files)}
        with taken_back(adb, screen) as afterwards:
            with whole():
                self._install(adb, afterwards, screen)
            afterwards("shell", "rm", "-f", *(f"{PUSHED}/{place}" for place in places))
            results = (f"{token}.json", f"{token}.json.part")
            inside = [f"{INSIDE}/{name}" for name in (*places, *results)]
            afterwards("shell", "run-as", APP, "rm", "-f", *inside)
            afterwards("shell", "am", "force-stop", APP)
            adb.shell("run-as", APP, "mkdir", "-p", INSIDE)
            for place, name in places.items():
                screen(f"  {name} to {adb.serial}")
                # By a whole path: one that begins with a dash would be an option of adb.
                adb.run("push", files[name].resolve(), f"{PUSHED}/{place}")
                with whole():
                    adb.shell("run-as", APP, "cp", f"{PUSHED}/{place}", f"{INSIDE}/{place}")
            screen(f"  timing on {adb.serial}; leave it alone")
            with whole():
                said = adb.shell("am", "start", "-W", "-n", ACTIVITY, *_extras(job, token, places))
            if "Error" in said:
                raise DeviceError(f"{adb.serial}: {said.strip().splitlines()[-1]}")
            return _read(_result(adb, token), places)

    def _install(self, adb: Adb, afterwards: Callable[..., None], screen: Screen) -> None:
        if adb.succeeds("pm", "path", APP):
            if not adb.succeeds("run-as", APP, "true"):
                raise DeviceError(
                    f"{adb.serial}: {APP} is there, but no debug build; uninstall it first"
                )
            return
        apk = self.apk or APK
        if not apk.is_file():
            raise DeviceError(
                f"{adb.serial} has no {APP}, and there is no {apk}; build it with `make android`, "
                "or name it with --apk"
            )
        screen(f"  {apk.name} to {adb.serial}")
        afterwards("uninstall", APP)
        adb.run("install", "-t", apk.resolve())


def _extras(job: Job, token: str, places: Mapping[str, str]) -> list[str]:
    protocol = job.protocol
    counts = {
        "threads": protocol.threads,
        "warmup": protocol.warm_up,
        "queries": protocol.queries,
        "batches": protocol.batches,
        "rounds": protocol.rounds,
    }
    numbers = [part for name, n in counts.items() for part in ("--ei", name, str(n))]
    return ["--es", "models", ",".join(places), "--es", "id", token, *numbers]


def _result(adb: Adb, token: str) -> dict[str, Any]:
    """Wait for the app to write its file, as long as it lives."""
    file = f"{INSIDE}/{token}.json"
    while True:
        alive = adb.succeeds("pidof", APP)  # asked first: it may write the file and end
        if adb.succeeds("run-as", APP, "test", "-f", file):
            break
        if not alive:
            adb.check()
            raise DeviceError(f"{adb.serial}: {APP} ended without a result; see `adb logcat`")
        time.sleep(POLL_SECONDS)
    text = adb.run("exec-out", "run-as", APP, "cat", file)
    try:
        found = json.loads(text)
    except ValueError as error:
        raise DeviceError(f"{adb.serial}: {APP} gave no JSON: {text[:80]!r}") from error
    if not isinstance(found, dict):
        raise DeviceError(f"{adb.serial}: {APP} gave no JSON object: {text[:80]!r}")
    if "error" in found:
        raise DeviceError(f"{adb.serial}: {found['error']}")
    return found


def _read(found: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
    """The app's result, with the models' own names again.

    Raises:
        DeviceError: it is not of the form that is expected: an app of another version.
    """
    names = {place.removesuffix(".tflite"): name for place, name in places.items()}
    try:
        models = [
            {**model, "name": names[model["name"]], "file": f"{names[model['name']]}.tflite"}
            for model in found["models"]
        ]
        missing = {key for key in NEEDED for model in models if key not in model}
        ratios = {names[name]: ratio for name, ratio in found["ratios"].items()}
        protocol, environment = dict(found["protocol"]), dict(found["environment"])
    except (KeyError, TypeError, AttributeError) as error:
        raise DeviceError(f"{APP} is of another version: its result has no {error}") from error
    if missing:
        raise DeviceError(f"{APP} is of another version: its models have no {sorted(missing)}")
    return {
        "models": models,
        "ratios": ratios,
        "protocol": protocol,
        "environment": environment,
    }
