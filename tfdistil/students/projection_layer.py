"""Texts to a student's fingerprints inside ``tf.data`` and Keras preprocessing."""

from __future__ import annotations

from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf

from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec
from tfdistil.text.words import WordSplitter


@keras.saving.register_keras_serializable("tfdistil")
class ProjectionLayer(keras.layers.Layer):
    """`ProjectionFeaturizer` on a batch of strings, for training pipelines of TensorFlow.

    The hashing runs in Python (``tf.numpy_function``): the layer is no part of an exported graph,
    whose inputs are the fingerprints. Words that do not fit into ``max_length`` are left out.

    Args:
        spec: what the fingerprints are, or its ``to_json``.
        max_length: T, positions of every text.
        splitter: how texts become words; see `WordSplitter`.
        name: of the layer.
    """

    def __init__(
        self,
        spec: ProjectionSpec | dict[str, Any],
        max_length: int,
        *,
        splitter: Literal["unicode", "whitespace"] = "unicode",
        name: str | None = None,
    ):
        super().__init__(name=name, trainable=False, dtype="float32")
        self.spec = spec if isinstance(spec, ProjectionSpec) else ProjectionSpec.from_json(spec)
        self.max_length = max_length
        self.splitter = WordSplitter(splitter)
        self._featurizer = ProjectionFeaturizer(self.spec, max_length)

    def call(self, texts: Any) -> dict[str, Any]:
        """Fingerprints of texts.

        Args:
            texts: UTF-8 strings ``[B]``; broken bytes are read as U+FFFD.

        Returns:
            ``fingerprint`` uint8 ``[B, T, N / 4]`` and ``attention_mask`` int32 ``[B, T]``.
        """
        types = {"fingerprint": tf.uint8, "attention_mask": tf.int32}
        arrays = tf.numpy_function(self._project, [texts], [*types.values()], stateful=False)
        batch = tf.convert_to_tensor(texts).shape[0]
        shapes = [(batch, self.max_length, self.spec.token_bytes), (batch, self.max_length)]
        return {
            name: tf.ensure_shape(array, shape)
            for name, array, shape in zip(types, arrays, shapes, strict=True)
        }

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {
            "name": self.name,
            "spec": self.spec.to_json(),
            "max_length": self.max_length,
            "splitter": self.splitter.kind,
        }

    def _project(self, texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        split = [self.splitter.split(text.decode("utf-8", "replace")) for text in texts]
        words = [([word for word, _, _ in text], None) for text in split]
        shape = (len(texts), self.max_length)
        rows = np.full((*shape, self.spec.token_bytes), self.spec.padding, np.uint8)
        mask = np.zeros(shape, np.int32)
        for at, (window, *_) in enumerate(self._featurizer.encode_batch(words)):
            rows[at, : window.length] = window.inputs["fingerprint"]
            mask[at, : window.length] = 1
        return rows, mask
