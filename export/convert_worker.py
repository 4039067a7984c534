"""The process that runs the converter: ``python -m tfdistil.exporting.convert_worker JOB``.

The converter and its calibrator are native code that can take a process down with them; here they
only take down this one, and its last words are in the error of `tfdistil.exporting.convert`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.exporting.quantize import calibration_batches, configure


def main(job_path: str) -> None:
    """Convert what the job file describes; see `tfdistil.exporting.convert.convert`."""
    import tensorflow as tf

    job = json.loads(Path(job_path).read_text("utf-8"))
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
    main(sys.argv[1])
