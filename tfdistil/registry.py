"""Tables of functions by the names that a recipe uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Entry = TypeVar("_Entry")


def add_once(table: dict[str, _Entry], name: str, entry: _Entry) -> None:
    """Enter a function, or what describes it, under its name.

    Raises:
        ValueError: the name is taken. Which of two functions a recipe means must not depend on the
            order of imports.
    """
    if name in table:
        raise ValueError(f"{name!r} is registered already; choose another name")
    table[name] = entry


def entering(table: dict[str, _Entry], name: str) -> Callable[[_Entry], _Entry]:
    """A decorator that enters a function under a name and leaves it as it is.

    Raises:
        ValueError: the decorator, where the name is taken, see `add_once`.
    """

    def enter(function: _Entry) -> _Entry:
        add_once(table, name, function)
        return function

    return enter
