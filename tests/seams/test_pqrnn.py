"""pQRNN (Kaliamoorthi et al. 2021): a float stage, then one on the same student quantized."""

from __future__ import annotations

import zlib

import keras
import numpy as np
import pytest
from keras import ops

from tfdistil.distill.schedule import Schedule
from tfdistil.distill.streams import RowStream, concatenate_rows
from tfdistil.tasks import IGNORE, IntentSlots
from tfdistil.text.featurizer import Window

FEATURES, WIDTH = 24, 8
L2 = 1e-3

MODELS = """
  teacher: {scratch: {layers: 1, hidden_dim: 8}}
  float: {kind: tiny_pqrnn}
  student: {kind: tiny_pqrnn}
"""
# A term without `output:` stands for intent and slots. The normalisation rests while quantized.
STAGES = """
  - name: float
    student: float
    terms: [{loss: soft_cross_entropy, stream: [train, augmented], scale: 0.5}]
    optimizer: {learning_rate: 2.0e-2}
    batch_size: 8
    stop: {epochs: 6, monitor: loss, on: dev}
  - name: quantized
    student: student
    terms: [{loss: soft_cross_entropy, stream: [train, augmented], scale: 0.5}]
    groups: [heads, encoder, bottleneck, ranges]
    optimizer: {learning_rate: 1.0e-2}
    batch_size: 8
    stop: {epochs: 4, monitor: loss, on: dev}
"""


class HashedWords:
    """A vector of -1, 0 and 1 for each word, from its hash: no vocabulary, one token per word."""

    kind, max_length = "hashed_words", 32
    padding = {"projection": 0}  # noqa: RUF012

    def encode(self, words, second=None):
        rows = [self.features(word) for word in words]
        tokens = np.arange(len(words), dtype=np.int32)
        return [Window({"projection": np.stack(rows)}, tokens, tokens, (0, len(words)))]

    def encode_batch(self, texts):
        return [self.encode(*text) for text in texts]

    @staticmethod
    def features(word):
        codes = np.random.default_rng(zlib.crc32(word.encode())).integers(0, 4, FEATURES)
        return np.array([-1, 0, 0, 1], "float32")[codes]

    def to_assets(self):
        return {}

    def to_json(self):
        return {"kind": self.kind}


class Rounded(keras.layers.Layer):
    """Fake quantization to 8 bits in a range that follows what it sees while it may learn."""

    def __init__(self, name):
        super().__init__(name=name)
        self.limit = self.add_weight(
            (), keras.initializers.Constant(4.0), trainable=False, name="limit"
        )

    def call(self, x, training=False):
        if training and self.trainable:
            self.limit.assign(0.8 * self.limit + 0.2 * ops.max(ops.abs(x)))
        limit = ops.convert_to_tensor(self.limit)
        return keras.quantizers.fake_quant_with_min_max_vars(x, -limit, limit)


