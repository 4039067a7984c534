"""What every mapping of a recipe is made of."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any

from annotated_types import Ge, Le
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LARGEST = 2**32 - 1
"""Of all whole numbers; what random generators are seeded with has 32 bits."""
MOST_ROWS = 2**16
"""Of a batch."""
MOST_SIZE = 2**16
"""The width of a layer or the length of a text: no machine holds the square of more."""
MOST_UPDATES = 10**9
LONGEST_NAME = 50
_NAME = re.compile(rf"[\w-]{{1,{LONGEST_NAME}}}")


def _plain(value: Any) -> Any:
    """What the resolved recipe can hold and give back, at any depth."""
    if isinstance(value, Mapping | list | tuple):
        for key in value if isinstance(value, Mapping) else ():
            if not isinstance(key, str):
                raise ValueError("Keys should be strings")
        for part in value.values() if isinstance(value, Mapping) else value:
            _plain(part)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("Input should be a finite number")
    elif isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"Input should be less than or equal to {LARGEST}")
    elif not isinstance(value, str | int | float | None):
        raise ValueError("Input should be a number, text, true, false, null, a list or a mapping")
    return value


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(f"a name has 1 to {LONGEST_NAME} letters, digits, _ and -")
    return value


# Strict, because `true` would else be 1 and `"7"` would be 7.
Whole = Annotated[int, Field(strict=True)]
Int = Annotated[Whole, Le(LARGEST)]
Float = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Seed = Annotated[Whole, Ge(0), Le(LARGEST)]
Rows = Annotated[Whole, Ge(1), Le(MOST_ROWS)]
Size = Annotated[Whole, Ge(1), Le(MOST_SIZE)]
Length = Annotated[Whole, Ge(8), Le(MOST_SIZE)]
Updates = Annotated[Whole, Ge(1), Le(MOST_UPDATES)]
Option = Annotated[Any, AfterValidator(_plain)]
# Names become paths in the run folder and keys of overrides.
Name = Annotated[str, AfterValidator(_name)]

# pydantic names the branch of a union, and that it was the key of a mapping, in the place of an
# error, though the recipe has no such key.
BRANCHES = (
    "<one>",
    "<pool>",
    "<mapping>",
    "<false>",
    "<auto>",
    "<encoder>",
    "<kind>",
    "<from>",
    "<baseline_of>",
    "<mean_of>",
    "<yes_or_no>",
    "<names>",
    "<kinds>",
    "[key]",
)


class Part(BaseModel):
    """A mapping of a recipe: immutable, and nothing in it but what is declared."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OpenPart(BaseModel):
    """A mapping whose keys beyond the declared ones are options of the kind it names."""

    model_config = ConfigDict(extra="allow", frozen=True)

    __pydantic_extra__: dict[str, Option]

    @property
    def options(self) -> dict[str, Any]:
        """The keys beyond the declared ones."""
        return dict(self.model_extra or {})
