"""Targets with known ends, to test the campaign itself."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.fuzz.campaign import CANARY
from tfdistil.errors import DataError


def known(path: Path) -> str:
    """Do what the file says."""
    what = path.read_text()
    if what == "refuse":
        raise DataError("no", path)
    if what == "escape":
        raise KeyError(what)
    if what == "shout":
        raise DataError("\x1b[31mred", path)
    if what == "crash":
        os._exit(139)
    if what == "hang":
        time.sleep(1000)
    if what == "execute":
        Path(os.environ[CANARY]).touch()
    if what == "ask":
        return input()
    return what
