"""``tfdistil`` in a process that can be made to die while it writes a file.

``python -m tests.fuzz.dying ARGUMENTS`` is ``tfdistil ARGUMENTS``. After SIGUSR1 it kills itself at
the next file that it opens for writing, right after it was opened, or at the next file that gets
its final name, right before. Those moments are too short for a kill from outside to hit them.

The state of a running phase is written as often as half of the time allows, not once a minute.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR
_asked = False


def _ask(*_: Any) -> None:
    global _asked
    _asked = True


def _die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if not _asked:
        return
    if event == "os.rename":
        _die()
    # The event comes before the file is opened; the profiler is called once it was.
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
        sys.setprofile(_die)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _ask)
    sys.addaudithook(_watch)
    from tfdistil.console.silence import import_tensorflow

    import_tensorflow()
    from tfdistil.cli.main import main
    from tfdistil.distill import phase_state

    phase_state.LEAST, phase_state.SHARE = 0.0, 1.0
    sys.exit(main(sys.argv[1:]))
