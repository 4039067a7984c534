"""The pQRNN student (Kaliamoorthi et al. 2021, sections 3.4 and 4.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import keras

from tfdistil.arguments import MOST_LAYERS, check_parameters, check_rates, check_sizes
from tfdistil.heads.spec import Level
from tfdistil.students.convolution import NormalizedConvolution
from tfdistil.students.hashed import HashedStudent
from tfdistil.students.qrnn import build_in_turn, qrnn_layers, run_in_turn


@keras.saving.register_keras_serializable(package="tfdistil")
class PqrnnStudent(HashedStudent):
    """Hashed words, a bottleneck, bidirectional QRNNs, and slots that depend on the intent.

    All weights exist once it is constructed.

    Args:
        outputs, features, l2, ternary_map, heads, quantize, seed: as of `HashedStudent`.
        bottleneck: B, width of ``relu(BN(X W))``. A bias would be taken out by the normalisation.
        layers: L, QRNN layers.
        state: S, width of each direction.
        taps: k, kernel width of the QRNNs.
        pooling: ``f``, ``fo`` or ``ifo``, see `tfdistil.students.qrnn.BiQRNN`.
        zoneout: b; layer l of 1 ... L uses the probability ``b ** l``.
        projection_dropout: rate on the ternary features. (The paper gives 0.8 without saying
            whether that is kept; here 0.2 are dropped.)
        momentum, epsilon: of all normalisations: a moving average keeps ``momentum`` of itself,
            ``epsilon`` is added to variances.

    Raises:
        ValueError: arguments outside their ranges, or that do not fit together.

    Signals of `call`: those of `HashedStudent`, with ``embedding [B, T, bottleneck]`` and ``hidden
    [B, T, 2S]``.
    """

    def __init__(
        self,
        outputs: Mapping[str, tuple[Level, int]],
        features: int = 1024,
        bottleneck: int = 256,
        layers: int = 4,
        state: int = 128,
        taps: int = 2,
        pooling: str = "fo",
        zoneout: float = 0.5,
        projection_dropout: float = 0.2,
        l2: float = 1e-5,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
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
        check_sizes(bottleneck=bottleneck, state=state, taps=taps)
        check_sizes(MOST_LAYERS, layers=layers)
        check_rates(zoneout=zoneout, momentum=momentum)
        if not 0 < epsilon < math.inf:
            raise ValueError(f"l2 is at least 0 and epsilon above it, got {l2} and {epsilon}")
        gates = 2 * (1 + len(pooling)) * taps * state
        check_parameters(features * bottleneck + gates * (bottleneck + (layers - 1) * 2 * state))
        self._arguments |= {
            "bottleneck": bottleneck,
            "layers": layers,
            "state": state,
            "taps": taps,
            "pooling": pooling,
            "zoneout": zoneout,
            "momentum": momentum,
            "epsilon": epsilon,
        }
        common: dict[str, Any] = {
            "momentum": momentum,
            "epsilon": epsilon,
            "l2": l2,
            "quantize": quantize,
        }
        self.bottleneck = NormalizedConvolution(
            bottleneck, relu=True, seed=self._seed(1), name="bottleneck", **common
        )
        self.qrnns = qrnn_layers(layers, state, taps, pooling, zoneout, seed, **common)
        self._add_heads()
        self.build()

    def _build_body(self) -> int:
        self.bottleneck.build((None, None, self.features))
        return build_in_turn(self.qrnns, self.bottleneck.units)

    def _body(
        self, features: Any, real: Any, training: bool | None, exporting: bool
    ) -> tuple[Any, Any]:
        embedding = self.bottleneck(features, real, training=training)
        embedding = self.bottleneck.range.rounded(embedding * real)
        return embedding, run_in_turn(self.qrnns, embedding, real, training, exporting)

    def body_groups(self) -> dict[str, Sequence[keras.layers.Layer]]:
        """``encoder``, the QRNNs, and ``bottleneck``."""
        return {"encoder": self.qrnns, "bottleneck": [self.bottleneck]}

    def _noise(self) -> list[tuple[keras.layers.Layer, str]]:
        return [*super()._noise(), *((layer, "zoneout") for layer in self.qrnns)]
