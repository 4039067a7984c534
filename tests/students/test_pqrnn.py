"""The pQRNN student: its parts put together, and what the contract of all students leaves open."""

from __future__ import annotations

from itertools import product

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from tests.students.hashed import TASKS, assert_a_few_steps_lower_the_loss, batch
from tfdistil.distill.freezing import set_trainable
from tfdistil.exporting.convert import Entry, convert
from tfdistil.exporting.inspect import inspect_model
from tfdistil.quantization import RangeObserver
from tfdistil.students.pqrnn import PqrnnStudent

SMALL = {"features": 32, "bottleneck": 8, "layers": 2, "state": 6, "momentum": 0.8}
every_task = pytest.mark.parametrize("task", TASKS)


def make(task="intent_slots", seed=1, **options):
    return PqrnnStudent(TASKS[task], seed=seed, **{**SMALL, **options})


def trained(model, rows, steps=6, seed=2):
    """The model after some steps, whose statistics and ranges know such rows."""
    rng = np.random.default_rng(seed)
    for condition in model.conditions.values():
        condition.kernel.assign(rng.normal(size=condition.kernel.shape).astype(np.float32))
    for _ in range(steps):
        model(rows, training=True)
    return model


def test_the_defaults_have_two_million_parameters():
    student = PqrnnStudent({"slots": ("word", 78), "intent": ("sequence", 117)})
    assert 1.85e6 < student.count_params() < 2e6
    assert [layer.zoneout for layer in student.qrnns] == [0.5, 0.25, 0.125, 0.0625]


def test_bottleneck_and_encoder_by_hand():
    model = trained(make(projection_dropout=0.0), rows := batch([3, 7], 7))
    real = rows["attention_mask"][..., None].astype(np.float32)
    pairs = (rows["fingerprint"][..., None] >> np.array([0, 2, 4, 6])) & 3
    x = np.array([0, 1, -1, 0])[pairs].reshape(2, 7, 32)
    norm = model.bottleneck.norm
    y = x @ np.asarray(model.bottleneck.kernel)[0, 0] - np.array(norm.statistics.mean)
    y = y / np.sqrt(np.array(norm.statistics.variance) + 1e-3) * np.array(norm.gamma)
    embedding = np.maximum(y + np.array(norm.beta), 0) * real
    signals = model(rows)
    np.testing.assert_allclose(signals["embedding"], embedding, atol=1e-5)
    hidden = signals["embedding"]
    for layer in model.qrnns:
        hidden = layer(hidden, real)
    np.testing.assert_allclose(signals["hidden"], hidden, atol=1e-6)


@pytest.mark.parametrize(
    ("quantize", "task"),
    [
        *product([None], TASKS),
        ("keras", "intent_slots"),
        *(pytest.param("keras", t, marks=pytest.mark.long) for t in ("tags", "classes")),
    ],
)
def test_a_few_steps_lower_the_loss_and_reach_every_weight(task, quantize):
    model = make(task, quantize=quantize, projection_dropout=0.0, zoneout=0.1)
    assert_a_few_steps_lower_the_loss(model, task, rate=0.02)


def test_padding_and_batch_invariance():
    lengths = [4, 2, 7]
    rows = batch(lengths, 7)
    model = trained(make(pooling="ifo", taps=3), rows)
    together = model(rows)
    wide = {k: np.pad(v, [(0, 0), (0, 5)] + [(0, 0)] * (v.ndim - 2)) for k, v in rows.items()}
    wide["fingerprint"][wide["attention_mask"] == 0] = 9  # whatever is there
    padded = model(wide)
    for n, length in enumerate(lengths):
        alone = model({k: v[n : n + 1, :length] for k, v in rows.items()})
        for signal in model.signals():
            cut = slice(None, length) if model.level(signal) == "subword" else slice(None)
            expected = np.asarray(alone[signal])[0]
            np.testing.assert_allclose(together[signal][n][cut], expected, atol=1e-5)
            np.testing.assert_allclose(padded[signal][n][cut], expected, atol=1e-5)


