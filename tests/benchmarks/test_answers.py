"""Answers of two devices, compared."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tfdistil import Runtime
from tfdistil.benchmarks.answers import Answers, agreement, answer, scales
from tfdistil.errors import DataError


def answers(labels: str, **logits: list[float]) -> Answers:
    return Answers(
        tuple(tuple(text) for text in labels.split()),
        {name: np.float32(values) for name, values in logits.items()},
    )


def test_differences_are_counted():
    here = answers("OBI OO BB", tags=[0.5, 1.0, -2.0], label=[0.25, 0.5])
    there = answers("OBB OO BO", tags=[0.5, 1.5, -2.25], label=[0.25, 0.625])
    assert agreement(here, there, {"tags": 0.25, "label": 0.0}) == {
        "texts": 3,
        "labels": 7,
        "same": 5 / 7,
        "other_texts": 2,
        "most_quanta": 2.0,
        "most_difference": 0.125,
    }
    alike = agreement(here, here, {"tags": 0.25, "label": 0.25})
    assert (alike["same"], alike["most_quanta"], alike["most_difference"]) == (1.0, 0.0, None)


def test_other_texts_are_no_disagreement():
    here, there = answers("OB", tags=[0.5]), answers("OBI", tags=[0.5])
    with pytest.raises(DataError, match="answers to other texts"):
        agreement(here, there, {"tags": 0.0})


def test_every_bit_goes_through_json():
    sent = answers("OB", tags=[0.1, -1e-30, 3e38])
    got = Answers.from_json(json.loads(json.dumps(sent.to_json())))
    assert got.labels == sent.labels
    assert np.array_equal(got.logits["tags"], sent.logits["tags"])


def test_they_are_those_of_the_runtime(slots_file):
    texts = ["play jazz", "", "wake me up at seven " * 20]
    runtime = Runtime(slots_file)
    found = answer(runtime, texts)
    for labels, result in zip(found.labels, runtime.predict(texts), strict=True):
        assert labels == (*result.tags, result.label)
    # The text of a hundred words is several windows; all its words have logits.
    assert found.logits["slots"].size == 102 * len(runtime.task.outputs[0].labels)
    (quantum,) = {scales(slots_file)[name] for name in ("slots",)}
    steps = found.logits["slots"] / quantum
    assert np.abs(steps - np.round(steps)).max() < 1e-3
