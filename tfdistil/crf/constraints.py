"""What may follow what, as part of the potentials. NumPy only."""

from __future__ import annotations

import numpy as np

IMPOSSIBLE = -1e4
"""The score of what is forbidden, and the log probability of what is not there. Finite, so that no
gradient is undefined; its exponential is 0 in float32."""

NO_TAG = -1
"""Stands in a path where there is no word, and in all of a path that does not exist."""


def may_end(start: np.ndarray, follow: np.ndarray) -> np.ndarray:
    """Which labels may end a text: those that one that starts may follow, and so no open span.

    Args:
        start: which labels may begin a text, bool ``[L]``.
        follow: which may follow which, bool ``[n, L]``, rows of n labels.

    Returns:
        bool ``[n]``.
    """
    return np.any(follow[:, start], axis=1)


def legal_steps(start: np.ndarray, follow: np.ndarray) -> np.ndarray:
    """The table of a CRF's legal steps, in the order of its potentials.

    Args:
        start: which labels may begin a text, bool ``[L]``; follow: which may follow which, bool
            ``[L, L]``. `tfdistil.tasks.iob2.allowed_transitions` gives both.

    Returns:
        bool ``[L + 2, L]``.

    Raises:
        ValueError: tables whose shapes do not fit each other.
    """
    labels = len(start)
    if follow.shape != (labels, labels):
        raise ValueError(
            f"legal steps of {labels} labels need follow [{labels}, {labels}], got "
            f"{list(follow.shape)}"
        )
    return np.concatenate([follow, start[None], may_end(start, follow)[None]])


def is_forbidden(potentials: np.ndarray) -> np.ndarray:
    """Where potentials, of any shape, forbid a step: `IMPOSSIBLE`, perhaps rounded or shifted."""
    return potentials <= IMPOSSIBLE / 2
