"""A 64-bit Arm processor: another machine, or one that is emulated here."""

from __future__ import annotations

import shlex
from typing import Any

from tfdistil.benchmarks.devices.device import Device, Job, Option, Screen
from tfdistil.benchmarks.devices.emulated_arm64 import CPU, RUNTIMES, emulated
from tfdistil.benchmarks.devices.remote_python import BOOT, RemotePython
from tfdistil.errors import RecipeError

MACHINES = ("aarch64", "arm64")
TIMES = ("online_ms", "batch_ms", "queries_per_second")
"""Of a model; under emulation they say nothing, and only their ratios are kept."""


class Arm64(Device):
    """Model files in a runtime for Arm, with the answers compared with those of this machine.

    Args:
        host: a machine that ssh reaches; None: emulation.
        runtime: of the emulation, a key of `RUNTIMES`; None: the newest.

    Raises:
        RecipeError: a runtime that there is not, or one for a real machine, which has its own.
    """

    about = (
        "a 64-bit Arm machine that ssh reaches, or emulation, which "
        "`python -m tfdistil.benchmarks.prepare_arm64` prepares"
    )
    options = (
        Option("--host", "USER@MACHINE", "run there; its python3 needs numpy and a runtime"),
        Option("--runtime", "NAME", f"of the emulation: {', '.join(RUNTIMES)} (default: the last)"),
    )

    def __init__(self, host: str | None = None, runtime: str | None = None):
        if host is not None and runtime is not None:
            raise RecipeError("--runtime is for emulation; a --host has its own")
        if host is not None and host.startswith("-"):
            raise RecipeError(f"--host is {host!r}; expected USER@MACHINE")
        if runtime is not None and runtime not in RUNTIMES:
            raise RecipeError(f"--runtime is {runtime!r}; there is {', '.join(RUNTIMES)}")
        self.host, self.runtime = host, runtime or [*RUNTIMES][-1]

    def measure(self, job: Job, screen: Screen) -> dict[str, Any]:
        """See `Device.measure`; a model that answers texts has ``agreement`` with this machine."""
        from tfdistil.benchmarks.answers import Answers, agreement, answer, scales
        from tfdistil.runtime import Runtime

        real = self.host is not None
        python = behind_ssh(self.host) if self.host else emulated(self.runtime)
        files = job.files(screen)
        asked = {
            "protocol": dict(vars(job.protocol)),
            "texts": list(job.texts),
            "timed_texts": real,
            "memory": real,
        }
        found = python.work(asked, files, screen)
        measured = found["measured"]
        machine = measured["environment"]["machine"]
        if machine not in MACHINES:
            screen(f"  {python.place} is {machine}, no Arm machine; its figures are of that")
        for model in measured["models"]:
            name = model["name"]
            if name in found["answers"]:
                here = answer(Runtime(files[name], job.protocol.threads), job.texts)
                there = Answers.from_json(found["answers"][name])
                model["agreement"] = agreement(here, there, scales(files[name]))
            if not real:
                model |= dict.fromkeys(TIMES)
        if not real:
            measured["environment"] |= {"cpu": CPU, "emulated": True}
        return measured


def behind_ssh(host: str) -> RemotePython:
    """The ``python3`` of a machine that ssh reaches without a question."""
    code = shlex.join(["python3", "-c", BOOT])
    return RemotePython(["ssh", "-o", "BatchMode=yes", "--", host, code], host)
