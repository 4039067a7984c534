"""What every mapping of a recipe is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _finite(value: Any) -> Any:
    """Infinities and NaN, at any depth, are refused: the resolved recipe could not hold them."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("Input should be a finite number")
    parts = value.values() if isinstance(value, Mapping) else value
    for part in parts if isinstance(value, Mapping | list | tuple) else ():
        _finite(part)
    return value


# Strict, because `true` would else be 1 and `"7"` would be 7.
Int = Annotated[int, Field(strict=True)]
Float = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Option = Annotated[Any, AfterValidator(_finite)]

# pydantic names the branch of a union in the place of an error, though the recipe has no such key.
BRANCHES = (
    *("<one>", "<pool>", "<mapping>", "<false>", "<auto>"),
    *("<teacher>", "<student>", "<quantized>"),
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
