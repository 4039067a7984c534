"""A file whose words have shapes: it says so, and `Runtime` reads them as Keras does."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.export.conftest import sentence
from tfdistil.data.example import Example
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.rows import encode_rows
from tfdistil.exporting import export_student
from tfdistil.runtime import Runtime
from tfdistil.runtime.model_file import ModelFile
from tfdistil.students import build_student
from tfdistil.tasks import IntentSlots
from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec
from tfdistil.text.words import WordSplitter

LENGTH = 8


@pytest.mark.slow
def test_a_file_says_that_words_have_shapes(tmp_path):
    examples = [sentence(np.random.default_rng(seed)) for seed in range(40)]
    task = IntentSlots.from_examples(examples)
    # Few hashed features: what tells two words apart is mostly their shape.
    spec = ProjectionSpec((("murmur", 4),), shape=True)
    featurizer = ProjectionFeaturizer(spec, LENGTH)
    student = build_student(
        "pqrnn",
        outputs={o.name: (o.level, len(o.labels)) for o in task.outputs},
        features=spec.features,
        bottleneck=8,
        layers=1,
        state=8,
        seed=1,
    )
    path = tmp_path / "student.tflite"
    export_student(
        student,
        task,
        featurizer,
        WordSplitter("whitespace"),
        examples=examples,
        out=path,
        length=LENGTH,
        batch=3,
        quantize="none",
        max_drop=100,
    )
    assert json.loads(ModelFile.open(path).assets["projection.json"]) == spec.to_json()
    runtime = Runtime(path)
    texts = [("iPhone", "42", "-", "well-known", "don't"), ("IPHONE", "4.2", "a", "well", "dont")]
    found = runtime.logits([(words, None) for words in texts])
    rows = encode_rows([Example(words) for words in texts], featurizer, None)
    for one, expected in zip(found, Predictor(student, task, "labels").logits(rows), strict=True):
        for name, logits in expected.items():
            np.testing.assert_allclose(one[name], logits, atol=1e-4)
    slots = task.outputs[0].name
    assert np.abs(found[0][slots] - found[1][slots]).max() > 1e-3
