"""What a run prints, in a log and in a terminal."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace

import keras
import pytest
from rich.console import Console

from tfdistil.console.screen import ProgressBar, Screen, _pace

SHOW_CURSOR = "\x1b[?25h"
"""What a bar sends when it closes; a terminal that never gets it has no cursor."""


@pytest.fixture
def log():
    """A screen that writes a log, at every report, and its text."""
    file = io.StringIO()
    return Screen(Console(file=file, width=200), seconds=0.0), file


@pytest.fixture
def terminal():
    """A screen in a terminal, and everything sent to it."""
    file = io.StringIO()
    return Screen(Console(file=file, width=200, force_terminal=True)), file


def test_lines_are_text_not_markup(log):
    screen, file = log
    screen.line("[red]5[/red] of [7]")
    assert file.getvalue() == "[red]5[/red] of [7]\n"


def test_results_can_be_piped(capsys):
    Screen().line("hello")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "hello" in captured.err


def test_a_log_has_the_share_and_the_time_left(log):
    screen, file = log
    with screen.bar("teacher", 4) as update:
        update(1, "loss 0.5")
        update(4, "")
    lines = file.getvalue().splitlines()
    assert lines[0].startswith("  teacher: 1/4, ")
    assert lines[0].endswith("s left loss 0.5")
    assert lines[1].startswith("  teacher: 4/4, 0 s left")
    assert lines[-1].startswith("  teacher: done in ")


def test_a_log_is_not_flooded():
    file = io.StringIO()
    screen = Screen(Console(file=file, width=200), seconds=3600)
    with screen.bar("teacher", 1000) as update:
        for done in range(1000):
            update(done, "")
    assert len(file.getvalue().splitlines()) == 1


def test_a_terminal_shows_a_bar(terminal):
    screen, file = terminal
    with screen.bar("teacher", 4) as update:
        update(2, "loss 0.5")
        update(4, "loss 0.4")
    assert "4/4" in file.getvalue()
    assert "loss 0.4" in file.getvalue()
    assert "teacher: done in" in file.getvalue()


def test_a_failure_closes_the_bar(terminal):
    screen, file = terminal

    def fail(name):
        with screen.bar(name, 4):
            raise RuntimeError("stop")

    for name in ("one", "two"):  # a bar left open would make the second one fail differently
        with pytest.raises(RuntimeError, match="stop"):
            fail(name)
    assert "done in" not in file.getvalue()


def test_a_counter_closes_itself(terminal):
    screen, file = terminal
    for name in ("train", "dev"):
        count = screen.counter(name, 3)
        for done in (1, 2, 3):
            count(done)
    assert file.getvalue().count("done in") == 2


@pytest.mark.parametrize("kind", ["training", "counter"])
def test_what_is_interrupted_closes_its_bar(terminal, kind):
    """Keras does not call ``on_train_end`` then."""
    screen, file = terminal

    def interrupted():
        with screen:
            if kind == "training":
                ProgressBar(screen, "first", 4).on_train_begin()
            else:
                screen.counter("first", 4)(2)
            assert file.getvalue().count(SHOW_CURSOR) == 0  # the bar is open
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert file.getvalue().count(SHOW_CURSOR) == 1
    assert "done in" not in file.getvalue()


@pytest.mark.parametrize(
    ("done", "seconds", "pace"),
    [(300, 2.0, ", 150.0 a second"), (2, 3.0, ", 1.50 s each"), (0, 3.0, ""), (2, 0.0, "")],
)
def test_the_pace_of_what_is_done(done, seconds, pace):
    assert _pace(done, seconds) == pace


def test_a_bar_that_is_done_says_how_fast(log):
    screen, file = log
    with screen.bar("teacher", 3) as update:
        update(3, "")
    assert re.search(r"teacher: done in \d+\.\d s, [\d,.]+ a second$", file.getvalue().strip())


@pytest.mark.parametrize("updates", [7, 20])
def test_training_moves_the_bar(log, updates):
    screen, file = log
    bar = ProgressBar(screen, "first", updates)
    bar.on_train_begin()
    for batch in range(updates):
        bar.on_train_batch_end(batch % 4, {"loss": 1.0 / (batch + 1)})
    bar.on_train_end()
    lines = file.getvalue().splitlines()
    assert lines[-2].startswith(f"  first: {updates}/{updates}")
    assert lines[-1].startswith("  first: done in")
    assert ("loss 0.1000" in file.getvalue()) == (updates >= 10)


def test_a_bar_counts_updates_of_several_batches(log):
    screen, file = log
    bar = ProgressBar(screen, "first", 20)
    bar.set_model(SimpleNamespace(optimizer=keras.optimizers.SGD(gradient_accumulation_steps=4)))
    bar.on_train_begin()
    for batch in range(20):
        bar.on_train_batch_end(batch, {"loss": 1.0})
    bar.on_train_end()
    lines = file.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines[:-1]] == ["  first: 2/5", "  first: 5/5"]


def test_an_unknown_total_promises_no_end(log):
    screen, file = log
    with screen.bar("teacher", None) as update:
        update(5, "")
    first = file.getvalue().splitlines()[0]
    assert first.startswith("  teacher: 5/?")
    assert "left" not in first
