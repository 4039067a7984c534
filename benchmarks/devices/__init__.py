"""What models are timed on: ``--device``."""

from __future__ import annotations

from tfdistil.benchmarks.devices.android import Android
from tfdistil.benchmarks.devices.arm64 import Arm64
from tfdistil.benchmarks.devices.cpu import Cpu
from tfdistil.benchmarks.devices.device import Device, Job, Option
from tfdistil.benchmarks.devices.gpu import Gpu

DEVICES: dict[str, type[Device]] = {
    "cpu": Cpu,
    "arm64": Arm64,
    "android": Android,
    "gpu": Gpu,
}
"""The devices by their names. One is a class with options of its own and a method `measure`."""

__all__ = ["DEVICES", "Device", "Job", "Option"]
