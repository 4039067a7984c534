"""The K best label paths of a CRF as signals, of any K."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from tfdistil.crf.constraints import IMPOSSIBLE, NO_TAG
from tfdistil.crf.paths import begins_within, k_best

PARTS = {
    "paths": "tags",
    "path_log_p": "log_p",
    "path_log_residual": "log_residual",
    "path_count": "count",
}
"""What a signal ``<head>/<output>/<part>/<K>`` has of `tfdistil.crf.paths.BestPaths`."""

LISTED = 15
"""K of what is kept, where no signal asks for more: so one list serves all usual ones."""


class BestPathSignals:
    """The best paths of a head, a `Derivation`.

    ``paths`` are ids ``[B, U, K]``, int8 where they fit, ``path_log_p`` is float32 ``[B, K]``,
    ``path_log_residual`` float32 ``[B]``, ``path_count`` int32 ``[B]``. What they hold, and what
    they hold where fewer than K paths are legal, is said in `BestPaths`. A window that begins
    within an entity has no list: the best paths of what it shows begin in another way.

    Args:
        signal: of the emissions; beside it is that of the potentials.
        asked: name of each signal to its part and its K; not empty.
        size: L.
    """

    def __init__(self, signal: str, asked: Mapping[str, tuple[str, int]], size: int):
        self.asked = dict(asked)
        self.k = max(LISTED, *(k for _, k in self.asked.values()))
        self.reads = (signal, f"{signal}/potentials")
        self.key = f"{signal.replace('/', '.')}.paths.{self.k}"
        self.made = {array: array == "tags" for array in PARTS.values()}
        self.names = {name: self.made[PARTS[part]] for name, (part, _) in self.asked.items()}
        self._ids = "int8" if size <= 128 else "int16"

    def make(self, signals: Sequence[Any], mask: Any, inner: Any) -> dict[str, Any]:
        """See `Derivation.make`."""
        emissions, potentials = signals
        best = k_best(emissions, potentials, mask, self.k)
        cut = ops.logical_and(inner, begins_within(emissions, potentials, mask))
        tags = ops.where(cut[:, None, None], NO_TAG, best.tags)
        return {
            "tags": ops.cast(ops.swapaxes(tags, 1, 2), self._ids),
            "log_p": ops.where(cut[:, None], IMPOSSIBLE, best.log_p),
            "log_residual": ops.where(cut, IMPOSSIBLE, best.log_residual),
            "count": ops.where(cut, 0, best.count),
        }

    def select(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """See `Derivation.select`."""
        lists = {k: first_paths(kept, k) for k in {k for _, k in self.asked.values()}}
        return {name: lists[k][PARTS[part]] for name, (part, k) in self.asked.items()}


def best_paths(signal: str, names: Sequence[str], size: int) -> BestPathSignals | None:
    """What gives the signals that are best paths of one head; None where none of them is.

    Args:
        signal: of the head's scores.
        names: of any signals.
        size: L.
    """
    pattern = re.compile(rf"{re.escape(signal)}/({'|'.join(PARTS)})/([1-9][0-9]*)")
    found = {name: pattern.fullmatch(name) for name in names}
    asked = {name: (m[1], int(m[2])) for name, m in found.items() if m is not None}
    return BestPathSignals(signal, asked, size) if asked else None


def first_paths(kept: Mapping[str, np.ndarray], k: int) -> dict[str, np.ndarray]:
    """The k best of K paths: what `k_best` finds for k.

    The mass of the paths that are dropped goes to all others: a sum of positive numbers, so nothing
    cancels.

    Args:
        kept: ``tags [..., K]``, ``log_p [N, K]``, ``log_residual [N]``, ``count [N]``.
        k: at most K.
    """
    log_p, count = kept["log_p"], kept["count"]
    there = np.arange(log_p.shape[1]) < count[:, None]
    dropped = np.where(there, log_p, -np.inf).astype(np.float64)[:, k:]
    rest = np.logaddexp.reduce([kept["log_residual"], *dropped.T], axis=0)
    return {
        "tags": kept["tags"][..., :k],
        "log_p": log_p[:, :k],
        "log_residual": rest.astype(np.float32),
        "count": np.minimum(count, k),
    }
