"""The process of the converter as its parent sees it."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tfdistil.errors import ExportError

WORKER = "tfdistil.exporting.convert_worker"


class Converter:
    """Hands jobs to a process that is kept for the next one.

    It takes longer to start than to convert a small model. One that ended, for whatever reason,
    is replaced when there is a job again. Threads take turns; a fork starts its own.

    Args:
        command: starts a process that answers each line, the path of a job, with a line; ``last``
            when it takes no more.
    """

    def __init__(self, command: Sequence[str] = (sys.executable, "-m", WORKER)):
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        self._said: IO[str] | None = None
        self._turn = threading.Lock()
        atexit.register(self.close)

    def run(self, job: Path) -> None:
        """Do the job of a file, see `tfdistil.exporting.convert_worker`.

        Raises:
            ExportError: the process ended before it was done; with the end of what it said.
        """
        with self._turn:
            process = self._alive() or self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(f"{job}\n")
                process.stdin.flush()
                if answer := process.stdout.readline():
                    if answer == "last\n":
                        self.close()
                    return
            except BrokenPipeError:
                pass  # it has ended, as below
            except BaseException:  # Ctrl-C: nobody waits for it any more
                self.close()
                raise
            ending, said = _ending(process.wait()), self._last_words()
            self.close()
            raise ExportError(f"the converter {ending}:\n{said}")

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.communicate()
        assert self._said is not None
        self._said.close()

    def _last_words(self, lines: int = 20) -> str:
        assert self._said is not None
        self._said.seek(0)
        kept = [line for line in self._said.read().splitlines() if line.strip()]
        return "\n".join(kept[-lines:]) or "(it said nothing)"

    def _alive(self) -> subprocess.Popen[str] | None:
        if self._process is None or self._owner != os.getpid():
            return None
        if self._process.poll() is not None:
            self.close()
        return self._process

    def _start(self) -> subprocess.Popen[str]:
        # The calibrator runs the graph on the CPU; a GPU would only cost start-up time and memory.
        environment = os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}
        self._owner = os.getpid()
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            encoding="utf-8",
            env=environment,
        )
        return self._process


def _ending(status: int) -> str:
    if status < 0:
        return f"was ended by signal {signal.Signals(-status).name}"
    return f"failed (status {status})"
