"""Ctrl-C that cannot get lost."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupt:
    """Remembers Ctrl-C, for the time of a ``with`` block.

    Python raises KeyboardInterrupt wherever the main thread happens to be. In a destructor, or in a
    function that another library calls, it is printed and forgotten, and a run would go on as if
    nobody had asked it to stop. `heed`, called now and then, raises it again.

    Outside of the main thread, or where SIGINT is ignored, nothing changes.
    """

    def __init__(self) -> None:
        self.came = False
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        self.came = False
        here = threading.current_thread() is threading.main_thread()
        if here and callable(signal.getsignal(signal.SIGINT)):
            self._before = signal.signal(signal.SIGINT, self._remember)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None
        self.came = False

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        self._before(number, frame)

    def heed(self) -> None:
        """Raises KeyboardInterrupt where it came and is not on its way."""
        if self.came:
            raise KeyboardInterrupt
