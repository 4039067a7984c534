"""The transformer student of XtremeDistil (Mukherjee & Awadallah 2020, section 6.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras

from tfdistil.arguments import MOST_LAYERS, check_parameters, check_sizes
from tfdistil.encoders.layers import (
    SEEDS_PER_LAYER,
    Dense,
    Embeddings,
    TransformerLayer,
    masked_by_bias,
    masked_by_reach,
    normal,
)
from tfdistil.heads.spec import Level
from tfdistil.students.pieces import PieceStudent


@keras.saving.register_keras_serializable(package="tfdistil")
class TransformerStudent(PieceStudent):
    """Embeddings of any width, post-norm transformer blocks, and a linear head per task output.

    The embeddings (words and positions of width E, normalized) are turned to the width of the
    blocks by a linear layer, as in ALBERT (Lan et al. 2020, section 3.1). The text is read off the
    first position, where every sequence has its ``[CLS]``. All weights exist once it is
    constructed.

    Args:
        vocabulary: V, rows of the embedding table.
        embedding: E, its width.
        hidden_dim: of the blocks.
        layers: number of blocks.
        outputs: task output to ``(level, size)``, such as ``{"tags": ("word", 9)}``.
        attention_heads: per block; divides ``hidden_dim``. None: one for every 32 columns.
        intermediate_dim: width of the feed-forward networks. None: four times ``hidden_dim``.
        heads: their names, or each name with its kind, see `tfdistil.heads.spec.check_heads`. A
            schedule may train several, such as ``logits`` (towards the teacher's) before
            ``labels``.
        dropout: rate after the embeddings, on attention probabilities, on what attention and
            feed-forward network add, and in front of the heads.
        projection: the teacher's width; adds the signal ``projection`` = ``f(W h + b)``. None: no
            projection.
        projection_activation: f: ``gelu`` (equation 5), or ``linear`` for `hidden_mse`.
        head_input: what the heads read: ``hidden`` or ``projection``.
        intent_condition: whether labels of words depend on the intent, see
            `tfdistil.students.base.Student`.
        max_positions: the longest sequence in pieces.
        hashed_dim, features, ternary_map, words: hashes and vectors of words beside the embeddings,
            see `tfdistil.students.pieces.PieceStudent`.
        seed: makes initialization and dropout reproducible.

    Raises:
        ValueError: sizes, outputs, heads or ``head_input`` that do not fit together, or an unknown
            ``projection_activation``.

    Signals of `call`:
        - ``embedding [B, T, E]``, ``hidden/0 [B, T, hidden_dim]``: what the first block reads.
        - ``hidden/1`` to ``hidden/<layers>``: what the blocks give; ``hidden`` is the last of them.
        - ``sentence [B, hidden_dim]``: ``hidden`` at the first position.
        - with a projection: ``projection [B, T, D]``, ``sentence_projection [B, D]``.
        - ``<head>/<output>``: ``[B, T, size]`` at word level, ``[B, size]`` at sequence level.

    Layer groups: ``heads``, ``projection`` (where there is one), ``block_<layers>`` to ``block_1``,
    ``embedding`` (tables, normalization, linear layer, and what reads hashes).
    """

    def __init__(
        self,
        vocabulary: int,
        embedding: int,
        hidden_dim: int,
        layers: int,
        outputs: Mapping[str, tuple[Level, int]],
        attention_heads: int | None = None,
        intermediate_dim: int | None = None,
        heads: Sequence[str] | Mapping[str, str | Mapping[str, Any]] = ("labels",),
        dropout: float = 0.1,
        projection: int | None = None,
        projection_activation: str = "gelu",
        head_input: str = "hidden",
        intent_condition: bool = False,
        max_positions: int = 128,
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
        check_sizes(MOST_LAYERS, layers=layers)
        self.hidden_dim, self.depth, self.max_positions = hidden_dim, layers, max_positions
        self.attention_heads = (
            max(1, hidden_dim // 32) if attention_heads is None else attention_heads
        )
        self.intermediate_dim = 4 * hidden_dim if intermediate_dim is None else intermediate_dim
        check_sizes(
            attention_heads=self.attention_heads,
            intermediate_dim=self.intermediate_dim,
            max_positions=max_positions,
        )
        block = 4 * hidden_dim**2 + 2 * hidden_dim * self.intermediate_dim
        check_parameters(vocabulary * embedding + layers * block)
        if hidden_dim % self.attention_heads:
            raise ValueError(
                f"hidden_dim {hidden_dim} is not divisible by {self.attention_heads} attention "
                "heads; give attention_heads that divide it"
            )

        policy = self.dtype_policy
        self.embedding = Embeddings(
            vocabulary,
            embedding,
            max_positions,
            type_vocabulary=0,
            dropout=dropout,
            initializer_range=_deviation(embedding),
            seed=self._seed(0),
            dtype=policy,
            name="embedding",
        )
        self.widening = Dense(
            hidden_dim,
            kernel_initializer=normal(self.read_width**-0.5, self.seed, 3),
            dtype=policy,
            name="widening",
        )
        self.blocks = [
            TransformerLayer(
                hidden_dim,
                self.attention_heads,
                self.intermediate_dim,
                dropout=dropout,
                attention_dropout=dropout,
                attention_output_dropout=dropout,
                initializer_range=_deviation(hidden_dim),
                seed=self._seed(number * SEEDS_PER_LAYER),
                dtype=policy,
                name=f"block_{number}",
            )
            for number in range(1, layers + 1)
        ]
        self._add_top((layers + 1) * SEEDS_PER_LAYER)
        self.build()

    def body_levels(self) -> dict[str, str]:
        """``embedding``, ``hidden/<n>``, ``hidden``, ``sentence``, and the projection."""
        rows = ("embedding", *(f"hidden/{n}" for n in range(self.depth + 1)), "hidden")
        return dict.fromkeys(rows, "subword") | {"sentence": "sequence"} | super().body_levels()

    def _build_body(self) -> int:
        self.embedding.build()
        self._build_readers()
        self.widening.build((None, None, self.read_width))
        for block in self.blocks:
            block.build()
        return self.hidden_dim

    def _read(
        self, ids: Any, beside: list[Any], mask: Any, training: bool | None, exporting: bool
    ) -> dict[str, Any]:
        self._check_length(ids.shape[1])
        embedding = self.embedding(ids, training=training)
        hidden = self.widening(self._beside(embedding, beside))
        signals = {"embedding": embedding, "hidden/0": hidden}
        masking = masked_by_reach(mask) if exporting else masked_by_bias(mask, self.compute_dtype)
        for number, block in enumerate(self.blocks, 1):
            hidden, _ = block(hidden, masking=masking, training=training)
            signals[f"hidden/{number}"] = hidden
        return signals | {"hidden": hidden, "sentence": hidden[:, 0]}

    def _check_length(self, length: int | None) -> None:
        # A length unknown while tracing is checked by the slice of the position table.
        if length is not None and length > self.max_positions:
            raise ValueError(
                f"the sequences have {length} pieces and this student {self.max_positions} "
                "positions; lower max_length, or build the student with more max_positions"
            )

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        """See `tfdistil.students.pieces.PieceStudent.input_specs`.

        Raises:
            ValueError: ``length`` is more than its positions.
        """
        self._check_length(length)
        return super().input_specs(length, batch)

    def body_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """``block_<layers>`` to ``block_1``, ``embedding`` and all that reads words."""
        blocks = [(block.name, block.weights) for block in reversed(self.blocks)]
        words = self._tables(self.embedding, self.widening) + self._hashed_weights()
        return [*blocks, ("embedding", words)]

    @property
    def word_embeddings(self) -> keras.Variable:
        """The embedding table ``[V, E]``."""
        return self.embedding.words

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "hidden_dim": self.hidden_dim,
            "layers": self.depth,
            "attention_heads": self.attention_heads,
            "intermediate_dim": self.intermediate_dim,
            "max_positions": self.max_positions,
        }


def _deviation(hidden_dim: int) -> float:
    """BERT's 0.02 at a width of 768, and more where it is narrower.

    See `tfdistil.encoders.scratch.scratch_encoder`.
    """
    return round(0.55 * hidden_dim**-0.5, 4)
