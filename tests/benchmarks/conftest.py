"""Tiny model files, converted for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfdistil.benchmarks.shapes import TransformerSize, build

TINY = TransformerSize(
    layers=2, hidden_dim=16, heads=2, intermediate_dim=32, vocabulary=60, positions=20, labels=3
)
LENGTH, BATCH = 8, 4  # of both files


@pytest.fixture(scope="session")
def tiny() -> TransformerSize:
    return TINY


@pytest.fixture(scope="session")
def shape_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("shape") / "tiny.tflite"
    path.write_bytes(build(TINY, LENGTH, BATCH))
    return path


@pytest.fixture(scope="session")
def student_file(tmp_path_factory) -> Path:
    from tfdistil.exporting.convert import Entry, convert
    from tfdistil.students import build_student

    student = build_student(
        "bilstm", vocabulary=60, embedding=4, hidden_dim=6, outputs={"tags": ("word", 3)}, seed=0
    )
    entries = {
        name: Entry(*student.export_function(LENGTH, rows))
        for name, rows in (("online", 1), ("batch", BATCH))
    }
    path = tmp_path_factory.mktemp("student") / "student.tflite"
    path.write_bytes(convert(student, entries, "dynamic"))
    return path


def write_untrained(out, task, examples, tokenizer, hidden_dim, **options) -> Path:
    """The file of a BiLSTM that has learnt nothing and answers texts.

    Args:
        out: where to.
        task, examples, tokenizer: of the file.
        hidden_dim: of the BiLSTM.
        options: of `export_student`.
    """
    import keras

    from tfdistil.exporting import export_student
    from tfdistil.students import build_student
    from tfdistil.text.subwords import SubwordFeaturizer
    from tfdistil.text.words import WordSplitter

    keras.utils.set_random_seed(0)
    student = build_student(
        "bilstm",
        vocabulary=tokenizer.get_vocab_size(),
        embedding=4,
        hidden_dim=hidden_dim,
        outputs={o.name: (o.level, len(o.labels)) for o in task.outputs},
        seed=0,
    )
    featurizer = SubwordFeaturizer.from_tokenizer(tokenizer, 16)
    arguments = (student, task, featurizer, WordSplitter("unicode"))
    export_student(*arguments, examples=examples, out=out, max_drop=100.0, **options)
    return out


@pytest.fixture(scope="session")
def slots_file(tmp_path_factory) -> Path:
    """An int8 model of intents and slots."""
    from tfdistil.data.demo.generator import generate
    from tfdistil.tasks import IntentSlots
    from tfdistil.text.train_tokenizer import train_wordpiece

    examples = generate("intent_slots", "train", 40, seed=0, languages=("en",))
    tokenizer = train_wordpiece([" ".join(e.words) for e in examples], 200)
    task = IntentSlots.from_examples(examples)
    path = tmp_path_factory.mktemp("slots") / "slots.tflite"
    options = {"quantize": "int8", "length": 16, "batch": 4}
    return write_untrained(path, task, examples, tokenizer, hidden_dim=6, **options)


@pytest.fixture(scope="session")
def pqrnn_file(tmp_path_factory) -> Path:
    """An int8 pQRNN of intents and slots that has learnt nothing but its ranges."""
    from tfdistil.data.demo.generator import generate
    from tfdistil.distill.rows import encode_rows
    from tfdistil.exporting import export_student
    from tfdistil.students.pqrnn import PqrnnStudent
    from tfdistil.tasks import IntentSlots
    from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec
    from tfdistil.text.words import WordSplitter

    examples = generate("intent_slots", "train", 40, seed=0, languages=("en",))
    task = IntentSlots.from_examples(examples)
    student = PqrnnStudent(
        {o.name: (o.level, len(o.labels)) for o in task.outputs},
        features=64,
        bottleneck=32,
        layers=2,
        state=32,
        zoneout=0.0,
        projection_dropout=0.0,
        quantize="keras",
        seed=0,
    )
    featurizer = ProjectionFeaturizer(ProjectionSpec((("murmur", 64),)), 16)
    rows = encode_rows(examples, featurizer, None)
    student(rows.inputs(range(len(rows))), training=True)
    path = tmp_path_factory.mktemp("pqrnn") / "pqrnn.tflite"
    arguments = (student, task, featurizer, WordSplitter("unicode"))
    options = {"quantize": "int8", "length": 16, "batch": 4, "max_drop": 100.0}
    export_student(*arguments, examples=examples, out=path, **options)
    return path
