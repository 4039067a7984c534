"""The parts every encoder of the family is made of: embeddings and a post-norm transformer layer.

Devlin et al. 2019 (BERT) with the layer of Vaswani et al. 2017, normalization after the residual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from tfdistil.device_ops import gather

MASK_BIAS = -1e4
"""Added to attention scores of masked keys: finite, and far enough down that exp() is exactly 0."""

EXPORT_REACH = 24.0
"""How far padding is below the first key in the exported graph. In float it is left with less than
e^-24. int8 gives it and all scores one range: on random students of width 128 anything from 6 to 48
costs about the same, 1000 up to five times the error."""

SEEDS_PER_LAYER = 8
"""How many consecutive seeds a layer may use: layers are seeded this far apart."""


def activation(name: str) -> Callable[[Any], Any]:
    """``gelu`` (exact, as BERT was trained), ``gelu_tanh`` (approximate), ``relu`` or ``silu``."""
    if name == "gelu":
        return _gelu
    if name == "gelu_tanh":
        return lambda x: ops.gelu(x, approximate=True)
    return {"relu": ops.relu, "silu": ops.silu}[name]


def _gelu(x: Any) -> Any:
    """x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016).

    Multiplying by the constant, where ``ops.gelu`` divides, is a tenth faster on a CPU, and still
    the pattern that the LiteRT converter turns into its GELU operator.
    """
    return 0.5 * x * (1.0 + ops.erf(x * 0.7071067811865476))


def normal(deviation: float, seed: int | None, offset: int) -> keras.initializers.Initializer:
    """BERT's initializer: a normal truncated at two deviations, one seed per weight."""
    return keras.initializers.TruncatedNormal(
        stddev=deviation, seed=None if seed is None else seed + offset
    )


Masking = Callable[[Any], Any]
"""Attention scores ``[B, heads, T, T]`` to some whose softmax leaves masked keys out."""


def masked_by_bias(attention_mask: Any, dtype: str) -> Masking:
    """Adds `MASK_BIAS` to the scores of masked keys; for float arithmetic.

    Args:
        attention_mask: int ``[B, T]``, 1 for real tokens, 0 for padding.
        dtype: of the scores.
    """
    masked = 1.0 - ops.cast(attention_mask, dtype)
    bias = ops.expand_dims(ops.expand_dims(masked * MASK_BIAS, 1), 1)
    return lambda scores: scores + bias


def masked_by_reach(attention_mask: Any) -> Masking:
    """``(s - s[0] + EXPORT_REACH) real``: the same softmax with the score 0 at padding, for export.

    A bias would have the range that calibration happens to see, and vanish where no row of it had
    padding. Products with 0 do not. And `EXPORT_REACH` counts from a score of the same query: the
    first key is real in every text.

    Args:
        attention_mask: int32 ``[B, T]``, 1 for real tokens, 0 for padding.
    """
    # A cast from int32 would be a float operator.
    real = gather(np.array([0.0, 1.0], np.float32), attention_mask)
    real = ops.expand_dims(ops.expand_dims(real, 1), 1)
    return lambda scores: (scores + (EXPORT_REACH - scores[..., :1])) * real


class LayerNorm(keras.layers.LayerNormalization):
    """Layer normalization (Ba et al. 2016) over the last axis, for int8 without a float operator.

    ``gamma (x - mean) / sqrt(var + epsilon) + beta``, bit for bit what Keras gives. But Keras
    negates the mean, and the converter has no int8 NEG: here it is subtracted.
    """

    def call(self, inputs: Any) -> Any:
        """``[..., D]``, at least float32 inside."""
        x = ops.cast(inputs, keras.backend.result_type(inputs.dtype, "float32"))
        mean, variance = ops.moments(x, axes=-1, keepdims=True)
        scale = ops.rsqrt(variance + self.epsilon) * ops.cast(self.gamma, x.dtype)
        shifted = x * scale + (ops.cast(self.beta, x.dtype) - mean * scale)
        return ops.cast(shifted, self.compute_dtype)


