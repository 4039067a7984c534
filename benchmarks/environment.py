"""Where something was timed: processor, its instructions, versions."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

INSTRUCTIONS = {
    "avx2": "avx2",
    "avx_vnni": "avx_vnni",
    "avx512_vnni": "avx512_vnni",
    "amx_int8": "amx_int8",
    "asimddp": "dotprod",
    "i8mm": "i8mm",
    "sme": "sme",
}
"""What Linux calls the instructions that the speed of int8 depends on, to their usual names."""


def environment() -> dict[str, Any]:
    """The processor, and the versions of Python and the runtime."""
    import numpy as np

    from tfdistil.runtime.interpreter import RUNTIME
    from tfdistil.versions import versions_of

    return {**processor(), "numpy": np.__version__, **versions_of(RUNTIME)}


def processor() -> dict[str, Any]:
    """The processor, what of its instructions matters, system and Python."""
    cpuinfo = Path("/proc/cpuinfo")
    facts: dict[str, str] = {}
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            name, _, value = line.partition(":")
            facts.setdefault(name.strip(), value.strip())
    has = {*facts.get("flags", facts.get("Features", "")).split()}
    return {
        "cpu": facts.get("model name") or platform.processor() or platform.machine(),
        "machine": platform.machine(),
        "instructions": " ".join(name for flag, name in INSTRUCTIONS.items() if flag in has),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }
