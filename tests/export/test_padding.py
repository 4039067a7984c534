"""Students exported with documents, whose windows are all full, then asked about short texts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.export.conftest import fit
from tests.others_long import others_long
from tfdistil.data.example import Example
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.rows import encode_rows
from tfdistil.exporting import export_student
from tfdistil.exporting.exporter import featurizer_at_length
from tfdistil.runtime import Runtime
from tfdistil.students import build_student
from tfdistil.tasks import Classes
from tfdistil.text.projection.featurizer import ProjectionFeaturizer
from tfdistil.text.projection.spec import ProjectionSpec
from tfdistil.text.subwords import SubwordFeaturizer
from tfdistil.text.train_tokenizer import train_wordpiece
from tfdistil.text.words import WordSplitter

LENGTH = 32
GOOD, BAD = ([f"{a}{b}" for b in ("a", "e", "i", "o", "u")] for a in ("go", "ba"))


def text(rng: np.random.Generator, least: int, most: int) -> Example:
    """Good words, bad words, or as many of each.

    What counts is an average, and the class in the middle has no words of its own: an average over
    padding too is nearer to the middle.
    """
    size = 2 * int(rng.integers(least, most + 1))
    share = {"good": 1.0, "mixed": 0.5, "bad": 0.0}
    label = str(rng.choice(list(share)))
    good = int(share[label] * size)
    words = [*rng.choice(GOOD, good), *rng.choice(BAD, size - good)]
    return Example(tuple(map(str, rng.permutation(words))), label=label)


def texts(seed: int, count: int, least: int, most: int) -> list[Example]:
    rng = np.random.default_rng(seed)
    return [text(rng, least, most) for _ in range(count)]


def make(kind: str, task: Classes, train: list[Example]):
    outputs = {o.name: (o.level, len(o.labels)) for o in task.outputs}
    if kind == "transformer":
        tokenizer = train_wordpiece([" ".join(e.words) for e in train], 200)
        featurizer = SubwordFeaturizer.from_tokenizer(tokenizer, LENGTH)
        student = build_student(
            "transformer",
            vocabulary=tokenizer.get_vocab_size(),
            embedding=16,
            hidden_dim=16,
            layers=1,
            outputs=outputs,
            max_positions=LENGTH,
            seed=1,
        )
        fit(student, featurizer, task, train, 10)
        return student, featurizer
    featurizer = ProjectionFeaturizer(ProjectionSpec((("murmur", 64),)), LENGTH)
    student = build_student(
        "pqrnn",
        outputs=outputs,
        features=64,
        bottleneck=16,
        layers=1,
        state=12,
        zoneout=0.0,
        projection_dropout=0.0,
        momentum=0.8,
        seed=1,
    )
    fit(student, featurizer, task, train, 10)
    if kind == "quantized":
        student = student.quantized()
        fit(student, featurizer, task, train, 2, 2e-3)
    return student, featurizer


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", others_long(["pqrnn", "quantized", "transformer"], ["quantized", "transformer"])
)
def test_short_texts_after_calibration_on_documents(kind, tmp_path):
    train = [*texts(1, 300, 1, 6), *texts(2, 100, 12, 15)]
    documents, short = texts(3, 60, LENGTH, 2 * LENGTH), texts(4, 300, 1, 3)
    task = Classes.from_examples(train)
    student, featurizer = make(kind, task, train)
    rows = encode_rows(documents, featurizer_at_length(featurizer, LENGTH), None)
    assert rows.lengths.min() == LENGTH  # calibration sees no padding

    path = tmp_path / "student.tflite"
    export_student(
        student,
        task,
        featurizer,
        WordSplitter("whitespace"),
        examples=documents,
        out=path,
        length=LENGTH,
        batch=8,
        max_drop=5.0,
    )
    found = Runtime(path).logits([(e.words, None) for e in short])
    expected = Predictor(student, task, "labels").logits(encode_rows(short, featurizer, None))
    (output,) = (o.name for o in task.outputs)
    best, best_in_keras = (
        np.array([one[output].argmax() for one in logits]) for logits in (found, expected)
    )
    gold = np.array([task.targets(e)[output] for e in short])
    assert (best_in_keras == gold).mean() > 0.9
    assert (best == best_in_keras).mean() >= 0.99
