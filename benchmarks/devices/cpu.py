"""This machine's processor."""

from __future__ import annotations

from typing import Any

from tfdistil.benchmarks.devices.device import Device, Job, Screen


class Cpu(Device):
    """Model files in the stock runtime, here."""

    about = "this machine, the default"

    def measure(self, job: Job, screen: Screen) -> dict[str, Any]:
        """See `Device.measure`."""
        from tfdistil.benchmarks.latency import measure

        files = job.files(screen)
        return measure(files, job.protocol, job.texts, screen).to_json()
