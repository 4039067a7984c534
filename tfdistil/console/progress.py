"""How slow work says how far it is."""

from __future__ import annotations

from collections.abc import Callable

Counter = Callable[[str, int], Callable[[int], None]]
"""``(what, total)`` to a function that is told how many are done."""


def silent(what: str, total: int) -> Callable[[int], None]:
    """A counter that shows nothing."""
    del what, total
    return lambda done: None