def test_padding_changes_no_training_step():
    """Statistics, moving averages and the loss' gradients are those of the real positions."""
    rows = batch([4, 2, 7], 7)
    wide = {k: np.pad(v, [(0, 0), (0, 9)] + [(0, 0)] * (v.ndim - 2)) for k, v in rows.items()}
    found = []
    for inputs in (rows, wide):
        model = make(projection_dropout=0.0, zoneout=0.0)
        with tf.GradientTape() as tape:
            signals = model(inputs, training=True)
            loss = tf.reduce_sum(
                signals["labels/slots"][:, :7] ** 2 * rows["attention_mask"][..., None]
            )
            loss += tf.reduce_sum(signals["labels/intent"] ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        found.append(
            [np.asarray(tf.convert_to_tensor(g)) for g in gradients]
            + [np.asarray(w) for w in model.non_trainable_weights]
        )
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_slots_depend_on_the_intent():
    rows = batch([4, 6], 6)
    model = trained(make(zoneout=0.0, projection_dropout=0.0), rows)
    table = np.asarray(model.conditions["labels/slots"].kernel)
    signals = model(rows)
    predicted = np.asarray(signals["labels/intent"]).argmax(-1)
    free = np.asarray(model.head_layers["labels/slots"](signals["hidden"]))
    np.testing.assert_allclose(signals["labels/slots"], free + table[predicted][:, None], atol=1e-5)

    def chosen(training=True, **given):
        """The intents that slots depended on, read off the difference to none."""
        given = {name.replace("_", "/", 2): value for name, value in given.items()}
        found = model({**rows, **given}, training=training)
        free = model.head_layers["labels/slots"](found["hidden"])
        added = np.asarray(found["labels/slots"] - free)[:, 0]
        return [int(np.abs(table - row).sum(-1).argmin()) for row in added], np.asarray(
            found["labels/intent"]
        ).argmax(-1).tolist()

    teacher = np.array([[0, 9, 0], [0, 0, 9]], np.float32)
    assert chosen(target_intent=np.array([2, 0], np.int32))[0] == [2, 0]
    assert chosen(target_intent=np.array([2, -1], np.int32), teacher_logits_intent=teacher)[0] == [
        2,
        2,
    ]
    assert chosen(teacher_logits_intent=teacher)[0] == [1, 2]
    intents, own = chosen(target_intent=np.array([-1, -1], np.int32))
    assert intents == own
    # At inference nobody knows.
    intents, own = chosen(training=False, target_intent=np.array([2, 0], np.int32))
    assert intents == own == predicted.tolist()


@pytest.mark.parametrize("quantize", [None, "keras"])
@every_task
def test_groups_hold_every_weight_once(task, quantize):
    model = make(task, quantize=quantize, heads=("labels", "logits"), pooling="ifo")
    groups = dict(model.layer_groups())
    names = ["heads", "encoder", "bottleneck", "statistics", *(["ranges"] if quantize else [])]
    assert list(groups) == names
    grouped = [w.path for group in groups.values() for w in group]
    assert sorted(grouped) == sorted(w.path for w in model.weights)
    assert len(set(grouped)) == len(grouped)
    assert {w.path.split("/")[-1] for w in groups["statistics"]} == {"mean", "variance"}
    assert not any(w.trainable for n in names[3:] for w in groups[n])


def test_losses_are_the_squares_of_all_kernels():
    model = make(l2=0.01)
    kernels = [w for w in model.trainable_weights if w.name == "kernel"]
    assert len(kernels) == 1 + 2 * 2 + 1 + 2 + 1
    expected = 0.01 * sum((np.asarray(w) ** 2).sum() for w in kernels)
    np.testing.assert_allclose(sum(model.losses), expected, rtol=1e-5)
    assert make(l2=0.0).losses == []


@pytest.mark.parametrize("quantize", [None, "keras"])
def test_recalibrated_statistics_are_those_of_inference(quantize):
    model = trained(make(quantize=quantize, projection_dropout=0.5, zoneout=0.9), batch([4, 7], 7))
    rows = batch([5, 2, 8], 8)
    model.recalibrate([rows])
    found = model(rows)
    # Normalised by the batch itself, without noise, is the same as by its recalibrated statistics.
    model.feature_dropout.rate = 0.0
    for layer in model.qrnns:
        layer.zoneout = 0.0
    for layer in model._flatten_layers(include_self=False):
        if isinstance(layer, RangeObserver):
            layer.trainable = False
    expected = model(rows, training=True)
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], atol=1e-5, err_msg=name)


def test_settling_takes_the_mean_over_batches():
    model = make(projection_dropout=0.9)
    parts = [batch([3, 1], 4, seed=1), batch([5], 6, seed=2), batch([2, 2], 4, seed=3)]
    means = []
    for part in parts:
        features = np.asarray(model._expand(part["fingerprint"]))[part["attention_mask"] == 1]
        means.append((features @ np.asarray(model.bottleneck.kernel)[0, 0]).mean(0))
    model.recalibrate(parts)
    np.testing.assert_allclose(
        model.bottleneck.norm.statistics.mean, np.mean(means, axis=0), atol=1e-5
    )


def test_settling_changes_statistics_alone_and_only_where_they_learn():
    model = trained(make(quantize="keras"), batch([4, 7], 7))
    groups = dict(model.layer_groups())
    before = {name: [np.array(w) for w in group] for name, group in groups.items()}
    settings = [layer.zoneout for layer in model.qrnns]
    model.recalibrate([batch([5, 2], 6)])
    for name, group in groups.items():
        changed = any((np.array(w) != b).any() for w, b in zip(group, before[name], strict=True))
        assert changed == (name in ("statistics", "ranges")), name
    assert [layer.zoneout for layer in model.qrnns] == settings
    assert model.feature_dropout.rate == 0.2
    assert model.bottleneck.norm.statistics.momentum == 0.8

    def fails():
        yield batch([5, 2], 6)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        model.recalibrate(fails())
    assert [layer.zoneout for layer in model.qrnns] == settings
    set_trainable(model, ["heads"])
    before = [np.array(w) for w in model.weights]
    model.recalibrate([batch([5, 2], 6)])
    for weight, old in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(weight, old)


