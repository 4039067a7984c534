"""A Python for Arm with the runtimes that phones carry, under user-mode emulation.

`tfdistil.benchmarks.prepare_arm64` makes it.
"""

from __future__ import annotations

import os
from pathlib import Path

from tfdistil.benchmarks.cache import cache_folder
from tfdistil.benchmarks.devices.remote_python import BOOT, RemotePython
from tfdistil.errors import DeviceError

CPU = "cortex-a76"
"""What is emulated: the processor of many phones, with dot products. The emulator's default has
SME, too, with which ai-edge-litert 2.1 computes wrong matrix products there."""

PYTHON = "python3.11"
"""The one of Debian 12, the last that there is a tflite-runtime for."""

EMULATOR = "qemu-aarch64-static"

RUNTIMES = {
    "tflite-runtime-2.14.0": "ce9fa5d770a9725c746dcbf6f59f3178233b3759f09982e8b2db8d2234c333b0",
    "ai-edge-litert-1.4.0": "131d1c12dedc0c45aa683106d71ea895117c2332b0efb52712965f8b5e63781d",
    "ai-edge-litert-2.3.0": "853fc608f96da87bd5f3458465dfb9abbf18d5ae6b94eceacead407146f175ae",
}
"""What devices carry, oldest first, to the SHA-256 of the wheel."""

FEATURES = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp asimdrdm lrcpc asimddp"
CPUINFO = "".join(
    f"processor\t: {n}\nFeatures\t: {FEATURES}\nCPU implementer\t: 0x41\n"
    "CPU architecture: 8\nCPU variant\t: 0x4\nCPU part\t: 0xd0b\nCPU revision\t: 1\n\n"
    for n in range(2)
)
"""``/proc/cpuinfo`` of such a processor. The emulator shows programs that of this machine, of which
ai-edge-litert 2.3 dies."""


def folder() -> Path:
    """Where the emulation is kept."""
    return cache_folder() / "arm64"


def emulated(runtime: str) -> RemotePython:
    """An emulated Python with a runtime, a key of `RUNTIMES`.

    Raises:
        DeviceError: it has not been prepared.
    """
    top = folder()
    root = top / "root"
    if not (top / "runtimes" / runtime).is_dir():
        raise DeviceError(
            f"there is no emulated Arm machine in {top}; make it, which loads 100 MB, with "
            "`python -m tfdistil.benchmarks.prepare_arm64`, or give a real one with --host"
        )
    command = [
        *(str(top / EMULATOR), "-cpu", CPU, "-L", str(root)),
        *(str(root / "usr/bin" / PYTHON), "-c", BOOT),
    ]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    packages = {"PYTHONPATH": str(top / "runtimes" / runtime)}
    return RemotePython(command, f"the emulated {runtime}", inherited | packages)
