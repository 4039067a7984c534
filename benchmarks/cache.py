"""Where benchmarks keep what takes long to make."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder ``TFDISTIL_CACHE``, or the user's cache folder."""
    given = os.environ.get("TFDISTIL_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tfdistil"
