"""The BiLSTM student of XtremeDistil (Mukherjee & Awadallah 2020, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
from keras import ops

from tfdistil.arguments import check_parameters, check_sizes
from tfdistil.heads.spec import Level
from tfdistil.students.lstm import BiLSTM
from tfdistil.students.pieces import PieceStudent


@keras.saving.register_keras_serializable(package="tfdistil")
class BiLSTMStudent(PieceStudent):
    """Embeddings, one bidirectional LSTM, and a linear head per task output.

    All weights exist once it is constructed.

    Args:
        vocabulary: V, rows of the embedding table.
        embedding: E, its width.
        hidden_dim: H, the width of each direction.
        outputs: task output to ``(level, size)``, such as ``{"tags": ("word", 9)}``.
        heads: their names, or each name with its kind, see `tfdistil.heads.spec.check_heads`. A
            schedule may train several, such as ``logits`` (towards the teacher's) before
            ``labels``.
        dropout: rate after the LSTM, and after the embeddings unless these have their own (0.2 in
            the paper's table 12).
        embedding_dropout: rate after the embeddings; None: ``dropout``. Single numbers are dropped,
            as after the embeddings of BERT; whole words are the noise ``word_dropout``.
        embedding_codes: bytes for a word piece, which divide E: the table is then a product of that
            many codebooks of 256 entries, see `tfdistil.students.product_embedding`. None: E
            numbers, of a byte each in int8.
        projection: the teacher's width; adds the signal ``projection`` = ``f(W h + b)``. None: no
            projection.
        projection_activation: f: ``gelu`` (equation 5), or ``linear`` for `hidden_mse`.
        head_input: what the heads read: ``hidden`` or ``projection``.
        intent_condition: whether labels of words depend on the intent, see
            `tfdistil.students.base.Student`.
        hashed_dim, features, ternary_map, words: hashes and vectors of words beside the embeddings,
            see `tfdistil.students.pieces.PieceStudent`.
        seed: makes initialization and dropout reproducible.

    Raises:
        ValueError: no sizes or rates, too many parameters, outputs, heads or ``head_input`` that do
            not fit together, or an unknown ``projection_activation``.

    Signals of `call`:
        - ``embedding [B, T, E]``, ``hidden [B, T, 2H]``, ``sentence [B, 2H]``: the final states of
          both directions.
        - with a projection: ``projection [B, T, D]``, ``sentence_projection [B, D]``.
        - ``<head>/<output>``: ``[B, T, size]`` at word level, ``[B, size]`` at sequence level.

    Layer groups: ``heads``, ``projection`` (where there is one), ``encoder``, ``embedding``.
    """

    def __init__(
        self,
        vocabulary: int,
        embedding: int,
        hidden_dim: int,
        outputs: Mapping[str, tuple[Level, int]],
        heads: Sequence[str] | Mapping[str, str | Mapping[str, Any]] = ("labels",),
        dropout: float = 0.2,
        embedding_dropout: float | None = None,
        embedding_codes: int | None = None,
        projection: int | None = None,
        projection_activation: str = "gelu",
        head_input: str = "hidden",
        intent_condition: bool = False,
        hashed_dim: int | None = None,
        features: int | None = None,
        ternary_map: str = "operator",
        words: Mapping[str, int] | None = None,
        seed: int | None = None,
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
        check_sizes(hidden_dim=hidden_dim)
        read = self.read_width
        check_parameters(vocabulary * embedding + 8 * hidden_dim * (read + hidden_dim))
        self.hidden_dim = hidden_dim
        self._add_table(embedding_codes, embedding_dropout)
        self.encoder = BiLSTM(
            hidden_dim, seed=self._seed(2), dtype=self.dtype_policy, name="encoder"
        )
        self._add_top(6)
        self.build()

    def body_levels(self) -> dict[str, str]:
        """``embedding``, ``hidden``, ``sentence``, and the projection."""
        own = {"embedding": "subword", "hidden": "subword", "sentence": "sequence"}
        return own | super().body_levels()

    def _build_body(self) -> int:
        self.embedding.build((None, None))
        self._build_readers()
        self.encoder.build((None, None, self.read_width))
        return 2 * self.hidden_dim

    def _read(
        self, ids: Any, beside: list[Any], mask: Any, training: bool | None, exporting: bool
    ) -> dict[str, Any]:
        lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
        embedding = self.embedding(ids)
        if exporting:
            read = [embedding, *(ops.cast(one, embedding.dtype) for one in beside)]
        else:
            read = self.embedding_dropout(self._beside(embedding, beside), training=training)
        # What a device runs is unrolled whatever the length.
        hidden, sentence = self.encoder(read, lengths, unroll=True if exporting else None)
        return {"embedding": embedding, "hidden": hidden, "sentence": sentence}

    def body_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """``encoder``, with what reads hashes, and ``embedding``."""
        encoder = self.encoder.weights + self._hashed_weights()
        return [("encoder", encoder), ("embedding", self._tables(self.embedding))]

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "hidden_dim": self.hidden_dim,
            "embedding_dropout": self.embedding_dropout.rate,
            "embedding_codes": self.embedding_codes,
        }
