"""Recipes: models that are made of others."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator

from tfdistil.recipe.schema.parts import Name, OpenPart, Part
from tfdistil.recipe.schema.tuning import FineTune


class BaselineSpec(Part):
    """Another model once more, trained on the labels alone: what distillation is measured against.

    Same seed, initial weights, layer groups and number of updates.
    """

    baseline_of: Name = Field(description="the model that stages train")

    @property
    def origin(self) -> str:
        """The key that says where it comes from."""
        return "baseline_of"


class MeanSpec(Part):
    """Several models as one, to teach or to be delivered.

    All have the same pieces and the same heads: linear ones, whose distributions over labels have
    either mean, or CRFs, whose distributions over label paths have a geometric one. Students that
    take pieces or word vectors of it take those of the first.
    """

    mean_of: list[Name] = Field(min_length=2, description="the models")
    mean: Literal["arithmetic", "geometric"] = Field(
        "arithmetic",
        description="of the distributions of linear heads; `geometric` is the mean of scores, "
        "which an int8 file can hold; CRFs have this one in any case",
    )

    @field_validator("mean_of")
    @classmethod
    def _each_once(cls, value: list[str]) -> list[str]:
        if len(set(value)) < len(value):
            raise ValueError("a model counts once; for several seeds give each its own entry")
        return value

    @property
    def origin(self) -> str:
        """The key that says where it comes from."""
        return "mean_of"


class TransformSpec(OpenPart):
    """A change of a model. Keys beyond the named one are options of the transform."""

    kind: str = Field(description="a registered transform")


class DerivedSpec(Part):
    """A model that begins as another one, once that is trained."""

    model_config = ConfigDict(serialize_by_alias=True)

    from_: Name = Field(alias="from", description="the model whose weights it begins with")
    apply: list[TransformSpec] = Field(
        [], description="what is changed, in order; a bare word is a transform's kind"
    )
    fine_tune: FineTune = Field(
        False, description="train it on the labels until dev stops rising, before its stages"
    )

    @field_validator("apply", mode="before")
    @classmethod
    def _bare_words(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [{"kind": item} if isinstance(item, str) else item for item in value]

    @property
    def origin(self) -> str:
        """The key that says where it comes from."""
        return "from"
