"""Writes the conformance vectors of decoding: scores of words to tags and spans.

``python -m tests.vectors.make_decoding``

docs/runtime.md explains the files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.vectors.make_projection import lines
from tfdistil.crf.constraints import IMPOSSIBLE, may_end
from tfdistil.tasks.decoders import CrfDecoder, Decoder
from tfdistil.tasks.iob2 import CONTINUATION, allowed_transitions, spans
from tfdistil.tasks.tags import TagCodec

FOLDER = Path(__file__).parent
SEED = 18
DIGITS = 9
SCALE, ZERO_POINT = 0.0625, -3

LABELS = {
    "iob2": ["O", "B-city", "I-city", "B-date", "I-date"],
    "iobes": ["O", *(f"{mark}-{name}" for name in ("city", "date") for mark in "BIES")],
    "continuation": ["O", "B-city", "I-city", "B-date", "I-date", CONTINUATION],
    "incomplete": ["I-x", "O", "E-x", "S-y", "B-z", "I-z"],
    "outside": ["O"],
    "long": ["O", *(f"{mark}-{n}" for n in range(12) for mark in "BI")],
}


def steps(labels: list[str]) -> dict[str, list[Any]]:
    """What may begin a text, what may follow each label, and what may end one."""
    start, follow = allowed_transitions(labels)
    return {
        "labels": labels,
        "start": np.flatnonzero(start).tolist(),
        "follow": [np.flatnonzero(row).tolist() for row in follow],
        "end": np.flatnonzero(may_end(start, follow)).tolist(),
    }


def case(name: str, words: int, crf: bool, rng: np.random.Generator) -> dict[str, Any]:
    """Scores of a text as a quantized graph gives them, and what is made of them."""
    labels = LABELS[name]
    quantized = rng.integers(-90, 40, (words, len(labels)))
    scores = (quantized - np.float32(ZERO_POINT)).astype("f4") * np.float32(SCALE)
    given: dict[str, Any] = {"labels": labels, "scores": scores.tolist()}
    decoder = Decoder(len(labels))
    if crf:
        potentials = rng.normal(0, 1, (len(labels) + 2, len(labels))).round(3)
        potentials[rng.random(potentials.shape) < 0.1] = IMPOSSIBLE
        _, follow = allowed_transitions(labels)
        potentials[-2, labels.index("O")] = potentials[-1, labels.index("O")] = 0.5
        potentials[:-2, labels.index("O")][follow[:, labels.index("O")]] = 0.25
        given["potentials"] = potentials.tolist()
        decoder = CrfDecoder(len(labels), potentials)
    codec = TagCodec([label for label in labels if label != CONTINUATION], CONTINUATION in labels)
    tags, found = codec.decode(scores, decoder)
    path = decoder.words(scores, *allowed_transitions(labels))
    return {
        **given,
        "path": path.tolist(),
        "tags": tags,
        # Exponentials differ in their last digits from one machine to another.
        "probabilities": [round(one, DIGITS) for one in found],
        "spans": [[s.label, s.start, s.end, round(s.score, DIGITS)] for s in spans(tags, found)],
    }


def cases() -> list[dict[str, Any]]:
    """Every set of labels with heads of both kinds; short texts, long ones and none."""
    rng = np.random.default_rng(SEED)
    return [
        case(name, words, crf, rng)
        for name in LABELS
        for crf in (False, True)
        for words in (0, 1, 1, 2, 2, 3, 3, 5, 5, 8, 8, 13, 21)
    ]


def files() -> dict[str, str]:
    """Name to content of every file."""
    return {
        "decoding-steps.json": lines("steps", [steps(labels) for labels in LABELS.values()]),
        "decoding-cases.json": lines("cases", cases()),
    }


if __name__ == "__main__":
    for file, content in files().items():
        (FOLDER / file).write_text(content, "utf-8", newline="\n")
        print(file, len(content.encode()))
