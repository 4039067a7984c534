"""The models of a recipe as a graph: which needs which, and the order they are made in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any


class MisplacedError(ValueError):
    """Something wrong with a recipe as a whole, and the key that has to be changed.

    Args:
        message: what is wrong.
        keys: the place in the recipe, so that an error can name its line.
    """

    def __init__(self, message: str, *keys: Any):
        super().__init__(message)
        self.keys = keys


def in_order(needs: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """The names so that each comes after those it needs.

    Args:
        needs: name to the names of what it needs, all of them keys too.

    Raises:
        MisplacedError: some need each other.
    """
    try:
        return tuple(TopologicalSorter(needs).static_order())
    except CycleError as error:
        circle = error.args[1][::-1]  # graphlib's goes from what is needed to what needs it
        says = f"{' needs '.join(circle)}: a circle, in which none can be first"
        raise MisplacedError(says, "models", circle[0]) from None
