"""How a command ends: with its status, or with one line on what went wrong."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence

from tfdistil.errors import TfdistilError
from tfdistil.printable import printable, shortened

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_TEXTS = ("No space left on device", "Disk quota exceeded", "File too large")
"""How libraries that write files in native code put it."""


def run_command(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, needs: str
) -> int:
    """A whole command line, whose errors a user can act on are shown without a traceback.

    Args:
        parser: gives ``func``, which takes the parsed arguments and returns the exit status.
        arguments: None: those of the process.
        needs: see `exit_status`.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    parsed = parser.parse_args(arguments)
    return exit_status(parser.prog, needs, lambda: parsed.func(parsed))


def exit_status(program: str, needs: str, work: Callable[[], int]) -> int:
    """Run a command.

    Args:
        program: begins the line on what went wrong.
        needs: what the training stack is missing for, where it is.
        work: returns the exit status.

    Returns:
        That of ``work``; 2 with a line on standard error for what a user can act on; 130 for
        Ctrl-C. Any other exception comes through: it is a fault of the program.
    """
    try:
        return work()
    except KeyboardInterrupt:
        # What was half made when the key was pressed complains as it is taken apart.
        sys.unraisablehook = lambda unraisable: None
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except Exception as error:
        message = describe(error, needs)
        if message is None:
            raise
        print(f"{program}: {message}", file=sys.stderr)
        return 2


def describe(error: Exception, needs: str) -> str | None:
    """What a user can act on, in a line; None for a fault of the program."""
    if isinstance(error, TfdistilError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is missing; {needs} needs `pip install 'tfdistil[train]'`"
    if is_disk_full(error):
        paths = [e.filename for e in _chain(error) if isinstance(e, OSError) and e.filename]
        where = printable(f"{paths[0]}: ") if paths else ""
        return f"{where}the disk is full. What is finished is kept: make room and run this again"
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        return "out of memory; a smaller batch_size, max_length or model needs less"
    if isinstance(error, UnicodeEncodeError):
        return f"cannot write text as {error.encoding}; set PYTHONUTF8=1"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return printable(shortened(f"{where}{error.strerror or error}"))
    return None


def is_disk_full(error: BaseException) -> bool:
    """Whether an error, or one that led to it, says that nothing more can be written."""
    return any(
        (isinstance(e, OSError) and e.errno in _FULL) or any(t in str(e) for t in _FULL_TEXTS)
        for e in _chain(error)
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
