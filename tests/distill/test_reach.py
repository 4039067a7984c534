"""What signals depend on, by the tape, against what the students' classes say they are made of."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.distill.reach import reached_groups
from tfdistil.students import build_student

OUTPUTS = {"slots": ("word", 3), "intent": ("sequence", 2)}
PIECES = {
    "input_ids": np.array([[2, 5, 3]], np.int32),
    "attention_mask": np.ones((1, 3), np.int32),
}
HASHES = {
    "fingerprint": np.full((1, 3, 4), 27, np.uint8),
    "attention_mask": np.ones((1, 3), np.int32),
}
LABELS = ("labels/slots", "labels/intent")


def bilstm(**options):
    sizes = {"vocabulary": 9, "embedding": 4, "hidden_dim": 3, "projection": 5}
    return build_student(kind="bilstm", outputs=OUTPUTS, seed=1, **sizes, **options)


def transformer():
    sizes = {"vocabulary": 9, "embedding": 4, "hidden_dim": 4, "layers": 2, "attention_heads": 2}
    return build_student(kind="transformer", outputs=OUTPUTS, seed=1, **sizes)


def pqrnn():
    sizes = {"features": 16, "bottleneck": 4, "layers": 1, "state": 3}
    return build_student(kind="pqrnn", outputs=OUTPUTS, seed=1, **sizes)


@pytest.mark.parametrize(
    ("make", "batch", "signals", "missing"),
    [
        (bilstm, PIECES, LABELS, {"projection"}),
        (lambda: bilstm(head_input="projection"), PIECES, LABELS, set()),
        (bilstm, PIECES, ("projection",), {"heads"}),
        (bilstm, PIECES, ("sentence_projection", *LABELS), set()),
        (bilstm, PIECES, ("embedding",), {"heads", "projection", "encoder"}),
        (transformer, PIECES, LABELS, set()),
        (transformer, PIECES, ("hidden/1",), {"heads", "block_2"}),
        (pqrnn, HASHES, LABELS, set()),
        (pqrnn, HASHES, ("embedding",), {"heads", "encoder"}),
        (lambda: pqrnn().quantized("keras"), HASHES, LABELS, set()),
        (lambda: pqrnn().quantized("tfmot"), HASHES, LABELS, set()),
    ],
)
def test_groups_that_signals_depend_on(make, batch, signals, missing):
    student = make()
    groups = [name for name, _ in student.layer_groups()]
    before = [np.array(weight) for weight in student.weights]
    expected = [name for name in groups if name not in missing]
    assert reached_groups(student, signals, batch) == expected
    for array, weight in zip(before, student.weights, strict=True):
        np.testing.assert_array_equal(array, weight)


def test_a_frozen_group_is_reached_all_the_same():
    """A stage before may have left it so."""
    student = bilstm()
    student.trainable = False
    found = reached_groups(student, LABELS, PIECES)
    assert found == ["heads", "encoder", "embedding"]


def test_a_teachers_lower_layers(teacher):
    batch = {**PIECES, "token_type_ids": np.zeros((1, 3), np.int32)}
    found = reached_groups(teacher.model, ["hidden/0"], batch)
    assert found == ["embeddings"]
