"""Ctrl-C that cannot get lost."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """Remembers Ctrl-C, for the time of a ``with`` block.

    Python raises KeyboardInterrupt wherever the main thread happens to be. In a destructor it is
    printed and forgotten; a library that was called may forget it too, or turn it into an error of
    its own. A run would go on as if nobody had asked it to stop, or end with that error.
    `raise_if_interrupted`, called now and then, raises it again, and so does the end of the block.

    Once it came, what destructors complain of is not printed: objects that were half made then
    cannot be taken apart properly.

    Outside of the main thread, or where SIGINT is ignored, nothing changes.
    """

    def __init__(self) -> None:
        self.came = False
        self._before: Any = None
        self._hook: Any = None

    def __enter__(self) -> Interrupt:
        self.came = False
        here = threading.current_thread() is threading.main_thread()
        if here and callable(signal.getsignal(signal.SIGINT)):
            self._before = signal.signal(signal.SIGINT, self._remember)
            self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._before is None:
            return
        signal.signal(signal.SIGINT, self._before)
        sys.unraisablehook = self._hook
        self._before = self._hook = None
        came, self.came = self.came, False
        if came and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        self._before(number, frame)

    def _unraisable(self, unraisable: Any) -> None:
        if not self.came:
            self._hook(unraisable)

    def raise_if_interrupted(self) -> None:
        """Raises KeyboardInterrupt where it came and is not on its way."""
        if self.came:
            raise KeyboardInterrupt
