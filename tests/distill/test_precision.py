"""Students that compute in bfloat16 while they train, and in float32 ever after."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.students.test_student_contract import MAKERS, batch, make
from tfdistil.distill.distiller import Distiller
from tfdistil.distill.precision import computing_in, in_float32
from tfdistil.distill.terms import bind_terms
from tfdistil.encoders import scratch_encoder
from tfdistil.recipe.schema.stages import TermSpec
from tfdistil.students import STUDENTS
from tfdistil.tasks import Output

MIXED = [name for name, maker in MAKERS.items() if "bfloat16" in STUDENTS[maker["kind"]].precisions]
TAGS = (Output("tags", "word", ("O", "B-a", "I-a", "B-b", "I-b")),)


def encoder(**heads):
    return scratch_encoder(
        vocabulary=30,
        hidden_dim=16,
        layers=2,
        attention_heads=2,
        intermediate_dim=24,
        max_positions=16,
        outputs={"tags": ("word", 5)},
        seed=3,
        **heads,
    )


def inputs(name="bilstm"):
    found = batch(name, [6, 3], 6)
    tokens = np.tile(np.arange(6, dtype=np.int32), (2, 1))
    gold = np.random.default_rng(1).integers(0, 5, (2, 6)).astype(np.int32)
    mask = found["attention_mask"]
    return {"train": {**found, "tokens": tokens, "token_mask": mask, "target/tags": gold}}


def distiller(model, precision, loss="cross_entropy", head="labels"):
    terms = bind_terms([TermSpec(loss=loss, output="tags")], TAGS, head=head)
    made = Distiller(model, terms, precision=precision)
    made.compile(optimizer=keras.optimizers.SGD(1.0), jit_compile=False)
    return made


def gradients(model, precision, data=None, **terms):
    made, data = distiller(model, precision, **terms), data or inputs()
    with tf.GradientTape() as tape:
        loss = made.compute_loss(x=data, y_pred=made(data, training=True))
    assert loss.dtype == "float32"
    return tape.gradient(loss, model.trainable_weights)


@pytest.mark.parametrize("name", MIXED)
def test_every_student_that_says_so_trains_in_bfloat16_and_answers_in_float32_as_before(name):
    student, data = make(name, "tags"), inputs(name)
    before = {signal: value.dtype for signal, value in student(data["train"]).items()}
    trained = distiller(student, "bfloat16")
    policies = [layer.dtype_policy for layer in student._flatten_layers()]
    steps = tf.data.Dataset.from_tensors(data).repeat()
    losses = trained.fit(steps, steps_per_epoch=1, epochs=6, shuffle=False, verbose=0).history[
        "loss"
    ]
    assert losses[-1] < losses[0]
    assert [layer.dtype_policy for layer in student._flatten_layers()] == policies
    assert {weight.dtype for weight in student.trainable_weights} == {"float32"}
    assert {name: value.dtype for name, value in student(data["train"]).items()} == before


def test_the_layers_really_compute_in_bfloat16_and_heads_do_not():
    model, data = encoder(), inputs()["train"]
    exact = model(data)
    with computing_in(model, "bfloat16"):
        mixed = model(data)
    assert {mixed[name].dtype for name in ("hidden/0", "hidden/1", "hidden")} == {tf.bfloat16}
    scores = mixed["logits/tags"]
    assert scores.dtype == tf.float32
    # Computed in bfloat16 and cast, all of them would be numbers that bfloat16 has.
    assert not np.array_equal(scores, tf.cast(tf.cast(scores, tf.bfloat16), tf.float32))
    assert {value.dtype for value in in_float32(mixed).values()} == {tf.float32}
    apart = np.abs(np.asarray(mixed["logits/tags"]) - np.asarray(exact["logits/tags"])).max()
    assert 0 < apart < 0.02
    np.testing.assert_array_equal(model(data)["logits/tags"], exact["logits/tags"])


@pytest.mark.parametrize(
    ("heads", "loss"), [(("logits",), "cross_entropy"), ({"logits": "crf"}, "crf_nll")]
)
def test_gradients_point_where_those_of_float32_do(heads, loss):
    model = encoder(heads=heads, embedding_dropout=0.0, head_dropout=0.0)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    exact, mixed = (
        gradients(model, precision, loss=loss, head="logits")
        for precision in ("float32", "bfloat16")
    )
    one, other = (
        np.concatenate([np.ravel(tf.convert_to_tensor(g)) for g in found if g is not None])
        for found in (exact, mixed)
    )
    assert not np.array_equal(one, other)
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert cosine > 0.999
    assert np.linalg.norm(other) == pytest.approx(np.linalg.norm(one), rel=0.02)


def rows(name, count, length):
    """A batch of as many pieces as one has in training."""
    given = batch("bilstm" if name == "encoder" else name, [length] * count, length, seed=2)
    ones = given["attention_mask"]
    tokens = np.tile(np.arange(length, dtype=np.int32), (count, 1))
    gold = np.random.default_rng(2).integers(0, 5, (count, length)).astype(np.int32)
    rest = {"token_type_ids": ones, "tokens": tokens, "token_mask": ones, "target/tags": gold}
    return {"train": {**given, **rest}}


@pytest.mark.parametrize("name", ["encoder", *MIXED])
def test_sums_over_thousands_of_pieces_keep_what_is_added_to_them(name):
    """A sum in bfloat16 stops growing; those of biases lost up to half of a gradient."""
    model = encoder(heads=("labels",)) if name == "encoder" else make(name, "tags")
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    data = rows(name, 256, 16)
    exact, mixed = (gradients(model, precision, data) for precision in ("float32", "bfloat16"))
    for weight, one, other in zip(model.trainable_weights, exact, mixed, strict=True):
        # That of a key's bias is 0 but for rounding: it moves all scores of a query alike.
        if one is not None and not weight.path.endswith("key/bias"):
            one, other = tf.convert_to_tensor(one), tf.convert_to_tensor(other)
            assert tf.norm(one - other) < 0.03 * tf.norm(one), weight.path


def test_an_error_inside_leaves_the_precision_as_it_was():
    model = encoder()
    with pytest.raises(KeyError), computing_in(model, "bfloat16"):
        raise KeyError
    assert {layer.compute_dtype for layer in model._flatten_layers()} == {"float32"}
