"""What a person sees while a run works: bars with the time left, and plain lines in a log."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import keras
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from tfdistil.console.interrupt import Interrupt


class Screen:
    """Lines and one progress bar at a time; in its ``with`` block Ctrl-C does not get lost.

    In a terminal the bar moves; in a log file a line is printed every ``seconds`` instead. Bars of
    callbacks are opened with `begin` and closed with `end`; where ``end`` is never called, because
    something failed or was interrupted, leaving the screen's ``with`` block closes them.

    Args:
        console: where to write; the default is standard error, so that results can be piped.
        seconds: between two lines of a log.
    """

    def __init__(self, console: Console | None = None, seconds: float = 15.0):
        self.console = console or Console(stderr=True, highlight=False)
        self.seconds = seconds
        self._open = contextlib.ExitStack()
        self._interrupt = Interrupt()

    def __enter__(self) -> Screen:
        self._interrupt.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self._open.__exit__(*error)
        finally:
            self._interrupt.__exit__(*error)

    def raise_if_interrupted(self) -> None:
        """Raises KeyboardInterrupt if Ctrl-C was pressed and something swallowed it."""
        self._interrupt.raise_if_interrupted()

    def line(self, text: str) -> None:
        """Print one line."""
        self.raise_if_interrupted()
        self.console.print(text, markup=False)

    @contextlib.contextmanager
    def bar(self, name: str, total: int | None) -> Iterator[Callable[[float, str], None]]:
        """A bar; call what it yields with ``(done, note)``."""
        start = last = time.perf_counter()
        reached = 0.0
        if self.console.is_terminal:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=28),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"),
            )
            with Progress(*columns, console=self.console, transient=True) as progress:
                task = progress.add_task(name, total=total, note="")

                def move(done: float, note: str = "") -> None:
                    nonlocal reached
                    reached = done
                    progress.update(task, completed=done, note=note)

                yield move
        else:

            def report(done: float, note: str = "") -> None:
                nonlocal last, reached
                reached = done
                now = time.perf_counter()
                if now - last >= self.seconds:
                    last = now
                    left = (now - start) * (total - done) / max(done, 1) if total else None
                    until = "" if left is None else f", {left:.0f} s left"
                    self.line(f"  {name}: {int(done)}/{total or '?'}{until} {note}".rstrip())

            yield report
        seconds = time.perf_counter() - start
        self.line(f"  {name}: done in {seconds:.1f} s{_pace(reached, seconds)}")

    def begin(self, name: str, total: int) -> Callable[[float, str], None]:
        """Open a bar that stays until `end`; call what this returns as that of `bar`."""
        return self._open.enter_context(self.bar(name, total))

    def end(self) -> None:
        """Close the bar that `begin` opened."""
        self._open.close()

    def counter(self, name: str, total: int) -> Callable[[int], None]:
        """A bar that closes itself when ``total`` is reached."""
        update = self.begin(name, total)

        def count(done: int) -> None:
            self.raise_if_interrupted()
            update(done, "")
            if done >= total:
                self.end()

        return count


def _pace(done: float, seconds: float) -> str:
    """How fast that was: of training, updates of so many rows as the stage's batches have."""
    if not done or not seconds:
        return ""
    return (
        f", {done / seconds:,.1f} a second" if done > seconds else f", {seconds / done:.2f} s each"
    )


class ProgressBar(keras.callbacks.Callback):
    """Shows a phase of training on a `Screen`: updates, loss, and the monitored value.

    Args:
        screen: has the bar.
        name: of the phase.
        batches: of it; the optimizer says how many make an update.
    """

    def __init__(self, screen: Screen, name: str, batches: int):
        super().__init__()
        self.screen, self.name, self.batches = screen, name, batches
        self.done, self.of_update, self.checked = 0, 1, ""
        self.update: Callable[[float, str], None] = lambda done, note: None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Open the bar."""
        optimizer = getattr(self.model, "optimizer", None)
        self.of_update = getattr(optimizer, "gradient_accumulation_steps", None) or 1
        self.update = self.screen.begin(self.name, self.batches // self.of_update)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Move it; the loss is read now and then only, since reading it waits for the device."""
        self.screen.raise_if_interrupted()
        if logs and "monitored" in logs:  # `BestWeights`, which comes first, has made a check
            self.checked = f"check {logs['monitored']:.2f}, best {logs['best']:.2f}"
        self.done += 1
        if self.done % 10 == 0 or self.done == self.batches:
            loss = f"loss {float(logs['loss']):.4f}" if logs and self.done % 10 == 0 else ""
            self.update(self.done / self.of_update, f"{loss} {self.checked}".strip())

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Close it."""
        self.screen.end()
