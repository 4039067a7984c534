"""Changes on a phone that are taken back, also after an error or Ctrl-C."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from tfdistil.benchmarks.devices.adb import Adb
from tfdistil.benchmarks.devices.device import Screen
from tfdistil.errors import DeviceError


@contextmanager
def taken_back(adb: Adb, screen: Screen) -> Iterator[Callable[..., None]]:
    """Gives a function that notes an adb command; the block's end runs them, the last one first.

    A command is noted before what it takes back, so some have nothing to do, and fail. If the phone
    is gone, the user is told which commands are left to be run.
    """
    commands: list[tuple[str, ...]] = []
    try:
        yield lambda *command: commands.append(command)
    finally:
        with whole():
            _run(adb, commands[::-1], screen)


def _run(adb: Adb, commands: Sequence[Sequence[str]], screen: Screen) -> None:
    for done, command in enumerate(commands):
        try:
            adb.check()
        except DeviceError:
            screen("  when the phone is there again, put it back with")
            for left in commands[done:]:
                screen(f"    {shlex.join(['adb', '-s', adb.serial, *left])}")
            return
        with suppress(DeviceError):
            adb.run(*command)


@contextmanager
def whole() -> Iterator[None]:
    """Ctrl-C, here and in programs that are started, counts when the block is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    # A handler, as the signal may be given to a thread of NumPy's; a mask, as programs inherit it.
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
