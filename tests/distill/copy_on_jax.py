"""For test_backends: layers copied to another encoder, whose arrays are then given away."""

from __future__ import annotations

import jax
import numpy as np
from keras import ops

from tfdistil.distill.weights import copy_groups
from tfdistil.encoders import scratch_encoder
from tfdistil.models.masked_language import copy_body

BATCH = {
    "input_ids": np.ones((2, 5), np.int32),
    "attention_mask": np.ones((2, 5), np.int32),
}


def build(seed: int):
    model = scratch_encoder(30, 8, layers=2, max_positions=12, heads={"logits": "mlm"}, seed=seed)
    model(BATCH)
    return model


teacher, student, other = build(1), build(2), build(3)
groups = [name for name, _ in teacher.layer_groups()]
copy_groups(teacher, student, dict(zip(groups, groups, strict=True)))
copy_body(teacher, other)
before = [ops.convert_to_numpy(weight).copy() for weight in teacher.weights]
give_away = jax.jit(lambda values: [value + 1 for value in values], donate_argnums=0)
for model in (student, other):
    give_away([weight.value for weight in model.weights])
teacher(BATCH)
for weight, value in zip(teacher.weights, before, strict=True):
    np.testing.assert_array_equal(weight, value)
