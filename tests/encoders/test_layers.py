"""The layers against the formulas written out in numpy."""

from __future__ import annotations

import math

import keras
import numpy as np
import pytest
from keras import ops

from tfdistil.encoders.heads import Classifier, MaskedLanguageScores, Pooler
from tfdistil.encoders.layers import (
    Embeddings,
    LayerNorm,
    TransformerLayer,
    activation,
    masked_by_bias,
)


def normalized(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)


def dense(layer: keras.layers.Dense, x: np.ndarray) -> np.ndarray:
    return x @ np.array(layer.kernel) + np.array(layer.bias)


def gelu(x: np.ndarray) -> np.ndarray:
    return x * np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x)


def test_transformer_layer_is_the_formula() -> None:
    layer = TransformerLayer(8, 2, 12, seed=1, initializer_range=0.5)
    layer.build()
    for weight in layer.weights:
        weight.assign(weight + 0.1 * np.random.default_rng(3).normal(size=weight.shape))
    x = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])

    heads = [dense(p, x).reshape(2, 5, 2, 4) for p in (layer.query, layer.key, layer.value)]
    scores = (
        np.einsum("bqhd,bkhd->bhqk", heads[0], heads[1]) / 2
        + np.where(mask, 0, -np.inf)[:, None, None]
    )
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    context = np.einsum("bhqk,bkhd->bqhd", weights, heads[2]).reshape(2, 5, 8)
    norms = [
        (np.array(n.gamma), np.array(n.beta)) for n in (layer.attention_norm, layer.output_norm)
    ]
    attended = normalized(x + dense(layer.attention_output, context)) * norms[0][0] + norms[0][1]
    inner = gelu(dense(layer.expand, attended))
    expected = normalized(attended + dense(layer.contract, inner)) * norms[1][0] + norms[1][1]

    hidden, probabilities = layer(x, masking=masked_by_bias(mask, "float32"))
    np.testing.assert_allclose(ops.convert_to_numpy(probabilities), weights, atol=1e-5)
    np.testing.assert_allclose(ops.convert_to_numpy(hidden), expected, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_layer_norm_is_that_of_keras_to_the_bit(dtype) -> None:
    rng = np.random.default_rng(0)
    mine, keras_own = (
        kind(epsilon=1e-12, dtype=dtype) for kind in (LayerNorm, keras.layers.LayerNormalization)
    )
    for layer in (mine, keras_own):
        layer.build((None, 6))
        layer.set_weights([np.linspace(0.5, 2, 6), np.linspace(-1, 1, 6)])
    x = rng.normal(2, 3, size=(4, 5, 6)).astype("float32")
    assert mine(x).dtype == keras_own(x).dtype
    np.testing.assert_array_equal(
        ops.convert_to_numpy(ops.cast(mine(x), "float32")),
        ops.convert_to_numpy(ops.cast(keras_own(x), "float32")),
    )
    expected = normalized(x) * np.linspace(0.5, 2, 6) + np.linspace(-1, 1, 6)
    bound = 1e-5 if dtype == "float32" else 0.03
    np.testing.assert_allclose(
        ops.convert_to_numpy(ops.cast(mine(x), "float32")), expected, atol=bound
    )


def test_gelu_is_exact_and_the_approximation_is_not() -> None:
    x = np.linspace(-6, 6, 201).astype("float32")
    exact = ops.convert_to_numpy(activation("gelu")(x))
    approximate = ops.convert_to_numpy(activation("gelu_tanh")(x))
    np.testing.assert_allclose(exact, gelu(x.astype("float64")), atol=1e-6)
    assert 1e-5 < np.abs(exact - approximate).max() < 1e-3
    np.testing.assert_allclose(activation("relu")(x), np.maximum(x, 0))
    np.testing.assert_allclose(activation("silu")(x), x / (1 + np.exp(-x)), rtol=1e-5)


def test_embeddings_add_words_positions_and_segments() -> None:
    layer = Embeddings(11, 4, 9, type_vocabulary=2, position_offset=2, seed=1)
    layer.build()
    ids, types = np.array([[3, 4, 0]]), np.array([[0, 1, 0]])
    words, positions, segments = (np.array(w) for w in (layer.words, layer.positions, layer.types))
    expected = normalized(words[ids] + positions[None, 2:5] + segments[types])
    np.testing.assert_allclose(ops.convert_to_numpy(layer(ids, types)), expected, atol=1e-5)
    with pytest.raises(ValueError, match="8 tokens; this encoder takes at most 7"):
        layer(np.zeros((1, 8), "int32"))


def test_heads_are_the_formulas() -> None:
    hidden = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")
    pooler = Pooler(8, seed=1)
    pooler.build()
    pooled = np.tanh(dense(pooler.dense, hidden[:, 0]))
    np.testing.assert_allclose(ops.convert_to_numpy(pooler(hidden)), pooled, atol=1e-6)
    word = Classifier(8, 5, seed=1)
    word.build()
    np.testing.assert_allclose(word(hidden), dense(word.out, hidden), atol=1e-6)
    roberta = Classifier(8, 5, transform="tanh", seed=1)
    roberta.build()
    np.testing.assert_allclose(
        roberta(hidden[:, 0]),
        dense(roberta.out, np.tanh(dense(roberta.dense, hidden[:, 0]))),
        atol=1e-6,
    )
    mlm = MaskedLanguageScores(6, 8, seed=1)
    mlm.build()
    table = np.random.default_rng(1).normal(size=(6, 8)).astype("float32")
    expected = normalized(gelu(dense(mlm.dense, hidden))) @ table.T
    np.testing.assert_allclose(mlm(hidden, table), expected, atol=1e-5)


@pytest.mark.parametrize(
    "layer",
    [
        Embeddings(11, 4, 9, seed=3),
        TransformerLayer(8, 2, 12, "relu", 0.2, 0.3, 0.0, seed=2),
        Pooler(8, seed=1),
        Classifier(8, 5, 0.3, "relu", 0.2, seed=4),
        MaskedLanguageScores(6, 8, "relu", seed=5),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_layers_rebuild_from_their_config(layer: keras.layers.Layer) -> None:
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    layer.build()
    again.build()
    for a, b in zip(layer.weights, again.weights, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(a), ops.convert_to_numpy(b))
