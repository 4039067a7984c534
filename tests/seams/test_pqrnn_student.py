"""The real pQRNN student in the schedule of `test_pqrnn`: float, quantized, statistics frozen."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from tfdistil.distill.schedule import Schedule
from tfdistil.students.pqrnn import PqrnnStudent
from tfdistil.tasks import IntentSlots
from tfdistil.text.featurizer import Window

FEATURES = 32

MODELS = """
  teacher: {scratch: {layers: 1, hidden_dim: 8}}
  float: {kind: pqrnn}
  student: {kind: pqrnn}
"""
TERM = "{loss: soft_cross_entropy, stream: [train, augmented], scale: 0.5}"
STAGES = f"""
  - name: float
    student: float
    terms: [{TERM}]
    optimizer: {{learning_rate: 1.0e-2}}
    batch_size: 8
    stop: {{epochs: 6, monitor: loss, on: dev}}
  - name: quantized
    student: student
    terms: [{TERM}]
    optimizer: {{learning_rate: 3.0e-3}}
    batch_size: 8
    stop: {{epochs: 2, monitor: loss, on: dev}}
  - name: rest
    student: student
    terms: [{TERM}]
    groups: [heads, encoder, bottleneck, ranges]
    optimizer: {{learning_rate: 3.0e-3}}
    batch_size: 8
    stop: {{epochs: 2, monitor: loss, on: dev}}
"""


class Fingerprints:
    """The bytes of a word from its hash, a token per word."""

    kind, max_length = "fingerprints", 32
    padding = {"fingerprint": 0}  # noqa: RUF012

    def encode(self, words, second=None):
        codes = [np.random.default_rng(zlib.crc32(word.encode())) for word in words]
        rows = np.stack([code.integers(0, 256, FEATURES // 4) for code in codes])
        tokens = np.arange(len(words), dtype=np.int32)
        return [Window({"fingerprint": rows.astype(np.uint8)}, tokens, tokens, (0, len(words)))]

    def encode_batch(self, texts):
        return [self.encode(*text) for text in texts]

    def to_assets(self):
        return {}

    def to_json(self):
        return {"kind": self.kind}


@pytest.mark.slow
@pytest.mark.long
def test_float_then_quantized_then_at_rest(
    recipe, named, on_demand, encoder, subwords, corpus, tmp_path, curves, watch
):
    sets = {"train": corpus(24, 1), "augmented": corpus(40, 2, labelled=False), "dev": corpus(8, 3)}
    task = IntentSlots.from_examples(sets["train"])
    outputs = {o.name: (o.level, len(o.labels)) for o in task.outputs}
    teacher = encoder(1, outputs)
    student = PqrnnStudent(
        outputs, FEATURES, bottleneck=8, layers=2, state=6, momentum=0.8, seed=3, name="pqrnn"
    )
    models = on_demand(
        {
            "teacher": lambda models: named(teacher, subwords),
            "float": lambda models: named(student, Fingerprints()),
            "student": lambda models: named(models["float"].model.quantized(), Fingerprints()),
        }
    )
    schedule = Schedule(models, sets, task, tmp_path, seed=3, callbacks=watch)
    stages = recipe(MODELS, STAGES, task="intent_slots").distill
    assert schedule.run(stages) == {"float": 48, "student": 16 + 16}
    float_groups = {"heads", "encoder", "bottleneck", "statistics"}
    assert watch.moved("float") == float_groups
    assert watch.moved("quantized") == float_groups | {"ranges"}
    assert watch.moved("rest") == float_groups - {"statistics"} | {"ranges"}
    curve = curves(schedule)
    assert min(curve("float")) < 0.95 * curve("float")[0]
    # Rounding does not undo what was learnt.
    assert min(curve("rest")) < 0.5 * (curve("float")[0] + min(curve("float")))