class Dense(keras.layers.Dense):
    """A dense layer that adds its bias in the precision of its weights.

    The gradient of a bias is a sum over all rows, and TensorFlow sums in the precision of the
    addition: in bfloat16 a sum of some thousand rows loses most of what is added to it.
    """

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """``[..., D]`` to ``[..., units]``."""
        del training
        x = ops.cast(ops.matmul(inputs, self.kernel), self.variable_dtype)
        return self.activation(ops.cast(ops.add(x, self.bias), self.compute_dtype))


class Embeddings(keras.layers.Layer):
    """Word + position + segment embeddings, normalized, with dropout.

    Args:
        vocabulary: rows of the word table.
        hidden_dim: columns of each table.
        max_positions: rows of the position table.
        type_vocabulary: rows of the segment table; 0 for none.
        position_offset: row of the first token's position.
        layer_norm_epsilon: added to the variance.
        dropout: rate after normalization.
        initializer_range: standard deviation of fresh weights.
        seed: makes initialization and dropout reproducible.
    """

    def __init__(
        self,
        vocabulary: int,
        hidden_dim: int,
        max_positions: int,
        type_vocabulary: int = 2,
        position_offset: int = 0,
        layer_norm_epsilon: float = 1e-12,
        dropout: float = 0.1,
        initializer_range: float = 0.02,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.vocabulary, self.hidden_dim = vocabulary, hidden_dim
        self.max_positions, self.type_vocabulary = max_positions, type_vocabulary
        self.position_offset = position_offset
        self.layer_norm_epsilon, self.rate = layer_norm_epsilon, dropout
        self.initializer_range, self.seed = initializer_range, seed
        self.norm = LayerNorm(epsilon=layer_norm_epsilon, name="norm", dtype=self.dtype_policy)
        self.dropout = keras.layers.Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        """Create the tables; the shape of the input does not matter."""

        def table(name: str, rows: int, offset: int) -> keras.Variable:
            initializer = normal(self.initializer_range, self.seed, offset)
            return self.add_weight((rows, self.hidden_dim), initializer, name=name)

        self.words = table("words", self.vocabulary, 0)
        self.positions = table("positions", self.max_positions, 1)
        self.types = table("types", self.type_vocabulary, 2) if self.type_vocabulary else None
        self.norm.build((None, None, self.hidden_dim))

    def call(self, input_ids: Any, token_type_ids: Any = None, training: bool | None = None) -> Any:
        """Int ids ``[B, T]`` and optional segments ``[B, T]`` (default 0) to ``[B, T, D]``."""
        first = self.position_offset
        length = ops.shape(input_ids)[1]
        if isinstance(length, int) and first + length > self.max_positions:
            raise ValueError(
                f"input_ids have {length} tokens; this encoder takes at most "
                f"{self.max_positions - first}: cut the texts into windows"
            )
        hidden = ops.take(self.words, input_ids, axis=0)
        # A slice, not a gather: positions are consecutive because padding is on the right.
        hidden = hidden + self.positions[first : first + length]
        if self.types is not None:
            hidden = hidden + (
                self.types[0]
                if token_type_ids is None
                else ops.take(self.types, token_type_ids, axis=0)
            )
        return self.dropout(self.norm(hidden), training=training)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "vocabulary": self.vocabulary,
            "hidden_dim": self.hidden_dim,
            "max_positions": self.max_positions,
            "type_vocabulary": self.type_vocabulary,
            "position_offset": self.position_offset,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "dropout": self.rate,
            "initializer_range": self.initializer_range,
            "seed": self.seed,
        }


