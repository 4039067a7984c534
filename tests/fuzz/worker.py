"""The process in which cases run: ``python -m tests.fuzz.worker TARGET CASES START MEMORY FD``."""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from pathlib import Path

from tfdistil.errors import TfdistilError

LONGEST_MESSAGE = 4000
"""Characters of an error that somebody reads in a terminal."""


def outcome(target, case: Path) -> tuple[str, str]:
    """Kind and detail of one case; see `tests.fuzz.campaign`."""
    try:
        return "answered", str(target(case))
    except TfdistilError as error:
        message = str(error)
        if len(message) > LONGEST_MESSAGE:
            return "escaped", f"a message of {len(message)} characters: {message[:300]!r}"
        if any(not (c.isprintable() or c == "\n") for c in message):
            return "escaped", f"a message with control characters: {message[:300]!r}"
        return "refused", f"{type(error).__name__}: {message}"
    except BaseException:
        return "escaped", traceback.format_exc()


def main() -> None:
    """Run the cases from START on, and write a line of JSON for each to the file descriptor FD."""
    name, listing, start, memory, pipe = sys.argv[1:]
    if int(memory):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    module, function = name.split(":")
    target = getattr(importlib.import_module(module), function)
    with os.fdopen(int(pipe), "wb", buffering=0) as out:
        out.write(b'["ready", ""]\n')
        for case in json.loads(Path(listing).read_text())[int(start) :]:
            out.write(json.dumps(outcome(target, Path(case))).encode() + b"\n")


if __name__ == "__main__":
    main()
