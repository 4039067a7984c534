"""The pQRNN student quantized: warm start, training, and the int8 file."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from tfdistil.distill.freezing import set_trainable
from tfdistil.exporting.convert import Entry, convert
from tfdistil.exporting.inspect import inspect_model
from tfdistil.students.pqrnn import PqrnnStudent

OUTPUTS = {"slots": ("word", 7), "intent": ("sequence", 4)}
FEATURES, WORDS = 64, 24


def make(**options):
    settings = {"features": FEATURES, "bottleneck": 16, "layers": 2, "state": 8, "momentum": 0.8}
    return PqrnnStudent(OUTPUTS, seed=1, name="pqrnn", **{**settings, **options})


def data(count, time, seed=0):
    """Sentences of random words; slots follow from the word and the one before, the intent from
    the first word."""
    vocabulary = np.random.default_rng(9).integers(0, 256, (WORDS, FEATURES // 4)).astype(np.uint8)
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, time + 1, count)
    lengths[:2] = time, time - 1
    mask = (np.arange(time) < lengths[:, None]).astype(np.int32)
    words = rng.integers(0, WORDS, (count, time))
    before = np.pad(words, ((0, 0), (1, 0)))[:, :-1]
    inputs = {
        "fingerprint": vocabulary[words] * mask[..., None].astype(np.uint8),
        "attention_mask": mask,
    }
    slots = (words + before % 2) % OUTPUTS["slots"][1]
    return inputs, np.where(mask == 1, slots, -1), words[:, 0] % OUTPUTS["intent"][1]


class Fitted(keras.Model):
    """The student behind plain ``fit``: two cross-entropies, gold intents for the slots."""

    def __init__(self, student):
        super().__init__()
        self.student = student

    def call(self, inputs, training=None):
        return self.student(inputs, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        losses = sum(self.student.losses)
        for name in OUTPUTS:
            gold = tf.cast(y[name], tf.int32)
            real = tf.cast(gold >= 0, tf.float32)
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(
                tf.maximum(gold, 0), y_pred[f"labels/{name}"]
            )
            losses += tf.reduce_sum(each * real) / tf.reduce_sum(real)
        return losses


def fit(student, epochs, rate):
    inputs, slots, intents = data(256, 8)
    model = Fitted(student)
    model.compile(keras.optimizers.Adam(rate))
    keras.utils.set_random_seed(3)
    model.fit(
        {**inputs, "target/intent": intents.astype(np.int32)},
        {"slots": slots, "intent": intents},
        batch_size=32,
        epochs=epochs,
        verbose=0,
    )


def accuracy(student):
    inputs, slots, _ = data(128, 8, seed=5)
    best = np.asarray(student(inputs)["labels/slots"]).argmax(-1)
    return float((best == slots)[slots >= 0].mean())


@pytest.fixture(scope="module")
def trained():
    """A float student that has learnt something, and the same one trained on, quantized."""
    student = make(zoneout=0.1, projection_dropout=0.0)
    fit(student, 12, 1e-2)
    quantized = student.quantized()
    fit(quantized, 2, 2e-3)
    set_trainable(quantized, [name for name, _ in quantized.layer_groups() if name != "statistics"])
    fit(quantized, 2, 2e-3)
    return student, quantized


def test_starts_with_the_same_weights():
    student = make(pooling="ifo")
    for _ in range(3):
        student(data(8, 6)[0], training=True)
    quantized = student.quantized()
    own = {weight.path: weight for weight in quantized.weights}
    for weight in student.weights:
        np.testing.assert_array_equal(own.pop(weight.path), weight)
    assert {path.split("/")[-1] for path in own} == {"low", "high", "batches"}
    with pytest.raises(ValueError, match="quantized by 'keras' already"):
        quantized.quantized()
    with pytest.raises(ValueError, match="unknown quantization engine 'x'"):
        student.quantized("x")


@pytest.mark.slow
def test_rounding_costs_little(trained):
    student, quantized = trained
    assert accuracy(student) > 0.7
    assert accuracy(quantized) > accuracy(student) - 0.05


@pytest.mark.slow
def test_every_tensor_is_on_its_grid(trained):
    _, quantized = trained
    signals = quantized(data(8, 8, seed=5)[0])
    ranges = {
        "embedding": quantized.bottleneck.range,
        "hidden": quantized.qrnns[-1].output_range,
        "sentence": quantized.attention.output_range,
        "labels/intent": quantized.head_layers["labels/intent"].range,
        "labels/slots": quantized.conditions["labels/slots"].range,
    }
    assert set(ranges) == set(signals)
    for name, observer in ranges.items():
        steps = np.asarray(signals[name]) / (float(observer.high - observer.low) / 255)
        np.testing.assert_allclose(steps, np.round(steps), atol=2e-3)
        assert len(np.unique(np.round(steps))) > 8


def test_engines_round_alike():
    student, (inputs, *_) = make(layers=1), data(8, 6)
    student(inputs, training=True)
    found = []
    for engine in ("keras", "tfmot"):
        quantized = student.quantized(engine)
        quantized(inputs, training=True)
        found.append(quantized(inputs))
    for name, value in found[0].items():
        np.testing.assert_array_equal(found[1][name], value)


@pytest.mark.parametrize("group", ["statistics", "ranges"])
def test_a_stage_can_let_a_group_rest(group):
    """As the groups of a stage in a recipe do."""
    student, (inputs, *_) = make(quantize="keras", layers=1), data(8, 6)
    student(inputs, training=True)
    others = [name for name, _ in student.layer_groups() if name != group]
    set_trainable(student, others)
    before = {name: [np.array(w) for w in ws] for name, ws in student.layer_groups()}
    student({**inputs, "fingerprint": inputs["fingerprint"] // 3}, training=True)
    for name in ("statistics", "ranges"):
        pairs = zip(dict(student.layer_groups())[name], before[name], strict=True)
        moved = any(not np.array_equal(now, then) for now, then in pairs)
        assert moved == (name != group)
    set_trainable(student, [*others, group])
    assert len(student.trainable_weights) == sum(w.trainable for w in student.weights)
    assert all(w.trainable for w in student.trainable_weights)


def file_of(student, length, batch=1, quantize="int8", calibration=None):
    entry = Entry(*student.export_function(length, batch))
    rows = data(64, length)[0] if calibration is None else calibration
    return convert(student, {"online": entry}, quantize, rows)


def run(flatbuffer, inputs, length):
    """Outputs of each row, padded to the length of the file: int8 values and floats."""
    runner = Interpreter(model_content=flatbuffer).get_signature_runner("online")
    details, found = runner.get_output_details(), []
    for row in range(len(inputs["attention_mask"])):
        short = {k: v[row : row + 1] for k, v in inputs.items()}
        missing = length - short["attention_mask"].shape[1]
        padded = {
            k: np.pad(v, [(0, 0), (0, missing)] + [(0, 0)] * (v.ndim - 2)) for k, v in short.items()
        }
        out = runner(**padded)
        found.append({k: v[0] for k, v in out.items()})
    scales = {k: details[k]["quantization"] for k in OUTPUTS}
    assert all(details[k]["dtype"] == np.int8 for k in OUTPUTS)
    return found, scales


@pytest.mark.slow
@pytest.mark.parametrize("which", ["float", "quantized"])
def test_the_file_is_all_int8_and_agrees(trained, which):
    student = trained[which == "quantized"]
    flatbuffer = file_of(student, 8)
    graph = inspect_model(flatbuffer)
    assert (graph.flex, graph.custom, graph.float_operator_count) == ((), (), 0)
    assert graph.operators["online"].keys() <= {
        "ADD", "ARG_MAX", "BATCH_MATMUL", "CAST", "CONCATENATION", "CONV_2D", "GATHER", "LOGISTIC",
        "MUL", "PACK", "PAD", "QUANTIZE", "REDUCE_MAX", "RESHAPE", "SOFTMAX", "STRIDED_SLICE",
        "SUB", "TANH", "UNPACK",
    }  # fmt: skip
    inputs, slots, _ = data(96, 8, seed=5)
    found, scales = run(flatbuffer, inputs, 8)
    signals = student(inputs)
    for name in OUTPUTS:
        scale, zero = scales[name]
        values = np.array([(row[name].astype(np.float32) - zero) * scale for row in found])
        expected = np.asarray(signals[f"labels/{name}"])
        if name == "slots":
            values, expected = values[slots >= 0], expected[slots >= 0]
        assert np.abs(values - expected).mean() < 0.1 * expected.std()
        assert (values.argmax(-1) == expected.argmax(-1)).mean() > 0.95


@pytest.mark.slow
@pytest.mark.long
def test_files_of_any_length_give_the_same_int8(trained):
    _, quantized = trained
    inputs, slots, _ = data(96, 8, seed=6)
    outputs = [run(file_of(quantized, length), inputs, length)[0] for length in (8, 16, 24)]
    for other in outputs[1:]:
        for row, (one, longer) in enumerate(zip(outputs[0], other, strict=True)):
            np.testing.assert_array_equal(one["intent"], longer["intent"])
            real = slots[row] >= 0
            np.testing.assert_array_equal(one["slots"][real], longer["slots"][:8][real])


@pytest.mark.slow
def test_the_file_calibrates_nothing(trained):
    """Rows that are full, and single rows of one word, give the same bytes."""
    _, quantized = trained
    inputs = data(64, 8)[0]
    full = {k: np.concatenate([v[:1]] * 8) for k, v in inputs.items()}
    assert full["attention_mask"].all()
    mask = np.eye(1, 8, dtype=np.int32)
    word = {
        "fingerprint": inputs["fingerprint"][5:6] * mask[..., None].astype(np.uint8),
        "attention_mask": mask,
    }
    expected = file_of(quantized, 8)
    for rows in (full, word):
        assert file_of(quantized, 8, calibration=rows) == expected
