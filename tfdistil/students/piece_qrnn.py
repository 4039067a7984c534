"""A student of word pieces whose body is that of a pQRNN: bidirectional QRNNs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras

from tfdistil.arguments import MOST_LAYERS, check_parameters, check_rates, check_sizes
from tfdistil.heads.spec import Level
from tfdistil.students.bottleneck import BottleneckStudent
from tfdistil.students.qrnn import build_in_turn, qrnn_layers, run_in_turn


@keras.saving.register_keras_serializable(package="tfdistil")
class PieceQrnnStudent(BottleneckStudent):
    """Word pieces, and words beside them, in a bottleneck; L bidirectional QRNNs.

    All weights exist once it is constructed.

    Args:
        vocabulary: V, rows of the embedding table.
        embedding: E, its width.
        outputs: task output to ``(level, size)``, such as ``{"tags": ("word", 9)}``.
        state: S, the width of each direction.
        layers: L, QRNNs.
        bottleneck: B, the width of what the first QRNN reads.
        taps: k, positions that a gate sees: the current one and those before it in its direction.
        pooling: of the QRNNs, see `tfdistil.students.qrnn.BiQRNN`.
        zoneout: probability that a state stays as it was; layer l has ``zoneout ** l``.
        heads, dropout, embedding_dropout, embedding_codes, projection, projection_activation,
            head_input, intent_condition, hashed_dim, features, ternary_map, words, seed: as of
            `BottleneckStudent`.

    Raises:
        ValueError: arguments outside their ranges, or that do not fit together.

    Signals of `call`, layer groups: those of `BottleneckStudent`, with ``hidden [B, T, 2S]``.
    """

    def __init__(
        self,
        vocabulary: int,
        embedding: int,
        outputs: Mapping[str, tuple[Level, int]],
        state: int = 96,
        layers: int = 2,
        bottleneck: int = 192,
        taps: int = 2,
        pooling: str = "fo",
        zoneout: float = 0.0,
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
            bottleneck,
            0,
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
        check_sizes(state=state, taps=taps)
        check_sizes(MOST_LAYERS, layers=layers)
        check_rates(zoneout=zoneout)
        layer = 8 * taps * state * max(bottleneck, 2 * state)
        check_parameters(vocabulary * embedding + layers * layer)
        self._body_config = {
            "state": state,
            "layers": layers,
            "taps": taps,
            "pooling": pooling,
            "zoneout": zoneout,
        }
        self.qrnns = qrnn_layers(layers, state, taps, pooling, zoneout, seed)
        self._add_top(10 * (layers + 1))
        self.build()

    def _build_layers(self, width: int) -> int:
        return build_in_turn(self.qrnns, width)

    def _encode(self, x: Any, real: Any, training: bool | None, exporting: bool) -> Any:
        return run_in_turn(self.qrnns, x, real, training, exporting)

    def encoder_layers(self) -> Sequence[keras.layers.Layer]:
        """The QRNNs."""
        return self.qrnns

    def _noise(self) -> list[tuple[keras.layers.Layer, str]]:
        return [*super()._noise(), *((layer, "zoneout") for layer in self.qrnns)]

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | self._body_config
