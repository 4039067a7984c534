"""Load time and memory of a model, in a process of its own.

``python -m tfdistil.benchmarks.probe MODEL THREADS`` prints one line of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from tfdistil.errors import ModelFileError
from tfdistil.memory import peak_rss


def probe(path: Path, threads: int = 1) -> dict[str, float]:
    """Measure a model in a fresh process.

    Returns:
        ``load_ms`` (file to a finished first answer of the smallest signature, the runtime's own
        import excluded), ``peak_rss_bytes`` (of the process after one call of every signature) and
        ``base_rss_bytes`` (before the model: Python, numpy and the runtime).

    Raises:
        ModelFileError: the process failed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tfdistil.benchmarks.probe", str(path), str(threads)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise ModelFileError(f"{path} cannot be run: {last[0]}")
    return json.loads(done.stdout.splitlines()[-1])


def main(path: Path, threads: int) -> None:
    """Load, call and print."""
    import numpy as np

    from tfdistil.benchmarks.model import open_interpreter, random_inputs, shapes
    from tfdistil.runtime import interpreter as runtime

    del runtime  # imported before the clock starts: its cost is not the model's

    base = peak_rss()
    start = time.perf_counter()
    interpreter = open_interpreter(path, threads)
    found = shapes(interpreter, path)
    # Id 0 and 1 exist in any vocabulary.
    generator = np.random.default_rng(0)
    loaded = None
    for shape in found:
        interpreter.get_signature_runner(shape.signature)(**random_inputs(shape, 2, generator))
        loaded = loaded or time.perf_counter() - start
    print(
        json.dumps(
            {
                "load_ms": 1e3 * (loaded or 0.0),
                "peak_rss_bytes": peak_rss(),
                "base_rss_bytes": base,
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
