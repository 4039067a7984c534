"""What native code writes to the terminal by itself, kept off it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def without_notes() -> Iterator[None]:
    """Nothing reaches file descriptor 2 within: libraries note there what they were built with.

    For commands only, since all threads of the process share the descriptor. Errors are exceptions
    and pass.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
