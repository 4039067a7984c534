"""Options of a registered function, as they come from a recipe: their names and kinds."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from tfdistil.printable import listed, shown


class Between(NamedTuple):
    """A range of numbers, both ends in it, as a hint: ``Annotated[int, Between(1, 32)]``."""

    least: float
    most: float

    def __str__(self) -> str:
        return f"from {self.least:g} to {self.most:g}"


def wrong_option(function: Callable[..., Any], options: Mapping[str, Any]) -> str | None:
    """What is wrong with the first option whose value is not what the function's hints say.

    Args:
        function: has every option among its parameters; one without a hint takes anything.
        options: by name.
    """
    return wrong_value(get_type_hints(function, include_extras=True), options)


def wrong_value(hints: Mapping[str, Any], options: Mapping[str, Any]) -> str | None:
    """What is wrong with the first option whose value is not what its hint says."""
    for name, value in options.items():
        hint = hints.get(name, Any)
        if not fits(value, hint):
            return f"option {name!r} is {shown(value)}, expected {_described(hint)}"
    return None


def wrong_call(
    table: Mapping[str, Callable[..., Any]],
    what: str,
    name: str,
    options: Mapping[str, Any],
    given: int,
) -> str | None:
    """What is wrong with a registered function that a recipe names, and the options it gives it.

    Args:
        table: functions by name.
        what: they are called.
        name: in the recipe.
        options: by name.
        given: how many of the function's parameters come first and are no options.
    """
    if name not in table:
        return f"unknown {what} {name!r}; there are {', '.join(table)}"
    known = list(inspect.signature(table[name]).parameters)[given:]
    unknown = sorted(set(options) - set(known))
    if unknown:
        return f"{name} has no option {listed(unknown)}; it has {', '.join(known) or 'none'}"
    wrong = wrong_option(table[name], options)
    return wrong and f"{name}: {wrong}"


def _described(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        return f"{_described(get_args(hint)[0])} {get_args(hint)[1]}"
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_described(part) for part in get_args(hint))
    if hint is types.NoneType:
        return "null"
    return hint.__name__ if isinstance(hint, type) else str(hint)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value of a recipe, plain data, is what a type hint says."""
    if hint is Any:
        return True
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind, limits = arguments
        return fits(value, kind) and limits.least <= value <= limits.most
    if origin in (Union, types.UnionType):
        return any(fits(value, part) for part in arguments)
    if origin is Literal:
        return value in arguments and type(value) in map(type, arguments)
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            fits(key, arguments[0]) and fits(item, arguments[1]) for key, item in value.items()
        )
    if origin is not None and issubclass(origin, Sequence):
        is_list = isinstance(value, list | tuple)
        return is_list and all(fits(item, arguments[0]) for item in value)
    if isinstance(value, bool) and hint in (int, float):
        return False  # bool is a kind of int in Python, but `column: true` is a slip
    return isinstance(value, int | float if hint is float else hint)
