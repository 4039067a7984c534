"""Slots that depend on the intent."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.students import build_student
from tfdistil.students.intent_condition import IntentCondition

REAL = np.ones((2, 4, 1), np.float32)


@pytest.mark.parametrize("quantize", [None, "keras"])
def test_adds_the_row_of_the_intent_to_every_word(quantize):
    layer = IntentCondition(3, 5, l2=0.1, quantize=quantize)
    layer.build()
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 4, 5)).astype(np.float32)
    np.testing.assert_allclose(
        layer(logits, np.array([1, 2]), REAL, training=True), logits, atol=0.02
    )
    layer.kernel.assign(0.3 * rng.normal(size=(3, 5)).astype(np.float32))
    table = np.asarray(layer.kernel)
    expected = logits + table[[2, 0]][:, None]
    for _ in range(80):
        found = layer(logits, np.array([2, 0]), REAL, training=True)
    np.testing.assert_allclose(found, expected, atol=0.03 if quantize else 1e-6)
    np.testing.assert_allclose(sum(layer.losses), 0.1 * (table**2).sum(), rtol=1e-5)


def test_config_round_trip():
    layer = IntentCondition(3, 5, 0.1, "keras", name="x")
    assert IntentCondition.from_config(layer.get_config()).get_config() == layer.get_config()


PIECES = {"vocabulary": 9, "embedding": 4, "intent_condition": True, "dropout": 0.0, "seed": 1}
STUDENTS = {
    "bilstm": {"hidden_dim": 5},
    "piece_mixer": {"hidden_dim": 5, "bottleneck": 4, "max_positions": 8},
    "piece_qrnn": {"state": 4, "bottleneck": 4, "layers": 1},
    "transformer": {"hidden_dim": 8, "layers": 1, "attention_heads": 2},
}


@pytest.mark.parametrize("kind", STUDENTS)
def test_students_of_pieces_may_depend_on_the_intent(kind):
    """On the gold one in training, or the teacher's best; on their own at inference."""
    outputs = {"slots": ("word", 5), "intent": ("sequence", 3)}
    student = build_student(kind, outputs=outputs, **PIECES, **STUDENTS[kind])
    rows = {"input_ids": np.array([[1, 2, 3], [4, 5, 6]], np.int32)}
    free = np.asarray(student(rows)["labels/slots"])
    table = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    student.conditions["labels/slots"].kernel.assign(table)
    predicted = np.asarray(student(rows)["labels/intent"]).argmax(-1)
    given = {
        "target/intent": np.array([2, -1], np.int32),
        "teacher/logits/intent": np.array([[9, 0, 0], [0, 9, 0]], np.float32),
    }
    found = student({**rows, **given})["labels/slots"]
    np.testing.assert_allclose(found, free + table[predicted][:, None], atol=1e-5)
    if kind != "piece_qrnn":  # whose statistics are those of the batch in training
        found = student({**rows, **given}, training=True)["labels/slots"]
        np.testing.assert_allclose(found, free + table[[2, 1]][:, None], atol=1e-5)
    assert "labels_slots_condition" in " ".join(
        w.path for w in dict(student.layer_groups())["heads"]
    )
