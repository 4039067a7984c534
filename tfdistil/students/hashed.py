"""What students of hashed words have in common: features, heads, and how they are rounded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import keras
import numpy as np
from keras import ops

from tfdistil.arguments import check_features, check_rates, check_some
from tfdistil.device_ops import gather
from tfdistil.encoders.hashed_words import expanded
from tfdistil.heads.model import HeadedModel
from tfdistil.heads.spec import Level
from tfdistil.quantization.engines import TERNARY, find_engine
from tfdistil.quantization.observers import RangeObserver
from tfdistil.students.attention_pooling import AttentionPooling
from tfdistil.students.convolution import Linear
from tfdistil.students.intent_condition import chosen_intent, intent_of, make_conditions
from tfdistil.students.masked_batch_norm import MaskedStatistics
from tfdistil.students.recalibration import recalibrate
from tfdistil.text.projection.ternary import ternary_table
from tfdistil.variables import copy_values

_INPUTS = ("fingerprint", "attention_mask")


class HashedStudent(HeadedModel):
    """A body that reads ternary features of words, with the heads of a pQRNN on top of it.

    A word is a fingerprint of 2N bits, made on the host; every position is a word. There is no
    vocabulary and no embedding table.

    Where there are outputs per word and exactly one per text, the slots' logits are
    ``Linear(O) + W[intent]``, so that ``P(i, a | q) = P(a | i, q) P(i | q)``. The intent is the
    predicted one; in training the gold one, or where there is none the teacher's best.

    A subclass makes the layers of its body, calls `_add_heads`, then `build`; and it defines
    `_build_body`, `_body`, `body_groups` and, if it has more noise than `feature_dropout`,
    `_noise`.

    Args:
        outputs: task output to ``(level, size)``, such as ``{"slots": ("word", 9), "intent":
            ("sequence", 3)}``; either level alone makes it a tagger or a classifier.
        heads: their names, or each name with its kind, see `tfdistil.heads.spec.check_heads`.
        features: N, ternary features of a word; a multiple of 4.
        projection_dropout: rate on the ternary features.
        l2: adds ``l2 * sum(w ** 2)`` over all kernels and the intent's W, but not over biases,
            gains and offsets, to the losses.
        ternary_map: a key of `tfdistil.text.projection.ternary.MAPS`.
        quantize: a name of `tfdistil.quantization.ENGINES`, or None for float.
        seed: makes initialization and noise reproducible.

    Raises:
        ValueError: arguments outside their ranges, or that do not fit together.

    Signals of `call`:
        - ``embedding [B, T, E]``, ``hidden [B, T, H]``, both 0 at padding.
        - with an output per text: ``sentence [B, H]``, the attention's.
        - ``<head>/<output>``: ``[B, T, size]`` at word level, ``[B, size]`` at sequence level.
    """

    reads = "hashes"
    precisions = ("float32",)  # in which the rounding of its file is simulated

    def __init__(
        self,
        outputs: Mapping[str, tuple[Level, int]],
        heads: Sequence[str] | Mapping[str, str | Mapping[str, Any]],
        features: int,
        projection_dropout: float,
        l2: float,
        ternary_map: str,
        quantize: str | None,
        seed: int | None,
        **kwargs: Any,
    ):
        super().__init__(outputs, heads, **kwargs)
        check_some(outputs)
        check_features(features)
        check_rates(projection_dropout=projection_dropout)
        if not 0 <= l2 < math.inf:
            raise ValueError(f"l2 is at least 0, got {l2}")
        self._arguments: dict[str, Any] = {
            "features": features,
            "projection_dropout": projection_dropout,
            "l2": l2,
            "ternary_map": ternary_map,
            "quantize": quantize,
            "seed": seed,
        }
        self.features = features
        self._rounding = find_engine(quantize)
        self._table = ternary_table(ternary_map).astype(np.float32)
        self.feature_dropout = keras.layers.Dropout(
            projection_dropout, seed=self._seed(0), name="feature_dropout"
        )

    def _seed(self, part: int) -> int | None:
        seed = self._arguments["seed"]
        return None if seed is None else seed + part

    def _add_heads(self) -> None:
        """Make what reads ``hidden``: attention, a layer per head and output, the condition."""
        common = {name: self._arguments[name] for name in ("l2", "quantize")}
        levels = [spec.level for spec in self.outputs_spec.values()]
        self.attention = (
            AttentionPooling(seed=self._seed(2), name="attention", **common)
            if "sequence" in levels
            else None
        )
        self.head_layers = {
            signal: Linear(
                spec.size, seed=self._seed(1000 + n), name=signal.replace("/", "_"), **common
            )
            for n, (signal, spec) in enumerate(self.head_specs.items())
        }
        self.intent = intent_of(self.outputs_spec)
        self.conditions = make_conditions(self.head_specs, self.outputs_spec, **common)

    def _build_body(self) -> int:
        """Create the body's weights; returns the width of ``hidden``."""
        raise NotImplementedError

    def _body(
        self, features: Any, real: Any, training: bool | None, exporting: bool
    ) -> tuple[Any, Any]:
        """``embedding [B, T, E]`` and ``hidden [B, T, H]``, both 0 at padding.

        Args:
            features: ``[B, T, N]``; anything at padding.
            real: ``[B, T, 1]``, 1 at real positions, in the dtype of ``features``.
            training: whether noise is on, statistics and ranges follow.
            exporting: whether this is the graph for the converter.
        """
        raise NotImplementedError

    def body_groups(self) -> dict[str, Sequence[keras.layers.Layer]]:
        """The layers below the heads by the name of their group, top to bottom."""
        raise NotImplementedError

    def _noise(self) -> list[tuple[keras.layers.Layer, str]]:
        """Layers and the name of their rate that is 0 on the device."""
        return [(self.feature_dropout, "rate")]

    def build(self, input_shape: Any = None) -> None:
        """Create all weights; done by the constructor."""
        del input_shape
        if next(iter(self.head_layers.values())).built:
            return
        width = self._build_body()
        if self.attention is not None:
            self.attention.build((None, None, width))
        for head in self.head_layers.values():
            head.build((None, None, width))
        for condition in self.conditions.values():
            condition.build()
        self.built = True

    def call(self, inputs: Mapping[str, Any], training: bool | None = None) -> dict[str, Any]:
        """All signals by name, see the class.

        Args:
            inputs: ``fingerprint`` uint8 ``[B, T, N/4]``, padded on the right;
                ``attention_mask`` int ``[B, T]`` (1 = real; default all real). In training also
                ``target/<intent>`` int ``[B]``, -1 where unknown, and
                ``teacher/logits/<intent> [B, size]``, if they are there. Other entries are not
                looked at.
            training: whether noise is on, statistics and ranges follow, and the slots depend on
                the given intent.
        """
        return self._signals(inputs, training)

    def _signals(
        self, inputs: Mapping[str, Any], training: bool | None, exporting: bool = False
    ) -> dict[str, Any]:
        fingerprint = inputs["fingerprint"]
        attention_mask = inputs.get("attention_mask")
        if attention_mask is None:
            attention_mask = ops.ones_like(fingerprint[..., 0], dtype="int32")
        attention_mask = ops.cast(attention_mask, "int32")
        real = self._whole(np.array([[0], [1]], np.float32), attention_mask)

        features = self.feature_dropout(self._expand(fingerprint), training=training)
        embedding, hidden = self._body(features, real, training, exporting)
        signals = {"embedding": embedding, "hidden": hidden}
        if self.attention is not None:
            signals["sentence"] = self.attention(hidden, attention_mask, training=training)

        logits = {}
        # Texts first: words may depend on them.
        for name, layer in self.head_layers.items():
            if self.head_specs[name].level == "sequence":
                row = ops.expand_dims(signals["sentence"], 1)
                logits[name] = ops.squeeze(layer(row, training=training), 1)
        for name, layer in self.head_layers.items():
            if name in logits:
                continue
            logits[name] = layer(hidden, real, training=training)
            if name in self.conditions:
                predicted = logits[f"{name.partition('/')[0]}/{self.intent}"]
                intent = chosen_intent(str(self.intent), predicted, inputs, training)
                logits[name] = self.conditions[name](logits[name], intent, real, training=training)
        scores = {name: logits[name] for name in self.head_layers}
        return signals | self._with_heads(scores, inputs)

    def _expand(self, fingerprint: Any) -> Any:
        """Bytes ``[B, T, N/4]`` to features ``[B, T, N]``."""
        return expanded(fingerprint, partial(self._whole, self._table))

    def _whole(self, table: np.ndarray, indices: Any) -> Any:
        """Rows of a table of whole numbers, as an int8 with scale 1."""
        return self._rounding.activation(gather(table, indices), *TERNARY)

    def body_levels(self) -> dict[str, str]:
        """``embedding``, ``hidden``, and with an output per text ``sentence``."""
        sentence = {} if self.attention is None else {"sentence": "sequence"}
        return {"embedding": "subword", "hidden": "subword", **sentence}

    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """``heads``, those of `body_groups`, ``statistics`` and ``ranges`` where there are any.

        Every weight is in exactly one group. ``statistics`` are the moving averages of all
        normalisations, ``ranges`` those of all activations; their gains and offsets are in the
        group of their layer.
        """
        kept_apart: dict[str, type[keras.layers.Layer]] = {
            "statistics": MaskedStatistics,
            "ranges": RangeObserver,
        }
        apart: dict[str, list[keras.Variable]] = {name: [] for name in kept_apart}
        for layer in self._flatten_layers(include_self=False):
            for name, kind in kept_apart.items():
                if isinstance(layer, kind):
                    apart[name] += layer.weights
        others = {id(weight) for weights in apart.values() for weight in weights}

        def own(*layers: Any) -> list[keras.Variable]:
            return [w for layer in layers for w in layer.weights if id(w) not in others]

        pooling = [] if self.attention is None else [self.attention]
        scoring = self.head_layers.values()
        return [
            ("heads", own(*scoring, *self.conditions.values(), *self.heads.values(), *pooling)),
            *((name, own(*layers)) for name, layers in self.body_groups().items()),
            *((name, weights) for name, weights in apart.items() if weights),
        ]

    def recalibrate(self, batches: Iterable[Mapping[str, Any]]) -> None:
        """Measure statistics and ranges as the device has them: without noise.

        See `tfdistil.students.recalibration.recalibrate`.

        Args:
            batches: inputs of `call`; their targets are not looked at.
        """
        inputs = ({name: batch[name] for name in _INPUTS if name in batch} for batch in batches)
        recalibrate(self, self._noise(), inputs)

    def quantized(self, engine: str = "keras") -> HashedStudent:
        """A student with the same weights that rounds as its int8 file will.

        Its ranges are set by the first batch it is trained on.

        Args:
            engine: a name of `tfdistil.quantization.ENGINES`.

        Raises:
            ValueError: an unknown engine, or a student that is quantized already.
        """
        if self._rounding.quantizes:
            raise ValueError(
                f"this student is quantized by {self._arguments['quantize']!r} already"
            )
        student = type(self)(**{**self.get_config(), "quantize": engine})
        own = {_inner_path(weight): weight for weight in student.weights}
        copy_values([own[_inner_path(weight)] for weight in self.weights], self.weights)
        return student

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        """What a device feeds: ``fingerprint`` uint8 ``[B, T, N/4]``, ``attention_mask`` int32."""
        shape = (batch, length)
        return [
            keras.InputSpec(shape=(*shape, self.features // 4), dtype="uint8", name="fingerprint"),
            keras.InputSpec(shape=shape, dtype="int32", name="attention_mask"),
        ]

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | self._arguments


def _inner_path(weight: keras.Variable) -> str:
    """The path of a weight without the name of the model."""
    return weight.path.partition("/")[2]
