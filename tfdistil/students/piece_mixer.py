"""A student of word pieces whose body is that of a pNLP-Mixer: MLP-Mixer blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras

from tfdistil.arguments import MOST_LAYERS, check_parameters, check_sizes
from tfdistil.heads.spec import Level
from tfdistil.students.bottleneck import BottleneckStudent
from tfdistil.students.mixing import CentredNorm, check_length, check_window, mixer_blocks


@keras.saving.register_keras_serializable(package="tfdistil")
class PieceMixerStudent(BottleneckStudent):
    """Windows of word pieces, and words beside them, in a bottleneck; MLP-Mixer blocks.

    The blocks are those of `tfdistil.students.mixer.MixerStudent`; there is no recurrence. All
    weights exist once it is constructed.

    Args:
        vocabulary: V, rows of the embedding table.
        embedding: E, its width.
        outputs: task output to ``(level, size)``, such as ``{"tags": ("word", 9)}``.
        hidden_dim: width inside of every MLP of a block.
        layers: L, blocks.
        bottleneck: B, channels of a position.
        window: neighbours on each side whose embeddings a position reads too.
        max_positions: pieces of the longest row; longer texts are cut into windows.
        heads, dropout, embedding_dropout, embedding_codes, projection, projection_activation,
            head_input, intent_condition, hashed_dim, features, ternary_map, words, seed: as of
            `BottleneckStudent`.

    Raises:
        ValueError: arguments outside their ranges, or that do not fit together.

    Signals of `call`, layer groups: those of `BottleneckStudent`, with ``hidden [B, T,
    bottleneck]``.
    """

    def __init__(
        self,
        vocabulary: int,
        embedding: int,
        outputs: Mapping[str, tuple[Level, int]],
        hidden_dim: int = 256,
        layers: int = 2,
        bottleneck: int = 64,
        window: int = 1,
        max_positions: int = 128,
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
        check_sizes(hidden_dim=hidden_dim, max_positions=max_positions)
        check_sizes(MOST_LAYERS, layers=layers)
        check_window(window, max_positions)
        super().__init__(
            vocabulary,
            embedding,
            bottleneck,
            window,
            outputs,
            heads,
            dropout,
            embedding_dropout,
            embedding_codes,
            projection,
            projection_activation,
            head_input,
            intent_condition,
            hashed_dim,
            features,
            ternary_map,
            words,
            seed,
            **kwargs,
        )
        block = 2 * hidden_dim * (max_positions + bottleneck)
        check_parameters(vocabulary * embedding + layers * block)
        self.max_positions = max_positions
        self._body_config = {
            "hidden_dim": hidden_dim,
            "layers": layers,
            "window": window,
            "max_positions": max_positions,
        }
        self.blocks = mixer_blocks(layers, max_positions, hidden_dim, seed)
        self.norm = CentredNorm(name="norm")
        self._add_top(10 * (layers + 1))
        self.build()

    def _build_layers(self, width: int) -> int:
        for layer in self.encoder_layers():
            layer.build((None, None, width))
        return width

    def _encode(self, x: Any, real: Any, training: bool | None, exporting: bool) -> Any:
        del exporting  # nothing is written otherwise for a device
        check_length(x.shape[1], self.max_positions, "pieces")
        for block in self.blocks:
            x = block(x, real, training=training)
        return self.norm(x, real, training=training)

    def encoder_layers(self) -> Sequence[keras.layers.Layer]:
        """The blocks and what normalises their sum."""
        return [*self.blocks, self.norm]

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        """See `tfdistil.students.pieces.PieceStudent.input_specs`.

        Raises:
            ValueError: ``length`` is more than its positions.
        """
        check_length(length, self.max_positions, "pieces")
        return super().input_specs(length, batch)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | self._body_config
