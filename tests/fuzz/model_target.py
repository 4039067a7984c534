"""What a user does with a model file: look into it, load it, ask it."""

from __future__ import annotations

import json
import math
from pathlib import Path

from tfdistil.runtime import Runtime
from tfdistil.runtime.describe import describe, format_description

TEXTS = [
    "play some blur in the living room",
    "",
    "WILL it rain in 東京 at 7:30? 👍🏽 \u0e01 x\u0301",
    "turn off the lights in the kitchen and play the beatles please " * 6,
    "wort" * 60,
]


def answers(path: Path) -> str:
    """All answers to texts that are short, long, empty and odd, in JSON; they are well formed."""
    description = format_description(describe(path))
    runtime = Runtime(path)
    labels = {output.level: set(output.labels) for output in runtime.task.outputs}
    if runtime.task.kind == "pair":
        results = runtime.predict_pairs([(text, text) for text in TEXTS])
    else:
        results = [*runtime.predict(TEXTS), *runtime.predict(TEXTS[:1])]
        results += runtime.predict_words([["play", "blur", ""], []])
    for result in results:
        if result.tags is not None:
            assert len(result.tags) == len(result.words)
            assert {*result.tags} <= labels["word"]
        if result.label is not None:
            assert result.label in labels["sequence"]
            assert math.isfinite(result.label_score)
        assert all(math.isfinite(span.score) for span in result.spans)
    assert description
    return json.dumps([result.to_dict() for result in results], ensure_ascii=False)