class TransformerLayer(keras.layers.Layer):
    """Multi-head self-attention and a feed-forward network, each with residual and normalization.

    Projections work on ``[B*T, D]``: one matrix product each, without a broadcast batch.

    Args:
        hidden_dim: of the hidden states.
        attention_heads: number of heads; divides ``hidden_dim``.
        intermediate_dim: width of the feed-forward network.
        activation: of the feed-forward network, see `activation`.
        dropout: rate on the output of the feed-forward network.
        attention_dropout: rate on attention probabilities.
        attention_output_dropout: rate on the output of attention (DistilBERT has none).
        layer_norm_epsilon: added to the variance.
        initializer_range: standard deviation of fresh weights.
        seed: makes initialization and dropout reproducible.
    """

    def __init__(
        self,
        hidden_dim: int,
        attention_heads: int,
        intermediate_dim: int,
        activation: str = "gelu",
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        attention_output_dropout: float = 0.1,
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.hidden_dim, self.attention_heads, self.intermediate_dim = (
            hidden_dim,
            attention_heads,
            intermediate_dim,
        )
        self.activation = activation
        self.rates = (dropout, attention_dropout, attention_output_dropout)
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range, self.seed = initializer_range, seed

        def dense(name: str, units: int, offset: int) -> Dense:
            initializer = normal(initializer_range, seed, offset)
            return Dense(units, kernel_initializer=initializer, name=name, dtype=self.dtype_policy)

        def norm(name: str) -> LayerNorm:
            return LayerNorm(epsilon=layer_norm_epsilon, name=name, dtype=self.dtype_policy)

        def drop(rate: float, offset: int) -> keras.layers.Dropout:
            layer_seed = None if seed is None else seed + offset
            return keras.layers.Dropout(rate, seed=layer_seed, dtype=self.dtype_policy)

        self.query = dense("query", hidden_dim, 0)
        self.key = dense("key", hidden_dim, 1)
        self.value = dense("value", hidden_dim, 2)
        self.attention_output = dense("attention_output", hidden_dim, 3)
        self.attention_norm = norm("attention_norm")
        self.expand = dense("expand", intermediate_dim, 4)
        self.contract = dense("contract", hidden_dim, 5)
        self.output_norm = norm("output_norm")
        self.output_dropout = drop(dropout, 5)
        self.probability_dropout = drop(attention_dropout, 6)
        self.attention_dropout = drop(attention_output_dropout, 7)

    def build(self, input_shape: Any = None) -> None:
        """Create all weights; the shape of the input does not matter."""
        rows = (None, self.hidden_dim)
        for layer in (self.query, self.key, self.value, self.attention_output, self.expand):
            layer.build(rows)
        self.contract.build((None, self.intermediate_dim))
        self.attention_norm.build(rows)
        self.output_norm.build(rows)

    def call(
        self, hidden: Any, masking: Masking | None = None, training: bool | None = None
    ) -> tuple[Any, Any]:
        """One layer.

        Args:
            hidden: float ``[B, T, D]``.
            masking: changes the attention scores; None leaves them as they are.
            training: whether dropout is on.

        Returns:
            The new hidden states ``[B, T, D]`` and the attention probabilities
            ``[B, heads, T, T]`` (rows are queries) before dropout.
        """
        length = ops.shape(hidden)[1]
        rows = ops.reshape(hidden, (-1, self.hidden_dim))
        context, probabilities = self._attend(rows, length, masking, training)
        attended = self.attention_dropout(self.attention_output(context), training=training)
        rows = self.attention_norm(rows + attended)
        intermediate_dim = activation(self.activation)(self.expand(rows))
        changed = self.output_dropout(self.contract(intermediate_dim), training=training)
        rows = self.output_norm(rows + changed)
        return ops.reshape(rows, (-1, length, self.hidden_dim)), probabilities

    def _attend(
        self, rows: Any, length: Any, masking: Masking | None, training: bool | None
    ) -> tuple[Any, Any]:
        """Softmax(Q K' / sqrt(d)) V over unmasked keys, on ``[B*T, D]`` rows."""
        size = self.hidden_dim // self.attention_heads

        def split(x: Any) -> Any:  # [B*T, D] -> [B, heads, T, size]
            shape = (-1, length, self.attention_heads, size)
            return ops.transpose(ops.reshape(x, shape), (0, 2, 1, 3))

        query = split(self.query(rows) * size**-0.5)
        key = ops.transpose(
            ops.reshape(self.key(rows), (-1, length, self.attention_heads, size)), (0, 2, 3, 1)
        )
        scores = ops.matmul(query, key)
        probabilities = ops.softmax(scores if masking is None else masking(scores))
        mixed = ops.matmul(
            self.probability_dropout(probabilities, training=training), split(self.value(rows))
        )
        merged = ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, self.hidden_dim))
        return merged, probabilities

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        dropout, attention_dropout, attention_output_dropout = self.rates
        return super().get_config() | {
            "hidden_dim": self.hidden_dim,
            "attention_heads": self.attention_heads,
            "intermediate_dim": self.intermediate_dim,
            "activation": self.activation,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "attention_output_dropout": attention_output_dropout,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_range": self.initializer_range,
            "seed": self.seed,
        }
