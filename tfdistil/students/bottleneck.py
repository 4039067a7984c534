"""Word pieces and the hashes of their words, added up in a bottleneck that some body reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from tfdistil.arguments import check_sizes
from tfdistil.device_ops import gather
from tfdistil.heads.spec import Level
from tfdistil.students.attention_pooling import AttentionPooling
from tfdistil.students.convolution import Linear
from tfdistil.students.pieces import PieceStudent
from tfdistil.students.recalibration import recalibrate

_INPUTS = ("input_ids", "attention_mask", "fingerprint")


class BottleneckStudent(PieceStudent):
    """``W e + V h + U v + b`` of a piece and its word, and a body that reads it.

    The embedding e is the piece's, the hashes h and the vector v are its word's. Each has a product
    of its own, so that in int8 each keeps its own scale. Texts are read by a learned attention, as
    by a pQRNN.

    A subclass makes the layers of its body, calls `_add_top`, then `build`; and it defines
    `_build_layers`, `_encode`, `encoder_layers` and, if it has noise of its own, `_noise`.

    Args:
        vocabulary: V, rows of the embedding table.
        embedding: E, its width.
        bottleneck: B, the width of what the body reads.
        window: neighbours on each side whose embeddings a position reads too.
        embedding_dropout: rate on embeddings and hashes; None: ``dropout``.
        embedding_codes: bytes for a word piece, see `PieceStudent._add_table`.
        outputs, heads, dropout, projection, projection_activation, head_input,
            intent_condition, seed: as of `tfdistil.students.base.Student`.
        hashed_dim, features, ternary_map, words: as of `PieceStudent`.

    Raises:
        ValueError: no sizes, or what `PieceStudent` raises.

    Signals of `call`:
        - ``embedding [B, T, E]``; ``hidden [B, T, w]``, 0 at padding.
        - with an output per text: ``sentence [B, w]``, the attention's.
        - with a projection: ``projection [B, T, D]``, with an output per text
          ``sentence_projection [B, D]``.
        - ``<head>/<output>``: ``[B, T, size]`` at word level, ``[B, size]`` at sequence level.

    Layer groups: ``heads``, ``projection`` (where there is one), ``encoder`` (with statistics),
    ``embedding``.
    """

    precisions = ("float32",)  # sums over positions and statistics

    def __init__(
        self,
        vocabulary: int,
        embedding: int,
        bottleneck: int,
        window: int,
        outputs: Mapping[str, tuple[Level, int]],
        heads: Sequence[str] | Mapping[str, str | Mapping[str, Any]],
        dropout: float,
        embedding_dropout: float | None,
        embedding_codes: int | None,
        projection: int | None,
        projection_activation: str,
        head_input: str,
        intent_condition: bool,
        hashed_dim: int | None,
        features: int | None,
        ternary_map: str,
        words: Mapping[str, int] | None,
        seed: int | None,
        **kwargs: Any,
    ):
        super().__init__(
            vocabulary,
            embedding,
            outputs,
            heads,
            dropout,
            projection,
            projection_activation,
            head_input,
            intent_condition,
            seed,
            hashed_dim,
            features,
            ternary_map,
            words,
            **kwargs,
        )
        check_sizes(bottleneck=bottleneck)
        self._add_table(embedding_codes, embedding_dropout)
        self.bottleneck = Linear(bottleneck, window=window, seed=self._seed(2), name="bottleneck")
        self.hashed_bottleneck, self.words_bottleneck = (
            None
            if reader is None
            else Linear(bottleneck, bias=False, seed=self._seed(part), name=name)
            for reader, part, name in (
                (self.hashed_words, 3, "hashed_bottleneck"),
                (self.word_vectors, 5, "words_bottleneck"),
            )
        )
        levels = [spec.level for spec in self.outputs_spec.values()]
        self.attention = (
            AttentionPooling(seed=self._seed(4), name="attention") if "sequence" in levels else None
        )

    @property
    def _reader_bottlenecks(self) -> list[Linear]:
        """The products of what is read of words."""
        products = (self.hashed_bottleneck, self.words_bottleneck)
        return [product for product in products if product is not None]

    def _build_layers(self, width: int) -> int:
        """Create the body's weights, for inputs of ``width``; returns that of ``hidden``."""
        raise NotImplementedError

    def _encode(self, x: Any, real: Any, training: bool | None, exporting: bool) -> Any:
        """``hidden [B, T, w]``, 0 at padding.

        Args:
            x: ``[B, T, bottleneck]``, 0 at padding.
            real: ``[B, T, 1]``, 1 at real positions, float32.
            training: whether noise is on and statistics follow.
            exporting: whether this is the graph for the converter.
        """
        raise NotImplementedError

    def encoder_layers(self) -> Sequence[keras.layers.Layer]:
        """The layers of the body."""
        raise NotImplementedError

    def _noise(self) -> list[tuple[keras.layers.Layer, str]]:
        """Layers and the name of their rate that is 0 on the device."""
        return [(self.embedding_dropout, "rate")]

    def _reads_text(self) -> bool:
        return self.attention is not None

    def body_levels(self) -> dict[str, str]:
        """``embedding``, ``hidden``, where texts are read ``sentence``, and the projection."""
        sentence = {"sentence": "sequence"} if self._reads_text() else {}
        return {"embedding": "subword", "hidden": "subword"} | sentence | super().body_levels()

    def _build_body(self) -> int:
        self.embedding.build((None, None))
        self.bottleneck.build((None, None, self.embedding_width))
        for width, linear in zip(self._build_readers(), self._reader_bottlenecks, strict=True):
            linear.build((None, None, width))
        width = self._build_layers(self.bottleneck.units)
        if self.attention is not None:
            self.attention.build((None, None, width))
        return width

    def _read(
        self, ids: Any, beside: list[Any], mask: Any, training: bool | None, exporting: bool
    ) -> dict[str, Any]:
        mask = ops.cast(mask, "int32")
        real = gather(np.array([[0], [1]], np.float32), mask)
        embedding = self.embedding(ids)
        # The last piece's neighbour is nobody, whatever padding holds.
        read = embedding * real if self.bottleneck.window else embedding
        x = self.bottleneck(self.embedding_dropout(read, training=training))
        for one, linear in zip(beside, self._reader_bottlenecks, strict=True):
            x = x + linear(self.embedding_dropout(one, training=training))
        hidden = self._encode(x * real, real, training, exporting)
        signals = {"embedding": embedding, "hidden": hidden}
        if self.attention is not None:
            signals["sentence"] = self.attention(hidden, mask, training=training)
        return signals

    def body_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """``encoder``, all between the table and the heads, and ``embedding``."""
        reading = [self.bottleneck, *self._reader_bottlenecks]
        pooling = [] if self.attention is None else [self.attention]
        layers = [*self.encoder_layers(), *reading, *pooling]
        encoder = [weight for layer in layers for weight in layer.weights]
        return [
            ("encoder", encoder + self._hashed_weights()),
            ("embedding", self._tables(self.embedding)),
        ]

    def recalibrate(self, batches: Iterable[Mapping[str, Any]]) -> None:
        """Measure statistics as the device has them: without noise.

        See `tfdistil.students.recalibration.recalibrate`.

        Args:
            batches: inputs of `call`; their targets are not looked at.
        """
        inputs = ({name: batch[name] for name in _INPUTS if name in batch} for batch in batches)
        recalibrate(self, self._noise(), inputs)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "bottleneck": self.bottleneck.units,
            "embedding_dropout": self.embedding_dropout.rate,
            "embedding_codes": self.embedding_codes,
        }
