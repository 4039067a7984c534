"""What may follow what, as part of the potentials. NumPy only."""

from __future__ import annotations

import numpy as np

IMPOSSIBLE = -1e4
"""The score of what is forbidden, and the log probability of what is not there. Finite, so that no
gradient is undefined; its exponential is 0 in float32."""

NO_TAG = -1
"""Stands in a path where there is no word, and in all of a path that does not exist."""


def legal_steps(start: np.ndarray, follow: np.ndarray, end: np.ndarray | None = None) -> np.ndarray:
    """The table of a CRF's legal steps, in the order of its potentials.

    Args:
        start: which labels may begin a text, bool ``[L]``; follow: which may follow which, bool
            ``[L, L]``. `tfdistil.tasks.iob2.allowed_transitions` gives both.
        end: which may end a text, bool ``[L]``; None: all, as in IOB2. IOBES forbids B and I.

    Returns:
        bool ``[L + 2, L]``.

    Raises:
        ValueError: tables whose shapes do not fit each other.
    """
    labels = len(start)
    end = np.ones(labels, bool) if end is None else end
    if follow.shape != (labels, labels) or end.shape != (labels,):
        raise ValueError(
            f"legal steps of {labels} labels need follow [{labels}, {labels}] and end [{labels}], "
            f"got {list(follow.shape)} and {list(end.shape)}"
        )
    return np.concatenate([follow, start[None], end[None]])


def is_forbidden(potentials: np.ndarray) -> np.ndarray:
    """Where potentials, of any shape, forbid a step: `IMPOSSIBLE`, perhaps rounded or shifted."""
    return potentials <= IMPOSSIBLE / 2
