"""Reference shapes: models of a known size with random weights, for latency and bytes only."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
from keras import ops

from tfdistil.benchmarks.cache import cache_folder
from tfdistil.errors import RecipeError
from tfdistil.files import write_bytes


@dataclass(frozen=True)
class TransformerSize:
    """The sizes of a BERT-shaped encoder.

    Attributes:
        layers: number of Transformer layers.
        hidden_dim: of the hidden states.
        heads: attention heads.
        intermediate_dim: width of the feed-forward layers.
        vocabulary: rows of the embedding table.
        positions: rows of the position table.
        labels: size of the word-level head.
    """

    layers: int
    hidden_dim: int
    heads: int
    intermediate_dim: int
    vocabulary: int
    positions: int = 512
    labels: int = 9


REFERENCES = {"mbert-shape": TransformerSize(12, 768, 12, 3072, 119_547)}
"""Shapes by the name ``--reference`` takes. ``mbert-shape``: that of multilingual BERT (178 M)."""


class TransformerShape(keras.Model):
    """A BERT-shaped encoder with a word-level head, laid out for the runtime.

    It is a fair and strong baseline: static shapes, every product of activations and weights a
    plain matrix product of all ``B T`` rows (the runtime's fastest kernel), and no mask or dropout
    at all, so it does a little less than a real model of its shape.

    Args:
        size: the sizes.
        seed: of the first weight; they are normal with standard deviation 0.02.
    """

    def __init__(self, size: TransformerSize, seed: int = 0):
        super().__init__()
        self.size = size
        self._seeds = itertools.count(seed)
        d, inner = size.hidden_dim, size.intermediate_dim
        self.words = self._weight("words", size.vocabulary, d)
        self.place = self._weight("positions", size.positions, d)
        self.segment = self._weight("segments", 2, d)
        self.norms = [self._norm(f"norm_{n}") for n in range(2 * size.layers + 1)]
        self.blocks = [
            {
                "attention": [self._linear(f"{n}_attention_{part}", d, d) for part in "qkvo"],
                "inner": self._linear(f"{n}_inner", d, inner),
                "outer": self._linear(f"{n}_outer", inner, d),
            }
            for n in range(size.layers)
        ]
        self.pooler = self._linear("pooler", d, d)
        self.head = self._linear("head", d, size.labels)
        self.built = True

    def _weight(self, name: str, *shape: int) -> Any:
        # Every weight from a seed of its own: equal constants would be stored only once.
        start = keras.initializers.RandomNormal(stddev=0.02, seed=next(self._seeds))
        return self.add_weight(shape=shape, initializer=start, name=name)

    def _linear(self, name: str, inputs: int, outputs: int) -> tuple[Any, Any]:
        kernel = self._weight(f"{name}_kernel", inputs, outputs)
        return kernel, self._weight(f"{name}_bias", outputs)

    def _norm(self, name: str) -> tuple[Any, Any]:
        width = (self.size.hidden_dim,)
        scale = self.add_weight(shape=width, initializer="ones", name=f"{name}_scale")
        return scale, self._weight(f"{name}_shift", *width)

    def call(self, input_ids: Any) -> tuple[Any, Any]:
        """Word logits ``[B, T, labels]`` and the pooled first position ``[B, hidden_dim]``.

        Args:
            input_ids: int32 ``[B, T]``, both static.
        """
        batch, time = input_ids.shape
        size, d = self.size, self.size.hidden_dim
        x = ops.take(self.words, input_ids, axis=0) + self.place[:time] + self.segment[0]
        x = _normalize(ops.reshape(x, (batch * time, d)), *self.norms[0])

        def split(rows: Any) -> Any:
            shape = (batch, time, size.heads, d // size.heads)
            return ops.transpose(ops.reshape(rows, shape), (0, 2, 1, 3))

        for n, block in enumerate(self.blocks):
            q, k, v = (split(_affine(x, *linear)) for linear in block["attention"][:3])
            scale = (d // size.heads) ** -0.5
            weights = ops.softmax(ops.matmul(q * scale, ops.transpose(k, (0, 1, 3, 2))))
            mixed = ops.transpose(ops.matmul(weights, v), (0, 2, 1, 3))
            mixed = _affine(ops.reshape(mixed, (batch * time, d)), *block["attention"][3])
            x = _normalize(x + mixed, *self.norms[2 * n + 1])
            inner = ops.gelu(_affine(x, *block["inner"]), approximate=False)
            x = _normalize(x + _affine(inner, *block["outer"]), *self.norms[2 * n + 2])
        first = ops.reshape(x, (batch, time, d))[:, 0]
        logits = ops.reshape(_affine(x, *self.head), (batch, time, size.labels))
        return logits, ops.tanh(_affine(first, *self.pooler))


def _affine(x: Any, kernel: Any, bias: Any) -> Any:
    return ops.matmul(x, kernel) + bias


def _normalize(x: Any, scale: Any, shift: Any) -> Any:
    centred = x - ops.mean(x, axis=-1, keepdims=True)
    variance = ops.mean(centred * centred, axis=-1, keepdims=True)
    return centred * ops.rsqrt(variance + 1e-12) * scale + shift


def reference_file(
    name: str,
    cache: Path | None = None,
    *,
    length: int = 32,
    batch: int = 32,
    quantize: str = "none",
    screen: Callable[[str], None] = lambda line: None,
) -> Path:
    """A reference shape as a ``.tflite`` with the signatures ``online`` and ``batch``.

    Args:
        name: a key of `REFERENCES`.
        cache: the folder it is kept in, `cache_folder` if None; it is built (some GB of memory, a
            minute) when missing.
        length: positions per call.
        batch: rows of the signature ``batch``; 1: there is none.
        quantize: ``none`` (float32) or ``dynamic`` (int8 weights).
        screen: told when something is built.

    Raises:
        RecipeError: an unknown name.
        ExportError: a conversion that failed.
    """
    if name not in REFERENCES:
        raise RecipeError(f"unknown reference {name!r}; there is {', '.join(REFERENCES)}")
    path = (cache or cache_folder()) / f"{name}-{quantize}-{batch}x{length}.tflite"
    if not path.exists():
        screen(f"building {path.name} with random weights, once")
        write_bytes(path, build(REFERENCES[name], length, batch, quantize))
    return path


def build(size: TransformerSize, length: int, batch: int, quantize: str = "none") -> bytes:
    """Convert a `TransformerShape` of some size."""
    from tfdistil.exporting.convert import Entry, convert, rows_of

    model = TransformerShape(size)

    def entry(rows: int) -> Entry:
        def function(input_ids: Any) -> dict[str, Any]:
            logits, pooled = model(input_ids)
            return {"tags": logits, "pooled": pooled}

        spec = keras.InputSpec(shape=(rows, length), dtype="int32", name="input_ids")
        return Entry(function, [spec])

    return convert(model, {name: entry(rows) for name, rows in rows_of(batch).items()}, quantize)
