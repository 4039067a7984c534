"""The pNLP-Mixer student (Fusco, Pascual, Staar and Antognini 2022, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras

from tfdistil.arguments import MOST_LAYERS, check_parameters, check_sizes
from tfdistil.heads.spec import Level
from tfdistil.quantization.engines import TERNARY
from tfdistil.students.convolution import Linear
from tfdistil.students.hashed import HashedStudent
from tfdistil.students.mixing import CentredNorm, check_length, check_window, mixer_blocks


@keras.saving.register_keras_serializable(package="tfdistil")
class MixerStudent(HashedStudent):
    """Windows of hashed words, a bottleneck, and MLP-Mixer blocks over a row of fixed length.

    The features of a word and its neighbours become E numbers by ``relu(X W + b)`` of width
    ``hidden_dim`` and a product; L blocks mix positions, then channels; what comes out is
    normalised, as in MLP-Mixer (Tolstikhin et al. 2021). There is no recurrence and no attention
    but the one that reads a text. All weights exist once it is constructed.

    Args:
        outputs, features, projection_dropout, l2, ternary_map, heads, quantize, seed: as of
            `HashedStudent`.
        window: w, neighbours on each side whose features a position reads too.
        hidden_dim: width inside of the bottleneck and of every MLP of a block.
        bottleneck: E, channels of a position.
        layers: L, blocks.
        max_positions: words of the longest row; longer texts are cut into windows.

    Raises:
        ValueError: arguments outside their ranges, or that do not fit together.

    Signals of `call`: those of `HashedStudent`, with ``embedding [B, T, bottleneck]``, what the
    first block reads, and ``hidden [B, T, bottleneck]``.
    """

    def __init__(
        self,
        outputs: Mapping[str, tuple[Level, int]],
        features: int = 1024,
        window: int = 1,
        hidden_dim: int = 256,
        bottleneck: int = 64,
        layers: int = 2,
        max_positions: int = 128,
        projection_dropout: float = 0.0,
        l2: float = 1e-5,
        ternary_map: str = "operator",
        heads: Sequence[str] | Mapping[str, str | Mapping[str, Any]] = ("labels",),
        quantize: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(
            outputs,
            heads,
            features,
            projection_dropout,
            l2,
            ternary_map,
            quantize,
            seed,
            **kwargs,
        )
        check_sizes(hidden_dim=hidden_dim, bottleneck=bottleneck, max_positions=max_positions)
        check_sizes(MOST_LAYERS, layers=layers)
        check_window(window, max_positions)
        read = (2 * window + 1) * features
        check_parameters(
            hidden_dim * (read + bottleneck + layers * 2 * (max_positions + bottleneck))
        )
        self.max_positions = max_positions
        self._arguments |= {
            "window": window,
            "hidden_dim": hidden_dim,
            "bottleneck": bottleneck,
            "layers": layers,
            "max_positions": max_positions,
        }
        common: dict[str, Any] = {"l2": l2, "quantize": quantize}
        self.neighbours = Linear(
            hidden_dim, window=window, relu=True, seed=self._seed(1), name="neighbours", **common
        )
        self.bottleneck = Linear(bottleneck, seed=self._seed(3), name="bottleneck", **common)
        self.blocks = mixer_blocks(layers, max_positions, hidden_dim, seed, **common)
        self.norm = CentredNorm(quantize, name="norm")
        self._add_heads()
        self.build()

    def _build_body(self) -> int:
        self.neighbours.build((None, None, self.features))
        self.bottleneck.build((None, None, self.neighbours.units))
        for block in self.blocks:
            block.build((None, None, self.bottleneck.units))
        self.norm.build((None, None, self.bottleneck.units))
        return self.bottleneck.units

    def _body(
        self, features: Any, real: Any, training: bool | None, exporting: bool
    ) -> tuple[Any, Any]:
        del exporting  # nothing is written otherwise for a device
        check_length(features.shape[1], self.max_positions, "words")
        # Before a window is read: the last word's neighbour is nobody, whatever padding holds.
        features = self._rounding.activation(features * real, *TERNARY)
        x = self.bottleneck(
            self.neighbours(features, real, training=training), real, training=training
        )
        embedding = hidden = self.bottleneck.range.rounded(x * real)
        for block in self.blocks:
            hidden = block(hidden, real, training=training)
        return embedding, self.norm(hidden, real, training=training)

    def body_groups(self) -> dict[str, Sequence[keras.layers.Layer]]:
        """``encoder``, the blocks, and ``bottleneck``."""
        return {
            "encoder": [*self.blocks, self.norm],
            "bottleneck": [self.bottleneck, self.neighbours],
        }

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        """See `HashedStudent.input_specs`.

        Raises:
            ValueError: ``length`` is more than its positions.
        """
        check_length(length, self.max_positions, "words")
        return super().input_specs(length, batch)
