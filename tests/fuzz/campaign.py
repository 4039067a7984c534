"""Hostile input, one case after another, in a worker process that may crash or hang.

A target is a function ``target(path) -> str``: it uses tfdistil on one case and says what it got.
It runs in a process of its own, so that a crash or an endless loop is an outcome and not the end of
the tests. Every case ends in one of

    answered   the target returned; what it returned is kept
    refused    a `TfdistilError`: short, printable
    escaped    another exception, or a `TfdistilError` that is too long or has control characters
    crashed    the process died
    hung       no answer in time; the process was killed
    executed   code out of the case ran: it touched the canary
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CANARY = "TFDISTIL_FUZZ_CANARY"
"""The environment variable with the path that hostile code in a case touches."""

LONG = bool(os.environ.get("TFDISTIL_FUZZ_LONG"))
"""Whether the long campaign runs (``make fuzz``) or its short sample (``make test``)."""


_START = 120.0
"""Seconds a process may take to import what its target needs."""


def sample(total: int, short: int) -> list[int]:
    """The numbers of the cases to run: all of them, or ``short`` spread over them."""
    return (
        list(range(total)) if LONG or short >= total else [i * total // short for i in range(short)]
    )


@dataclass(frozen=True)
class Outcome:
    """How a case ended: its kind, and the answer, message or traceback."""

    case: Path
    kind: str
    detail: str


def run_cases(
    target: str,
    cases: Sequence[Path],
    *,
    seconds: float = 20.0,
    memory: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> list[Outcome]:
    """Give every case to a target, in worker processes.

    Args:
        target: ``module:function``, importable from the repository's root.
        cases: files or folders.
        seconds: until a case counts as hung.
        memory: bytes of address space a worker may have; None: no limit.
        environment: more variables for the worker. Its standard input is an endless supply of
            ``y``, for whatever asks before it runs code.

    Returns:
        One outcome per case, in order.
    """
    with tempfile.TemporaryDirectory() as folder:
        listing, canary, answers = (Path(folder) / n for n in ("cases", "canary", "answers"))
        listing.write_text(json.dumps([str(case) for case in cases]))
        answers.write_text("y\n" * 10_000)
        variables = {**os.environ, CANARY: str(canary), **(environment or {})}
        outcomes: list[Outcome] = []
        while len(outcomes) < len(cases):
            command = [sys.executable, "-m", "tests.fuzz.worker", target, str(listing)]
            command += [str(len(outcomes)), str(memory or 0)]
            with answers.open() as stdin, tempfile.TemporaryFile() as log:
                found = _one_worker(command, variables, stdin, log, cases, len(outcomes), seconds)
                for outcome in found:
                    executed = canary.exists()
                    canary.unlink(missing_ok=True)
                    outcomes.append(
                        Outcome(outcome.case, "executed", outcome.detail) if executed else outcome
                    )
        return outcomes


def _one_worker(command, variables, stdin, log: IO[bytes], cases, start: int, seconds: float):
    """Outcomes from one process, until it is through, dies or hangs."""
    reading, writing = os.pipe()
    worker = subprocess.Popen(
        [*command, str(writing)],
        stdin=stdin,
        stdout=log,
        stderr=log,
        pass_fds=[writing],
        env=variables,
        cwd=Path(__file__).parents[2],
    )
    os.close(writing)
    patience, done = _START, start
    try:
        with os.fdopen(reading, "rb") as pipe, selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while done < len(cases):
                # The worker writes a line whole, so what can be read can be read to its end.
                if not selector.select(patience):
                    yield Outcome(cases[done], "hung", f"no answer in {patience:.0f} s")
                    return
                line = pipe.readline()
                if not line:
                    worker.wait()
                    log.seek(max(0, log.seek(0, os.SEEK_END) - 2000))
                    tail = log.read().decode("utf-8", "replace")
                    yield Outcome(cases[done], "crashed", f"status {worker.returncode}\n{tail}")
                    return
                kind, detail = json.loads(line)
                patience = seconds
                if kind != "ready":
                    yield Outcome(cases[done], kind, detail)
                    done += 1
    finally:
        worker.kill()
        worker.wait()


def failures(outcomes: Sequence[Outcome]) -> str:
    """The outcomes that must not be, one to a paragraph; empty where there are none."""
    bad = [outcome for outcome in outcomes if outcome.kind not in ("answered", "refused")]
    shown = [f"{o.case.name}: {o.kind}\n{o.detail[-1500:]}" for o in bad[:10]]
    return "\n\n".join([f"{len(bad)} of {len(outcomes)}", *shown]) if bad else ""


def counted(outcomes: Sequence[Outcome]) -> str:
    """How many ended how, for the log: ``300 cases: 12 answered, 288 refused``."""
    kinds = [outcome.kind for outcome in outcomes]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
    return f"{len(outcomes)} cases: {counts}"
