"""The process that runs the converter: ``python -m tfdistil.exporting.convert_worker``.

The converter and its calibrator are native code that can take a process down with them; here they
only take down this one, and its last words are in the error of `tfdistil.exporting.convert`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.exporting.quantize import calibration_batches, configure
from tfdistil.memory import peak_rss

KEPT = 2**30
"""Bytes of memory above which a process is not kept for the next model."""


def main() -> None:
    """Do each job whose path comes in a line, and answer with a line; an error ends the process.

    The answer is ``next``, or ``last`` from a process that has grown and takes no more.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who gives the jobs
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what native code prints is no answer
    for line in sys.stdin:
        _convert(json.loads(Path(line.rstrip("\n")).read_text("utf-8")))
        kept = peak_rss() <= KEPT
        print("next" if kept else "last", file=answers, flush=True)
        if not kept:
            break


def _convert(job: dict[str, Any]) -> None:
    """Convert what the job describes; see `tfdistil.exporting.convert.convert`."""
    import tensorflow as tf

    batches: dict[str, int] = job["signatures"]
    converter = tf.lite.TFLiteConverter.from_saved_model(
        job["saved_model"], signature_keys=list(batches)
    )
    representative = None
    if job["calibration"] is not None:
        with np.load(job["calibration"]) as file:
            rows = {name: file[name] for name in file.files}

        def representative() -> Iterator[Any]:
            yield from calibration_batches(rows, batches)

    configure(converter, job["quantize"], representative)
    Path(job["output"]).write_bytes(converter.convert())


if __name__ == "__main__":
    main()
