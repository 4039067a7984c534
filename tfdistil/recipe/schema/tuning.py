"""Recipes: how models learn a task, or a language, before any stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from tfdistil.recipe.schema.parts import MOST_UPDATES, Float, Part, Rows, Updates, Whole
from tfdistil.recipe.schema.stages import NoiseSpecs, Precision

AUTO_RATES = (1e-4, 3e-4, 1e-3)
"""The peaks that ``fine_tune: auto`` tries."""

_Rate = Annotated[Float, Field(gt=0)]


def _rate_branch(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        return "<pool>"
    return "<one>" if isinstance(value, int | float) else None


class FineTuneSpec(Part):
    """How the teacher learns the task: cross-entropy on train until dev stops rising."""

    learning_rate: Annotated[
        Annotated[_Rate, Tag("<one>")]
        | Annotated[tuple[_Rate, ...], Field(min_length=1), Tag("<pool>")],
        Discriminator(
            _rate_branch,
            custom_error_type="learning_rate",
            custom_error_message="Input should be a learning rate or a list of them",
        ),
    ] = Field(
        (5e-4, 2e-4),
        description="peak, of the heads; of a list, each is tried on a tenth of the budget, at "
        "most 400 updates, and training continues with the best on dev (`fine_tune: auto`: 1e-4, "
        "3e-4, 1e-3)",
    )
    layer_decay: Float = Field(0.8, gt=0, le=1, description="factor per layer from the top")
    rates: dict[str, _Rate] = Field(
        {}, description="layer group, or kind of head, to its own peak, as `rates` of an optimizer"
    )
    warmup: Whole = Field(100, ge=0, le=MOST_UPDATES, description="updates spent rising")
    updates: Updates = Field(
        6000, description="optimizer steps at the most, of the rate that is used"
    )
    epochs: Updates | None = Field(None, description="passes over train at the most; none: any")
    minutes: Float | None = Field(None, gt=0, description="at the most; none: any")
    patience: Updates | None = Field(
        3, description="checks of dev without a rise until the rate falls; none: never early"
    )
    cool_down: Float = Field(
        0.5, ge=0, le=1, description="updates spent falling to 0, as a share of those before"
    )
    weight_decay: Float = Field(0.01, ge=0, description="decoupled, kernels only")
    batch_size: Rows = Field(32, description="rows in a step")
    noise: NoiseSpecs = Field(
        [], description="what changes the batches, as in a stage, such as `word_dropout`"
    )
    precision: Precision = Field("float32", description="as of a stage")

    @property
    def peaks(self) -> tuple[float, ...]:
        """The learning rates to try."""
        rate = self.learning_rate
        return rate if isinstance(rate, tuple) else (rate,)

    def budget(self, steps: int) -> int:
        """Updates at the most where a pass over train has so many."""
        return self.updates if self.epochs is None else min(self.updates, self.epochs * steps)


class PretrainSpec(Part):
    """Masked-language pre-training on the corpus, or on the sentences of train and transfer."""

    updates: Updates = Field(2000, description="optimizer steps")
    learning_rate: Float = Field(1e-3, gt=0, description="peak")
    batch_size: Rows = Field(64, description="rows in a step")
    probability: Float = Field(0.15, gt=0, lt=1, description="share of the pieces that is masked")
    precision: Precision = Field("float32", description="as of a stage")


def _auto(_: str) -> FineTuneSpec:
    return FineTuneSpec(learning_rate=AUTO_RATES)


def _fine_tune_branch(value: Any) -> str | None:
    if value is False:
        return "<false>"
    if value == "auto":
        return "<auto>"
    return "<mapping>" if isinstance(value, Mapping | FineTuneSpec) else None


FineTune = Annotated[
    Annotated[FineTuneSpec, Tag("<mapping>")]
    | Annotated[FineTuneSpec, BeforeValidator(_auto), Tag("<auto>")]
    | Annotated[Literal[False], Tag("<false>")],
    Discriminator(
        _fine_tune_branch,
        custom_error_type="fine_tune",
        custom_error_message="Input should be a mapping, auto or false",
    ),
]