class TinyPqrnn(keras.Model):
    """Bottleneck with masked normalisation, an encoder, and slots that depend on the intent.

    The recurrence is left out: no seam runs through it.
    """

    def __init__(self, slots, intents, quantize=False):
        super().__init__(name="pqrnn")
        self.sizes = (slots, intents)
        self.bottleneck = keras.layers.Dense(
            WIDTH,
            kernel_initializer=keras.initializers.GlorotUniform(3),
            kernel_regularizer=keras.regularizers.L2(L2),
            name="bottleneck",
        )
        self.norm = keras.layers.BatchNormalization(momentum=0.5, name="norm")
        self.encoder = keras.layers.Conv1D(
            WIDTH,
            3,
            padding="same",
            activation="tanh",
            kernel_initializer=keras.initializers.GlorotUniform(4),
            name="encoder",
        )
        self.pool = keras.layers.Dense(1, use_bias=False, name="pool")
        self.slots = keras.layers.Dense(slots, name="slots")
        self.intent = keras.layers.Dense(intents, name="intent")
        self.condition = self.add_weight((intents, slots), "zeros", name="condition")
        self.ranges = [Rounded(name) for name in ("hidden", "encoded")] if quantize else []
        one = {"projection": np.zeros((1, 2, FEATURES), "float32")}
        self({**one, "attention_mask": np.ones((1, 2), "int32")})

    def call(self, inputs, training=False):
        real = ops.cast(inputs["attention_mask"], "bool")
        there = ops.expand_dims(ops.cast(real, "float32"), -1)
        hidden = self.norm(self.bottleneck(inputs["projection"]), training=training, mask=real)
        hidden = self.rounded(0, ops.relu(hidden) * there, training)
        encoded = self.rounded(1, self.encoder(hidden), training)
        attention = ops.exp(self.pool(encoded)) * there
        attention = attention / ops.sum(attention, axis=1, keepdims=True)
        intent = self.intent(ops.sum(attention * encoded, axis=1))
        chosen = ops.cast(ops.argmax(intent, axis=-1), "int32")
        # Teacher forcing, where there is a gold intent.
        if training and "target/intent" in inputs:
            gold = inputs["target/intent"]
            chosen = ops.where(gold >= 0, gold, chosen)
        slots = self.slots(encoded) + ops.expand_dims(ops.take(self.condition, chosen, axis=0), 1)
        return {"hidden": hidden, "labels/intent": intent, "labels/slots": slots}

    def rounded(self, place, x, training):
        return self.ranges[place](x, training=training) if self.ranges else x

    def level(self, signal):
        return {"hidden": "subword", "labels/slots": "subword", "labels/intent": "sequence"}[signal]

    def layer_groups(self):
        heads = [w for layer in (self.slots, self.intent, self.pool) for w in layer.weights]
        groups = [
            ("heads", [*heads, self.condition]),
            ("encoder", self.encoder.weights),
            ("normalization", self.norm.weights),
            ("bottleneck", self.bottleneck.weights),
        ]
        ranges = [layer.limit for layer in self.ranges]
        return [*groups, ("ranges", ranges)] if ranges else groups

    def quantized(self):
        """The same weights with rounding between the layers."""
        model = TinyPqrnn(*self.sizes, quantize=True)
        mine = dict(model.layer_groups())
        for name, weights in self.layer_groups():
            for weight, start in zip(mine[name], weights, strict=True):
                weight.assign(start)
        return model


@pytest.fixture
def sets(corpus):
    return {
        "train": corpus(24, 1),
        "augmented": corpus(40, 2, labelled=False),
        "dev": corpus(8, 3),
    }


@pytest.fixture
def task(sets):
    return IntentSlots.from_examples(sets["train"])


@pytest.fixture
def models(named, on_demand, encoder, subwords, task):
    """Makes the models; the quantized student only when its stage begins."""
    sizes = [len(output.labels) for output in task.outputs]
    teacher = encoder(1, {o.name: (o.level, len(o.labels)) for o in task.outputs})

    def make():
        return on_demand(
            {
                "teacher": lambda models: named(teacher, subwords),
                "float": lambda models: named(TinyPqrnn(*sizes), HashedWords()),
                "student": lambda models: named(models["float"].model.quantized(), HashedWords()),
            }
        )

    return make


def log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def soft_cross_entropies(student, teacher, examples, scale):
    """The terms of slots and intent, one text at a time, the student on its own."""
    slots, intents = [], []
    for example in examples:
        found = []
        for model in (student, teacher):
            (window,) = model.featurizer.encode(example.words)
            inputs = {name: array[None] for name, array in window.inputs.items()}
            inputs["attention_mask"] = np.ones((1, window.length), "int32")
            found.append((model.model(inputs), window.tokens))
        (s, s_units), (t, t_units) = found
        pairs = (
            (slots, s["labels/slots"][0], s_units, t["logits/slots"][0], t_units),
            (intents, s["labels/intent"], [0], t["logits/intent"], [0]),
        )
        for values, mine, my_units, theirs, their_units in pairs:
            p = np.exp(log_softmax(scale * np.array(theirs, "float64")[their_units]))
            values.extend(-(p * log_softmax(np.array(mine, "float64")[my_units])).sum(-1))
    return np.mean(slots), np.mean(intents)


def weight_decay(model):
    return L2 * (np.array(model.bottleneck.kernel, "float64") ** 2).sum()


