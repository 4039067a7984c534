"""Talking to an Android device through ``adb``."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tfdistil.errors import DeviceError

STATES = {
    "unauthorized": "does not trust this computer: unlock it and accept the question on its screen",
    "offline": "does not answer: take the cable out and in again, or `adb reconnect offline`",
    "no permissions": "may not be used by you: this computer needs a udev rule for it",
    "recovery": "is in recovery: start Android on it",
    "bootloader": "is in its boot loader: start Android on it",
    "sideload": "is in sideload: start Android on it",
}
"""What ``adb devices`` says of a device that cannot be used, in words."""

PATIENCE = 120.0
"""Seconds that a command on a device may take; copying and installing may take longer."""


class Adb:
    """One device.

    Args:
        serial: of the device; None: the only one there is.

    Raises:
        DeviceError: no adb, no device, more than one and no serial, or one that is not ready.
    """

    def __init__(self, serial: str | None = None):
        self.serial = _choose(_devices(), serial)

    def run(self, *arguments: str | Path) -> str:
        """An adb command for the device; what it wrote.

        Raises:
            DeviceError: it failed.
        """
        done = self._call(arguments)
        if done.returncode:
            raise DeviceError(f"{self.serial}: adb {arguments[0]}: {_last(done)}")
        return done.stdout.decode(errors="replace")

    def check(self) -> None:
        """Make sure that the device is still there.

        Raises:
            DeviceError: it is not.
        """
        try:
            state = self.run("get-state").strip()
        except DeviceError as error:
            raise DeviceError(f"{self.serial} is gone: {error}") from error
        if state != "device":
            raise DeviceError(f"{self.serial} is gone: it is {state!r}")

    def shell(self, *command: str) -> str:
        """A command on the device; what it wrote.

        Raises:
            DeviceError: it failed there.
        """
        return self.run("shell", *command)

    def succeeds(self, *command: str) -> bool:
        """Whether a command on the device ends with status 0."""
        return self._call(("shell", *command)).returncode == 0

    def _call(self, arguments: Sequence[str | Path]) -> subprocess.CompletedProcess[bytes]:
        patience = None if arguments[0] in ("push", "install") else PATIENCE
        return _adb("-s", self.serial, *map(str, arguments), patience=patience)


def _devices() -> dict[str, str]:
    """Serial to state."""
    done = _adb("devices", patience=PATIENCE)
    if done.returncode:
        raise DeviceError(f"adb devices failed: {_last(done)}")
    lines = done.stdout.decode(errors="replace").splitlines()
    return dict(line.split("\t", 1) for line in lines if "\t" in line)


def _choose(devices: dict[str, str], serial: str | None) -> str:
    if not devices:
        raise DeviceError(
            "no Android device; connect one whose developer options have USB debugging on, "
            "until `adb devices` lists it"
        )
    if serial is None and len(devices) > 1:
        listed = ", ".join(sorted(devices))
        raise DeviceError(f"{len(devices)} Android devices, {listed}; give --serial")
    chosen = next(iter(devices)) if serial is None else serial
    if chosen not in devices:
        raise DeviceError(f"--serial is {chosen!r}; there is {', '.join(devices)}")
    state = devices[chosen]
    if state != "device":
        words = next((w for s, w in STATES.items() if state.startswith(s)), f"is {state!r}")
        raise DeviceError(f"the Android device {chosen} {words}")
    return chosen


def _adb(*arguments: str, patience: float | None) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["adb", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=patience,
        )
    except subprocess.TimeoutExpired as error:
        raise DeviceError(f"adb {' '.join(arguments)[:80]}: no answer in {patience:g} s") from error
    except FileNotFoundError as error:
        raise DeviceError("adb is missing; it is Debian's package adb") from error


def _last(done: subprocess.CompletedProcess[bytes]) -> str:
    """The last line of what a command said."""
    said = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace").splitlines()
    return said[-1] if said else f"status {done.returncode}"
