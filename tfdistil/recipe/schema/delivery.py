"""Recipes: what a run delivers, and what is timed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_serializer, model_validator

from tfdistil.recipe.schema.parts import Float, Part, Rows, Whole

MOST_UNROLLED = 4096
"""Steps of a recurrence that the file for the device holds one by one."""


class ExportSpec(Part):
    """How a model becomes a file for the device."""

    head: str | None = Field(
        None, description="the head that is kept; none: `labels`, or the model's first"
    )
    quantize: Literal["auto", "int8", "dynamic", "float16", "none"] = Field(
        "auto",
        description="mode; `auto`: `dynamic` of encoders and transformers, which is faster and "
        "closer to Keras there, and `int8` of all others",
    )
    max_drop: Float = Field(
        0.5, ge=0, description="points of the dev metric that may be lost beyond chance"
    )
    length: Whole | None = Field(
        None, ge=4, le=MOST_UNROLLED, description="pieces per call; none: fits 99 % of dev"
    )
    batch: Rows = Field(32, description="rows of the batched signature; 1: there is none")
    tags_in_graph: bool = Field(
        False, description="of a CRF: the graph also returns the tags of the best path"
    )


def _tflite_branch(value: Any) -> str:
    return "<yes_or_no>" if isinstance(value, bool) else "<mapping>"


class DeliverSpec(Part):
    """What is made of a trained model."""

    tflite: Annotated[
        Annotated[bool, Tag("<yes_or_no>")] | Annotated[ExportSpec, Tag("<mapping>")],
        Discriminator(_tflite_branch),
    ] = Field(
        False, description="`NAME.tflite`, as `export` says; a mapping has keys that differ from it"
    )
    checkpoint: bool = Field(
        False, description="`checkpoints/NAME`, a Hugging Face folder; of an encoder"
    )

    @model_validator(mode="after")
    def _is_something(self) -> DeliverSpec:
        if self.tflite is False and not self.checkpoint:
            raise ValueError("say what is delivered: tflite: true, checkpoint: true, or both")
        return self

    @field_serializer("tflite")
    def _as_given(self, value: bool | ExportSpec) -> bool | dict[str, Any]:
        # A default written out would override what `export` says.
        return value if isinstance(value, bool) else value.model_dump(exclude_unset=True)


class BenchmarkSpec(Part):
    """What is timed beside the exported files."""

    queries: Whole = Field(
        1000, ge=100, le=10**7, description="timed calls per model, after a warm-up"
    )
    reference: Literal["mbert-shape"] | None = Field(
        None, description="also time an mBERT-shaped model with random weights"
    )
