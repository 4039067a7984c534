"""Signals that are made of other signals of a text, once its windows are joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Derivation(Protocol):
    """How signals of a model become others: a CRF's scores and potentials its best paths, say.

    What is made is kept, and may be more than what is asked for: a list of 15 paths has those of 4
    in it.
    """

    @property
    def key(self) -> str:
        """What is made, as a file name; of one model, other arrays have another key."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The signals it is made of."""

    @property
    def made(self) -> Mapping[str, bool]:
        """The arrays that `make` gives, each with whether it has a row for each scored token."""

    @property
    def names(self) -> Mapping[str, bool]:
        """The signals that are asked for, each with whether it has a row for each scored token."""

    def make(self, signals: Sequence[Any], mask: Any, inner: Any) -> dict[str, Any]:
        """What is kept of a batch.

        Args:
            signals: those of `reads`, with the shapes that batches have them in.
            mask: 1 at real tokens, int ``[B, U]``, padding at the end.
            inner: whether a row is not the first of its text, bool ``[B]``.

        Returns:
            `made`: ``[B, U, ...]`` or ``[B, ...]``.
        """
        ...

    def select(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """The signals of `names` from NumPy arrays that were made, all rows in a batch or flat."""
        ...
