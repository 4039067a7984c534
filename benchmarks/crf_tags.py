"""What it costs when the graph of a CRF student decodes, beside decoding in NumPy.

``python -m tfdistil.benchmarks.crf_tags`` converts students with random weights with and without
tags in the graph, and times both files of each in turns: one row, one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfdistil.benchmarks.timing import Ratio, time_interleaved
from tfdistil.crf.constraints import IMPOSSIBLE, legal_steps
from tfdistil.crf.decoding import k_best, marginals, viterbi
from tfdistil.tasks.iob2 import allowed_transitions
from tfdistil.text.featurizer import WORD_MASK

LABELS = ("O", *(f"{mark}-{kind}" for kind in "abcde" for mark in "BI"))
PIECES = {"vocabulary": 8000, "embedding": 50}
STUDENTS: dict[str, dict[str, Any]] = {
    "BiLSTM (50, 200)": {"kind": "bilstm", "hidden_dim": 200, **PIECES},
    "BiLSTM (50, 300)": {"kind": "bilstm", "hidden_dim": 300, **PIECES},
    "pQRNN": {"kind": "pqrnn", "features": 1024},
    "pQRNN, small": {
        "kind": "pqrnn", "features": 1024, "bottleneck": 192, "state": 96, "layers": 3,
    },
}  # fmt: skip


def files_of(given: Mapping[str, Any], length: int) -> tuple[dict[str, bytes], dict[str, Any]]:
    """A student's int8 files, ``scores`` and ``tags``, and rows ``[64, T]`` of their inputs."""
    from tfdistil.exporting.convert import convert, entries_of
    from tfdistil.students import build_student

    student = build_student(
        outputs={"tags": ("word", len(LABELS))},
        heads={"labels": {"kind": "crf", "labels": LABELS}},
        seed=0,
        **given,
    )
    rng = np.random.default_rng(0)
    rows: dict[str, Any] = {
        "input_ids": rng.integers(PIECES["vocabulary"], size=(64, length), dtype=np.int32),
        "fingerprint": rng.integers(256, size=(64, length, 256), dtype=np.uint8),
        "attention_mask": np.ones((64, length), np.int32),
        WORD_MASK: np.ones((64, length), np.int32),
    }
    mask = WORD_MASK if "vocabulary" in given else "attention_mask"
    files = {}
    for name, word_mask in (("scores", None), ("tags", mask)):
        entries = entries_of(student, length, 32, "labels", word_mask)
        wanted = [spec.name for spec in entries["online"].specs]
        files[name] = convert(student, entries, "int8", {key: rows[key] for key in wanted})
    return files, rows


def caller(model: bytes, rows: Mapping[str, np.ndarray]) -> Callable[[int], Any]:
    """A call for `time_interleaved` that runs the signature ``online``."""
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(model_content=model, num_threads=1).get_signature_runner("online")
    wanted = runner.get_input_details()
    return lambda n: runner(**{name: rows[name][n % 64 : n % 64 + 1] for name in wanted})


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m tfdistil.benchmarks.crf_tags",
        description="What tags in the graph cost, and what they cost in NumPy.",
    )
    parser.add_argument("--length", type=int, default=32, help="positions per call (default 32)")
    parser.add_argument("--queries", type=int, default=2000, help="timed calls (default 2000)")
    parser.add_argument("--rounds", type=int, default=20, help="turns they take (default 20)")
    given = parser.parse_args(arguments)
    print("student | scores, ms | and tags, ms | ratio (rounds) | bytes more")
    for name, sizes in STUDENTS.items():
        files, rows = files_of(sizes, given.length)
        calls = {kind: caller(model, rows) for kind, model in files.items()}
        times = time_interleaved(calls, given.queries, given.rounds, 50)
        ratio = Ratio.of(times["tags"], times["scores"])
        print(
            f"{name} | {times['scores'].quantile(0.5):.3f} | {times['tags'].quantile(0.5):.3f} | "
            f"{ratio.median:.3f} ({ratio.low:.3f} to {ratio.high:.3f}) | "
            f"{len(files['tags']) - len(files['scores']):,}"
        )
    rng = np.random.default_rng(0)
    legal = legal_steps(*allowed_transitions(LABELS))
    potentials = np.where(legal, rng.normal(size=legal.shape), IMPOSSIBLE)
    scores = rng.normal(size=(given.length, len(LABELS)), scale=3).astype(np.float32)
    numpy_calls = {
        "viterbi": lambda n: viterbi(scores, potentials),
        "marginals": lambda n: marginals(scores, potentials),
        "5 best": lambda n: k_best(scores, potentials, 5),
    }
    for name, time in time_interleaved(numpy_calls, given.queries // 4, given.rounds, 20).items():
        print(f"{name} in NumPy, {given.length} words | {time.quantile(0.5):.3f} ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
