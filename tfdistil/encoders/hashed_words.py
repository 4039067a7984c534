"""Hashed features of words, as models of word pieces read them beside their embeddings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import numpy as np
from keras import ops

from tfdistil.arguments import check_features, check_sizes
from tfdistil.device_ops import gather
from tfdistil.encoders.layers import Dense
from tfdistil.text.projection.ternary import ternary_table


def expanded(fingerprint: Any, rows_of: Callable[[Any], Any]) -> Any:
    """The ternary features of fingerprints.

    Args:
        fingerprint: uint8 ``[B, T, N / 4]``.
        rows_of: the four features of each byte, given as int32: rows of `ternary_table`.

    Returns:
        ``[B, T, N]``.
    """
    batch, time = ops.shape(fingerprint)[:2]
    features = rows_of(ops.cast(fingerprint, "int32"))
    return ops.reshape(features, (batch, time, 4 * fingerprint.shape[2]))


@keras.saving.register_keras_serializable("tfdistil")
class HashedWords(keras.layers.Layer):
    """``relu(W f + b)`` of the ternary features f of a fingerprint: a bottleneck as a pQRNN's.

    Args:
        units: width of what it gives.
        features: N, ternary features of a word; a multiple of 4.
        ternary_map: a key of `tfdistil.text.projection.ternary.MAPS`.
        seed: of W.

    Raises:
        ValueError: sizes that are none, or features that fill no whole bytes.
    """

    def __init__(
        self,
        units: int,
        features: int,
        ternary_map: str = "operator",
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_sizes(hashed_dim=units)
        check_features(features)
        self.units, self.features, self.ternary_map, self.seed = units, features, ternary_map, seed
        self._table = ternary_table(ternary_map).astype(np.float32)
        self.dense = Dense(
            units,
            activation="relu",
            kernel_initializer=keras.initializers.HeUniform(seed),
            dtype=self.dtype_policy,
            name="dense",
        )

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        del input_shape
        self.dense.build((None, None, self.features))
        self.built = True

    def call(self, fingerprint: Any) -> Any:
        """Bytes uint8 ``[B, T, N / 4]`` to ``[B, T, units]``."""
        features = expanded(fingerprint, partial(gather, self._table))
        return self.dense(ops.cast(features, self.compute_dtype))

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "units": self.units,
            "features": self.features,
            "ternary_map": self.ternary_map,
            "seed": self.seed,
        }


@keras.saving.register_keras_serializable("tfdistil")
class AddedHashes(keras.layers.Layer):
    """``U relu(W f + b) + c``, which is added to an encoder's embeddings; U and c begin with zeros.

    Args:
        hidden_dim: of the embeddings.
        units: width of the bottleneck.
        features, ternary_map, seed: of `HashedWords`.
    """

    def __init__(
        self,
        hidden_dim: int,
        units: int,
        features: int,
        ternary_map: str = "operator",
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.hidden_dim = hidden_dim
        self.words = HashedWords(
            units, features, ternary_map, seed, dtype=self.dtype_policy, name="words"
        )
        self.out = Dense(
            hidden_dim,
            kernel_initializer="zeros",
            dtype=self.dtype_policy,
            name="out",
        )

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        self.words.build(input_shape)
        self.out.build((None, None, self.words.units))
        self.built = True

    def call(self, fingerprint: Any) -> Any:
        """Bytes uint8 ``[B, T, N / 4]`` to ``[B, T, hidden_dim]``."""
        return self.out(self.words(fingerprint))

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        own = ("units", "features", "ternary_map", "seed")
        return (
            super().get_config()
            | {"hidden_dim": self.hidden_dim}
            | {name: getattr(self.words, name) for name in own}
        )
