"""Layers that score hidden states, each the way its family's fine-tuned checkpoints do."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from tfdistil.encoders.layers import Dense, LayerNorm, activation, normal


class Pooler(keras.layers.Layer):
    """tanh(W h_0 + b) of the first state: ``[B, T, read_dim]`` to ``[B, hidden_dim]``.

    Of BERT's states that is the first piece's; other poolings give it a single one.

    Args:
        hidden_dim: of what it gives.
        read_dim: of what it reads; None: the same.
        initializer_range: standard deviation of fresh weights.
        seed: makes initialization reproducible.
    """

    def __init__(
        self,
        hidden_dim: int,
        read_dim: int | None = None,
        initializer_range: float = 0.02,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.hidden_dim, self.initializer_range, self.seed = hidden_dim, initializer_range, seed
        self.read_dim = hidden_dim if read_dim is None else read_dim
        self.dense = Dense(
            hidden_dim,
            activation="tanh",
            kernel_initializer=normal(initializer_range, seed, 0),
            name="dense",
            dtype=self.dtype_policy,
        )

    def build(self, input_shape: Any = None) -> None:
        """Create the weights; the shape of the input does not matter."""
        self.dense.build((None, self.read_dim))

    def call(self, hidden: Any) -> Any:
        """The pooled text."""
        return self.dense(hidden[:, 0])

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "hidden_dim": self.hidden_dim,
            "read_dim": self.read_dim,
            "initializer_range": self.initializer_range,
            "seed": self.seed,
        }


class Classifier(keras.layers.Layer):
    """Logits in float32 from features ``[..., D]``: [dropout, dense, f,] dropout, dense.

    Without ``transform`` this is BERT's classifier (on tokens, or on the pooled text). DistilBERT's
    sequence classifier has a dense layer with ReLU in front, RoBERTa's dropout, dense and tanh.

    Args:
        hidden_dim: of the features.
        size: number of labels.
        dropout: rate in front of the last dense layer.
        transform: ``relu`` or ``tanh`` for a dense layer of ``hidden_dim`` in front, or None.
        input_dropout: rate in front of that layer.
        initializer_range: standard deviation of fresh weights.
        seed: makes initialization and dropout reproducible.
    """

    def __init__(
        self,
        hidden_dim: int,
        size: int,
        dropout: float = 0.1,
        transform: str | None = None,
        input_dropout: float = 0.0,
        initializer_range: float = 0.02,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.hidden_dim, self.size, self.transform = hidden_dim, size, transform
        self.rate, self.input_rate = dropout, input_dropout
        self.initializer_range, self.seed = initializer_range, seed

        def dense(name: str, units: int, offset: int, function: str | None) -> Dense:
            return Dense(
                units,
                activation=function,
                kernel_initializer=normal(initializer_range, seed, offset),
                name=name,
                dtype=self.dtype_policy,
            )

        self.dense = None if transform is None else dense("dense", hidden_dim, 0, transform)
        self.out = dense("out", size, 1, None)
        self.input_dropout = keras.layers.Dropout(input_dropout, seed=seed, dtype=self.dtype_policy)
        self.dropout = keras.layers.Dropout(
            dropout, seed=None if seed is None else seed + 1, dtype=self.dtype_policy
        )

    def build(self, input_shape: Any = None) -> None:
        """Create the weights; the shape of the input does not matter."""
        if self.dense is not None:
            self.dense.build((None, self.hidden_dim))
        self.out.build((None, self.hidden_dim))

    def call(self, features: Any, training: bool | None = None) -> Any:
        """``[..., D]`` to ``[..., size]``."""
        rows = ops.reshape(features, (-1, self.hidden_dim))
        if self.dense is not None:
            rows = self.dense(self.input_dropout(rows, training=training))
        logits = ops.cast(self.out(self.dropout(rows, training=training)), "float32")
        return ops.reshape(logits, (*ops.shape(features)[:-1], self.size))

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "hidden_dim": self.hidden_dim,
            "size": self.size,
            "dropout": self.rate,
            "transform": self.transform,
            "input_dropout": self.input_rate,
            "initializer_range": self.initializer_range,
            "seed": self.seed,
        }


class MaskedLanguageScores(keras.layers.Layer):
    """Logits over the vocabulary at every piece or some, with the word table as output weights.

    norm(f(W h + b)) E' + c, E the word embeddings (tied, so no weight of this layer).

    Args:
        vocabulary: rows of the word table.
        hidden_dim: of the hidden states.
        activation: f, see `tfdistil.encoders.layers.activation`.
        layer_norm_epsilon: added to the variance.
        initializer_range: standard deviation of fresh weights.
        seed: makes initialization reproducible.
    """

    def __init__(
        self,
        vocabulary: int,
        hidden_dim: int,
        activation: str = "gelu",
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.vocabulary, self.hidden_dim, self.activation = vocabulary, hidden_dim, activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range, self.seed = initializer_range, seed
        self.dense = Dense(
            hidden_dim,
            kernel_initializer=normal(initializer_range, seed, 0),
            name="dense",
            dtype=self.dtype_policy,
        )
        self.norm = LayerNorm(epsilon=layer_norm_epsilon, name="norm", dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        """Create the weights; the shape of the input does not matter."""
        self.dense.build((None, self.hidden_dim))
        self.norm.build((None, self.hidden_dim))
        self.bias = self.add_weight((self.vocabulary,), "zeros", name="bias")

    def call(
        self, hidden: Any, table: Any, scored: Any = None, training: bool | None = None
    ) -> Any:
        """``[B, T, D]`` and the word table ``[V, D]`` to float32 ``[B, T, V]``.

        With ``scored``, numbers of pieces, int ``[S]``, to ``[S, V]``: see `Encoder.call`.
        """
        del training  # no dropout
        rows = ops.reshape(hidden, (-1, self.hidden_dim))
        if scored is not None:
            rows = ops.take(rows, scored, axis=0)
        rows = self.norm(activation(self.activation)(self.dense(rows)))
        table = ops.cast(table, self.compute_dtype)
        logits = ops.cast(ops.matmul(rows, ops.transpose(table)) + self.bias, "float32")
        if scored is not None:
            return logits
        return ops.reshape(logits, (*ops.shape(hidden)[:-1], self.vocabulary))

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return super().get_config() | {
            "vocabulary": self.vocabulary,
            "hidden_dim": self.hidden_dim,
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_range": self.initializer_range,
            "seed": self.seed,
        }
