"""Ctrl-C, swallowed by others or not."""

from __future__ import annotations

import io
import os
import signal
import threading

import pytest
from rich.console import Console

from tfdistil.console import Screen
from tfdistil.interrupt import Interrupt


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def swallow() -> None:
    """As a destructor or another library's callback does."""
    with pytest.raises(KeyboardInterrupt):
        press()


def test_what_was_swallowed_is_raised_again():
    with Interrupt() as interrupt:
        interrupt.heed()
        swallow()
        with pytest.raises(KeyboardInterrupt):
            interrupt.heed()


def test_what_nobody_swallows_comes_through_at_once():
    with pytest.raises(KeyboardInterrupt), Interrupt():
        press()


def test_the_handler_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt() as interrupt:
        assert signal.getsignal(signal.SIGINT) != before
        swallow()
    assert signal.getsignal(signal.SIGINT) == before
    interrupt.heed()


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupt() as interrupt:
            press()
            interrupt.heed()
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_may_use_it():
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with Interrupt() as interrupt:
                interrupt.heed()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failed == []


def test_a_screen_heeds_it_with_every_line_and_still_says_the_last_words():
    file = io.StringIO()
    screen = Screen(Console(file=file, width=200))

    def run() -> None:
        with screen:
            swallow()
            screen.line("never printed")

    with pytest.raises(KeyboardInterrupt):
        run()
    screen.line("stopped")
    assert file.getvalue() == "stopped\n"
