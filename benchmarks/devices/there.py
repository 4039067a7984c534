"""What runs in the other machine's Python: the same measurement as here.

Its standard output is lines of JSON, each with one key: ``screen`` (what is going on), ``error``,
or at last ``result``.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from tfdistil.errors import TfdistilError

INSTALL = "python3 -m pip install numpy tokenizers ai-edge-litert"


def main(folder: str) -> int:
    """Do what ``job.json`` in a folder asks for.

    Args:
        folder: has this package, too.
    """
    os.environ["PYTHONPATH"] = folder  # for the process that memory is measured in
    threading.Thread(target=_end_with_standard_input, daemon=True).start()
    value: Any = "interrupted"
    key = "error"
    try:
        job = json.loads((Path(folder) / "job.json").read_text("utf-8"))
        key, value = "result", work(job, Path(folder))
    except TfdistilError as error:
        value = str(error)
    except ModuleNotFoundError as error:
        value = f"{error.name} is missing there; `{INSTALL}`"
    except KeyboardInterrupt:
        pass
    # Whoever has the last line may be gone at once; the folder must still be removed in peace.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _say(key, value)
    return 0


def work(job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Measure the job's models and answer its texts.

    Returns:
        ``measured``, see `tfdistil.benchmarks.latency.Benchmark.to_json`, and ``answers``: by
        model, see `tfdistil.benchmarks.answers.Answers.to_json`; of files without a tokenizer none.
    """
    from tfdistil.benchmarks.latency import Protocol, measure, readable

    files = {name: folder / file for name, file in job["files"].items()}
    protocol = Protocol(**job["protocol"])
    said = measure(
        files,
        protocol,
        job["texts"] if job["timed_texts"] else (),
        lambda line: _say("screen", line),
        memory=job["memory"],
    )
    answers = {}
    if job["texts"]:
        from tfdistil.benchmarks.answers import answer

        for name, runtime in readable(files, protocol.threads).items():
            _say("screen", f"  {name}: answers to {len(job['texts']):,} texts")
            answers[name] = answer(runtime, job["texts"]).to_json()
    return {"measured": said.to_json(), "answers": answers}


def _say(key: str, value: Any) -> None:
    with suppress(BrokenPipeError):
        print(json.dumps({key: value}), flush=True)


def _end_with_standard_input() -> None:
    """Whoever asked holds the other end open: when it closes, nobody waits for the result."""
    while os.read(0, 1 << 16):
        pass
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