def test_same_seed_same_training():
    rows = batch([4, 6], 6)
    first, again, other = (make(seed=seed) for seed in (1, 1, 2))
    for a, b in zip(first.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(
        first(rows, training=True)["hidden"], again(rows, training=True)["hidden"]
    )
    assert not np.array_equal(first.bottleneck.kernel, other.bottleneck.kernel)


@pytest.mark.parametrize("quantize", [None, "keras"])
def test_saves_and_loads(quantize, tmp_path):
    rows = batch([4, 6], 6)
    model = trained(make(quantize=quantize, pooling="ifo", name="student"), rows)
    expected = model(rows)
    model.save(tmp_path / "whole.keras")
    model.save_weights(tmp_path / "w.weights.h5")
    rebuilt = make(seed=5, quantize=quantize, pooling="ifo")
    rebuilt.load_weights(tmp_path / "w.weights.h5")
    loaded = keras.models.load_model(tmp_path / "whole.keras")
    for other in (loaded, rebuilt):
        found = other(rows)
        assert set(found) == set(expected)
        for signal, value in expected.items():
            np.testing.assert_array_equal(found[signal], value)
    assert loaded.get_config() == model.get_config()


def test_unknown_lengths_are_the_same():
    rows = batch([4, 6], 6)
    model = trained(make(pooling="ifo"), rows)
    signature = {
        "fingerprint": tf.TensorSpec((None, None, 8), tf.uint8),
        "attention_mask": tf.TensorSpec((None, None), tf.int32),
    }
    run = tf.function(lambda x: model(x, training=False), input_signature=[signature])
    expected = model(rows)
    for signal, value in run({k: tf.constant(v) for k, v in rows.items()}).items():
        np.testing.assert_allclose(value, expected[signal], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("quantize", ["int8", "dynamic", "float16", "none"])
def test_exports_one_row_and_many(quantize):
    rows = batch(np.random.default_rng(0).integers(2, 7, 32), 6)
    model = trained(make(), rows)
    entries = {
        signature: Entry(*model.export_function(6, size))
        for signature, size in (("online", 1), ("batch", 4))
    }
    flatbuffer = convert(model, entries, quantize, rows)
    graph = inspect_model(flatbuffer)
    assert (graph.flex, graph.custom) == ((), ())
    assert quantize != "int8" or graph.float_operator_count == 0
    expected, interpreter = model(rows), Interpreter(model_content=flatbuffer)
    bound = {"none": 1e-5, "float16": 5e-3, "dynamic": 0.05, "int8": 0.2}[quantize]
    for signature, size in (("online", 1), ("batch", 4)):
        runner = interpreter.get_signature_runner(signature)
        details = runner.get_output_details()
        for start in range(0, 16, size):
            cut = slice(start, start + size)
            found = runner(**{k: v[cut] for k, v in rows.items()})
            # What the slots add depends on a decision, which rounding may change.
            scale, zero = details["intent"]["quantization"]
            intent = found["intent"].astype(np.float32)
            intent = (intent - zero) * scale if quantize == "int8" else intent
            logits = np.asarray(expected["labels/intent"])
            assert np.abs(intent - logits[cut]).mean() < bound * logits.std()
            assert found["slots"].shape == (size, 6, 5)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"features": 10}, "multiple of 4 .4 per byte., got 10"),
        ({"layers": 0}, "layers is a whole number from 1 to 1,000, got 0"),
        ({"features": 0}, "features is a whole number from 1 to 65,536, got 0"),
        ({"taps": 0}, "taps is a whole number from 1"),
        ({"projection_dropout": 1}, "projection_dropout is a number from 0 to below 1, got 1"),
        ({"l2": -1.0}, "l2 is at least 0"),
        ({"epsilon": 0}, "epsilon above it, got 1e-05 and 0"),
        ({"state": 60000}, "make [0-9,]+ parameters; a student has at most 536,870,912"),
        ({"pooling": "x"}, "one of f, fo, ifo; got 'x'"),
        ({"zoneout": 1.0}, "zoneout is a number from 0 to below 1, got 1.0"),
        ({"quantize": "x"}, "unknown quantization engine 'x'; there are keras, tfmot"),
        ({"heads": "labels"}, "different names"),
        ({"outputs": {}}, "at least one output"),
    ],
)
def test_errors(change, text):
    with pytest.raises(ValueError, match=text):
        PqrnnStudent(**{"outputs": TASKS["tags"], **SMALL, **change})
