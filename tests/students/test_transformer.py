"""What only the transformer student has: positions, blocks, embeddings of another width."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tfdistil.distill.freezing import set_trainable
from tfdistil.encoders.layers import masked_by_bias
from tfdistil.students import TransformerStudent

OUTPUTS = {"slots": ("word", 5), "intent": ("sequence", 3)}
LENGTHS = np.array([4, 2, 7])


def make(**options) -> TransformerStudent:
    """Two blocks of width 8 over embeddings of width 6, weights spread out."""
    arguments = {"attention_heads": 2, "max_positions": 9, "seed": 1, **options}
    student = TransformerStudent(30, 6, 8, 2, OUTPUTS, **arguments)
    rng = np.random.default_rng(3)
    for weight in student.weights:
        weight.assign_add(rng.normal(scale=0.2, size=weight.shape).astype(np.float32))
    return student


@pytest.fixture(scope="module")
def student() -> TransformerStudent:
    return make()


@pytest.fixture(scope="module")
def inputs() -> dict[str, np.ndarray]:
    mask = (np.arange(7) < LENGTHS[:, None]).astype(np.int32)
    ids = np.random.default_rng(0).integers(1, 30, mask.shape).astype(np.int32)
    return {"input_ids": ids, "attention_mask": mask}


def test_signals_are_the_formulas(student, inputs):
    found = {name: np.asarray(value) for name, value in student(inputs).items()}
    words, positions = np.array(student.embedding.words), np.array(student.embedding.positions)
    summed = words[inputs["input_ids"]] + positions[:7]
    centred = summed - summed.mean(-1, keepdims=True)
    norm = student.embedding.norm
    embedding = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    embedding = embedding * np.array(norm.gamma) + np.array(norm.beta)
    np.testing.assert_allclose(found["embedding"], embedding, atol=1e-5)
    widening = student.widening
    hidden = embedding @ np.array(widening.kernel) + np.array(widening.bias)
    np.testing.assert_allclose(found["hidden/0"], hidden, atol=1e-5)

    # The blocks themselves have their oracle in the encoders' tests.
    masking = masked_by_bias(inputs["attention_mask"], "float32")
    for number, block in enumerate(student.blocks, 1):
        hidden, _ = block(hidden, masking=masking)
        np.testing.assert_allclose(found[f"hidden/{number}"], hidden, atol=1e-5)
    np.testing.assert_array_equal(found["hidden"], found["hidden/2"])
    np.testing.assert_array_equal(found["sentence"], found["hidden"][:, 0])
    for output, features in (("slots", found["hidden"]), ("intent", found["sentence"])):
        head = student.head_layers[f"labels/{output}"]
        expected = features @ np.array(head.kernel) + np.array(head.bias)
        np.testing.assert_allclose(found[f"labels/{output}"], expected, atol=1e-5)


def test_every_block_has_a_signal_that_a_schedule_can_name(student):
    numbered = ("hidden/0", "hidden/1", "hidden/2")
    assert student.signals()[:6] == ("embedding", *numbered, "hidden", "sentence")
    assert {student.level(name) for name in numbered} == {"subword"}
    assert student.level("sentence") == "sequence"


def test_the_exported_graph_masks_padding_as_well(student, inputs):
    function, specs = student.export_function(7, 3)
    assert [tuple(spec.shape) for spec in specs] == [(3, 7), (3, 7)]
    found = function(*(inputs[spec.name] for spec in specs))
    for output, value in student(inputs).items():
        if not output.startswith("labels/"):
            continue
        logits, value = np.asarray(found[output.partition("/")[2]]), np.asarray(value)
        real = inputs["attention_mask"] == 1 if value.ndim == 3 else slice(None)
        np.testing.assert_allclose(logits[real], value[real], atol=1e-6)


def test_the_order_of_the_words_matters(student, inputs):
    row = {name: array[2:] for name, array in inputs.items()}
    turned = {**row, "input_ids": row["input_ids"][:, ::-1]}
    intent = "labels/intent"
    assert np.abs(student(row)[intent] - student(turned)[intent]).max() > 1e-3


def test_layer_groups_go_from_the_heads_to_the_embedding():
    student = make(projection=12, head_input="projection")
    groups = dict(student.layer_groups())
    assert list(groups) == ["heads", "projection", "block_2", "block_1", "embedding"]
    assert [w.path.split("/")[-1] for w in groups["embedding"]] == [
        "words",
        "positions",
        "gamma",
        "beta",
        "kernel",
        "bias",
    ]
    for name in ("block_2", "block_1"):
        assert len(groups[name]) == 16
        assert all(f"/{name}/" in w.path for w in groups[name])
    set_trainable(student, ["heads", "projection", "block_2"])
    frozen = [id(w) for name in ("block_1", "embedding") for w in groups[name]]
    assert all((id(w) in frozen) == (not w.trainable) for w in student.weights)


def test_sizes(student):
    """E only counts in the tables, their normalization and the linear layer behind them."""
    block = 4 * (8 * 8 + 8) + (8 * 32 + 32) + (32 * 8 + 8) + 2 * 16
    embedding = (30 + 9) * 6 + 2 * 6 + (6 * 8 + 8)
    heads = 8 * 5 + 5 + 8 * 3 + 3
    assert student.count_params() == embedding + 2 * block + heads
    assert TransformerStudent(9, 4, 64, 1, OUTPUTS).attention_heads == 2
    assert (
        TransformerStudent(9, 4, 8, 1, OUTPUTS, intermediate_dim=3).get_config()["intermediate_dim"]
        == 3
    )


def test_dropout_is_the_same_with_the_same_seed(inputs):
    first, again, other = (
        np.asarray(make(dropout=0.5, seed=seed)(inputs, training=True)["labels/slots"])
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_no_two_parts_start_alike():
    student = TransformerStudent(8, 8, 8, 2, OUTPUTS, intermediate_dim=8, max_positions=8, seed=1)
    kernels = [np.array(w) for w in student.weights if w.shape == (8, 8)]
    assert len(kernels) == 3 + 2 * 6
    for n, kernel in enumerate(kernels):
        assert not any(np.array_equal(kernel, other) for other in kernels[n + 1 :])


def test_more_pieces_than_positions_is_an_error(student):
    long = {"input_ids": np.ones((1, 10), np.int32)}
    message = "10 pieces and this student 9 positions; lower max_length"
    with pytest.raises(ValueError, match=message):
        student(long)
    with pytest.raises(ValueError, match=message):
        student.export_function(10, 1)
    assert student({"input_ids": np.ones((1, 9), np.int32)})["hidden"].shape == (1, 9, 8)
    # With the length open while tracing, it is the position table that is too short.
    signature = [{"input_ids": tf.TensorSpec((None, None), tf.int32)}]
    opened = tf.function(lambda rows: student(rows)["hidden"], input_signature=signature)
    with pytest.raises(tf.errors.InvalidArgumentError):
        opened({"input_ids": tf.ones((1, 10), tf.int32)})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"layers": 0}, "layers is a whole number from 1 to 1,000, got 0"),
        ({"intermediate_dim": 0}, "intermediate_dim is a whole number from 1 to 65,536, got 0"),
        ({"max_positions": 0}, "max_positions is a whole number from 1 to 65,536, got 0"),
        ({"attention_heads": 3}, "hidden_dim 8 is not divisible by 3 attention heads"),
    ],
)
def test_errors(change, text):
    with pytest.raises(ValueError, match=text):
        TransformerStudent(
            **{"vocabulary": 5, "embedding": 2, "hidden_dim": 8, "layers": 1} | change,
            outputs=OUTPUTS,
        )
