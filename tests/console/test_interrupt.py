"""Ctrl-C, swallowed by others or not."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading

import pytest
from rich.console import Console

from tfdistil.console.interrupt import Interrupt
from tfdistil.console.screen import Screen


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def swallow() -> None:
    """As a destructor or another library's callback does."""
    with pytest.raises(KeyboardInterrupt):
        press()


def test_what_was_swallowed_is_raised_again():
    noted = []

    def work() -> None:
        with Interrupt() as interrupt:
            interrupt.raise_if_interrupted()
            noted.append("before")
            swallow()
            interrupt.raise_if_interrupted()
            noted.append("after")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert noted == ["before"]


def test_what_nobody_swallows_comes_through_at_once():
    with pytest.raises(KeyboardInterrupt), Interrupt():
        press()


def test_the_handler_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    hook = sys.unraisablehook
    with Interrupt() as interrupt:
        assert signal.getsignal(signal.SIGINT) != before
        assert sys.unraisablehook != hook
    assert signal.getsignal(signal.SIGINT) == before
    assert sys.unraisablehook == hook
    interrupt.raise_if_interrupted()


def test_what_was_swallowed_last_ends_the_block():
    with pytest.raises(KeyboardInterrupt), Interrupt():
        swallow()


def test_an_error_that_a_library_made_of_it_is_ctrl_c():

    def call() -> None:
        with Interrupt():
            swallow()
            raise ValueError("None values not supported")

    with pytest.raises(KeyboardInterrupt) as caught:
        call()
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(ValueError, match="an error of its own"), Interrupt():
        raise ValueError("an error of its own")


class Fragile:
    """Complains when it is destroyed, as what was being made when the key was pressed does."""

    def __init__(self, complain):
        self.complain = complain

    def __del__(self):
        self.complain()


def fail() -> None:
    raise KeyError("half made")


def test_destructors_are_silent_once_it_came_and_heard_before(monkeypatch):
    heard: list[type] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: heard.append(found.exc_type))

    def stopped() -> None:
        with Interrupt() as interrupt:
            Fragile(fail)
            assert heard == [KeyError]
            Fragile(press)
            Fragile(fail)
            interrupt.raise_if_interrupted()

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert heard == [KeyError]


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupt() as interrupt:
            press()
            interrupt.raise_if_interrupted()
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_may_use_it():
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with Interrupt() as interrupt:
                interrupt.raise_if_interrupted()
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