def test_a_float_stage_and_a_quantized_one(recipe, models, sets, task, tmp_path, curves, watch):
    stages = recipe(MODELS, STAGES, task="intent_slots").distill
    first = models()
    start = sum(soft_cross_entropies(first["float"], first["teacher"], sets["dev"], 0.5))
    start += weight_decay(first["float"].model)
    schedule = Schedule(first, sets, task, tmp_path, seed=3, callbacks=watch)
    assert "student" not in first.made
    # 24 + 40 sentences in one stream, 8 at a time.
    assert schedule.run(stages) == {"float": 6 * 8, "student": 4 * 8}
    curve = curves(schedule)
    assert curve("float")[0] == pytest.approx(start, rel=1e-4)

    for phase, name in (("float", "float"), ("quantized", "student")):
        slots, intent = soft_cross_entropies(first[name], first["teacher"], sets["dev"], 0.5)
        best = slots + intent + weight_decay(first[name].model)
        assert min(curve(phase)) == pytest.approx(best, rel=1e-3)
        parts = [f"soft_cross_entropy.{output}.train+augmented" for output in ("slots", "intent")]
        loss = np.array(curve(phase, "loss"))
        assert (loss > np.sum([curve(phase, part) for part in parts], axis=0)).all()
        assert loss[-1] < loss[0]
    assert min(curve("float")) < 0.9 * curve("float")[0]
    assert min(curve("quantized")) < curve("quantized")[0]

    # The statistics move with their group, and rest with it; so do the ranges.
    assert watch.moved("float") == {"heads", "encoder", "normalization", "bottleneck"}
    assert "normalization pqrnn/norm/moving_mean" in watch.moved_weights("float")
    assert watch.moved("quantized") == {"heads", "encoder", "bottleneck", "ranges"}
    trained = watch.after["float"]
    for name, array in watch.before["quantized"].items():
        np.testing.assert_array_equal(array, trained.get(name, 4.0))
    for name, group in first["float"].model.layer_groups():
        for weight in group:
            np.testing.assert_array_equal(weight, trained[f"{name} {weight.path}"])

    # What is between the layers are whole numbers of steps.
    student = first["student"].model
    hidden = student(schedule.rows("student", "dev").inputs(range(8)))["hidden"]
    steps = np.array(hidden) / (2 * np.array(student.ranges[0].limit) / 255)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-3)
    assert len(np.unique(np.round(steps))) > 8

    phases, again = list(watch.after), models()
    resumed = Schedule(again, sets, task, tmp_path, seed=3, callbacks=watch)
    assert resumed.run(stages) == {"float": 6 * 8, "student": 4 * 8}
    assert list(watch.after) == phases == ["float", "quantized"]
    for name in ("float", "student"):
        pairs = zip(first[name].model.weights, again[name].model.weights, strict=True)
        for one, other in pairs:
            np.testing.assert_array_equal(one, other)


def test_gold_intents_reach_the_student_in_training_only(models, sets, task, tmp_path):
    made = models()
    schedule = Schedule(made, sets, task, tmp_path, seed=3)
    rows = concatenate_rows([schedule.rows("float", name) for name in ("train", "augmented")])
    chosen = [0, 1, 2, 24, 25]  # the last two are augmented
    batch = RowStream(rows, task.outputs).batch(chosen, np.random.default_rng(0))
    gold = [int(task.targets(example)["intent"]) for example in sets["train"][:3]]
    assert batch["target/intent"].tolist() == [*gold, IGNORE, IGNORE]

    student = made["float"].model
    condition = np.random.default_rng(1).normal(size=student.condition.shape)
    student.condition.assign(condition)
    inputs = {name: array for name, array in batch.items() if not name.startswith("target/")}

    def slots(given, training):
        return np.array(student(given, training=training)["labels/slots"])

    free = slots(inputs, True)
    own = np.array(student(inputs, training=True)["labels/intent"]).argmax(-1)
    expected = np.zeros_like(free)
    for row, intent in enumerate(gold):
        expected[row] = condition[intent] - condition[own[row]]
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(slots(batch, True) - free, expected, atol=1e-5)
    np.testing.assert_array_equal(slots(batch, False), slots(inputs, False))


def test_layer_groups_cover_statistics_and_ranges(models):
    for name, last in (("float", "bottleneck"), ("student", "ranges")):
        model = models()[name].model
        groups = model.layer_groups()
        assert groups[-1][0] == last
        paths = [weight.path for _, weights in groups for weight in weights]
        assert sorted(paths) == sorted(weight.path for weight in model.weights)
