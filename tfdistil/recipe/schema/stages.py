"""Recipes: stages, their terms, optimizers and stopping rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from tfdistil.recipe.schema.parts import Float, Name, OpenPart, Part, Rows, Updates, Whole

Precision = Literal["float32", "bfloat16"]

PASSES = 10
"""Over the longest stream, where a stopping rule has neither epochs nor updates."""


def _updates_branch(value: Any) -> str | None:
    if isinstance(value, Mapping):
        return "<mapping>"
    return "<one>" if isinstance(value, int) else None


class StopSpec(Part):
    """When a phase of a stage ends, and what its best weights are chosen by."""

    epochs: Updates | None = Field(
        None,
        description="passes over the longest stream at the most; none: 10, or what `updates` takes",
    )
    updates: (
        Annotated[
            Annotated[Updates, Tag("<one>")] | Annotated[dict[str, Updates], Tag("<mapping>")],
            Discriminator(
                _updates_branch,
                custom_error_type="updates",
                custom_error_message="Input should be a number of updates, or layer groups to them",
            ),
        ]
        | None
    ) = Field(
        None,
        description="optimizer steps (≥ 1) at the most, with `unfreeze: top_down` of each phase; a "
        "mapping: of the phase that unfreezes the named layer group",
    )
    patience: Updates | None = Field(None, description="checks without improvement; none: all")
    min_updates: Whole = Field(300, ge=0, description="updates before patience counts")
    minutes: Float | None = Field(None, gt=0, description="of a phase at the most; none: any")
    every: Updates | None = Field(None, description="updates between checks; none: one pass")
    monitor: Literal["metric", "loss"] = Field("metric", description="what best weights mean")
    on: str = Field(
        "dev",
        description="the set it is taken on; for losses also `transfer_held_out`: a tenth of "
        "transfer, 2,000 sentences at the most, of every file and language in proportion, and "
        "`corpus_held_out`",
    )
    head: str | None = Field(
        None,
        description="the student's head that the dev metric is read off; none: that of the terms, "
        "`export.head` where they have several",
    )

    @model_validator(mode="after")
    def _has_labels(self) -> StopSpec:
        if self.monitor == "metric" and self.on != "dev":
            raise ValueError("monitor: metric needs labels, so on: dev; or use monitor: loss")
        return self


_Rate = Annotated[Float, Field(ge=0)]


class OptimizerSpec(Part):
    """AdamW with a warm-up and a decay, per phase a fresh one."""

    learning_rate: Float = Field(1e-3, gt=0, description="learning rate after the warm-up")
    final_learning_rate: Float = Field(0.0, ge=0, description="learning rate at the end")
    schedule: Literal["cosine", "linear", "constant"] = Field("cosine", description="the way down")
    warmup: Float = Field(0.0, ge=0, lt=1, description="share of the updates spent rising")
    layer_decay: Float = Field(1.0, gt=0, le=1, description="factor per layer group from the top")
    rates: dict[str, _Rate] = Field(
        {},
        description="layer group to its own learning rate after the warm-up, instead of "
        "`learning_rate` and `layer_decay`; it falls as theirs does; 0: nothing is learnt. "
        "`crf`: the potentials of the `crf` heads, a part of the group `heads`; `positions`: an "
        "encoder's position embeddings; `terms`: the weights that `weighting: uncertainty` learns",
    )
    weight_decay: Float = Field(0.0, ge=0, description="decoupled, kernels only")
    epsilon: Float = Field(1e-8, gt=0, description="ε̂, added to the root of Adam's second moment")
    clip: Float | None = Field(None, gt=0, description="global norm of the gradient")


def _names_branch(value: Any) -> str | None:
    if isinstance(value, str):
        return "<one>"
    return "<pool>" if isinstance(value, Sequence) else None


_SignalNames = Annotated[
    Annotated[str, Field(min_length=1), Tag("<one>")]
    | Annotated[list[str], Field(min_length=1), Tag("<pool>")],
    Discriminator(
        _names_branch,
        custom_error_type="signal",
        custom_error_message="Input should be the name of a signal or a list of names",
    ),
]


class TermSpec(OpenPart):
    """One objective on one stream. Keys beyond the named ones are options of the objective.

    In the names of signals, `{head}`, `{teacher_head}`, `{output}` and options such as `{layer}`
    stand for their values; a name with `{output}` is that of one signal for each output.
    """

    loss: str = Field(description="a registered objective")
    stream: Annotated[
        Annotated[str, Tag("<one>")] | Annotated[list[str], Tag("<pool>")],
        Discriminator(
            _names_branch,
            custom_error_type="stream",
            custom_error_message="Input should be the name of a set or a list of names",
        ),
    ] = Field(
        "train",
        description="`train`, `transfer`, `augmented`, or a list: what there is of them, pooled; "
        "or, alone, `corpus` or `corpus.SECTION`",
    )
    weight: Float = Field(
        1.0, ge=0, description="factor in the sum; 1 where `weighting: uncertainty` learns it"
    )
    head: str | None = Field(
        None,
        description="the student's head; none: `labels`, or the delivered one where it has no head "
        "of that name",
    )
    teacher_head: str | None = Field(
        None, description="the teacher's head; none: its first one, of an encoder `logits`"
    )
    output: str | None = Field(None, description="one output of the task; none: all of them")
    student_signal: _SignalNames | None = Field(
        None, description="what is read off the student; none: the loss's own, see losses"
    )
    teacher_signal: _SignalNames | None = Field(
        None, description="what is read off the teacher; none: the loss's own, see losses"
    )
    target: str | None = Field(
        None, description="gold ids; none: the loss's own, mostly those of the output"
    )
    align: Literal["token", "subword"] | None = Field(
        None,
        description="`token`: scored tokens, or texts; `subword`: every subword, off a teacher "
        "with the same tokenizer that sees what the student sees; none: the loss's own, mostly "
        "`token`",
    )

    @field_validator("stream")
    @classmethod
    def _draws_from_a_set(cls, value: str | list[str]) -> str | list[str]:
        if not value:
            raise ValueError("a stream draws from at least one set")
        return value

    @property
    def pool(self) -> tuple[str, ...]:
        """The sets the stream draws from."""
        return (self.stream,) if isinstance(self.stream, str) else tuple(self.stream)


class NoiseSpec(OpenPart):
    """A change of batches. Keys beyond the named one are options of the kind."""

    kind: str = Field(description="registered noise: `masking`, `spelling`, `word_dropout`")


def _bare_kinds(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    return [{"kind": item} if isinstance(item, str) else item for item in value]


NoiseSpecs = Annotated[list[NoiseSpec], BeforeValidator(_bare_kinds)]
"""A bare word is a kind."""


class DrawSpec(Part):
    """Texts that come more often, the more the teacher finds in them.

    A pass stays as long as it was: a text may come several times in it, or not at all.
    """

    by: str = Field(
        description="`entities`: the share of its words that the teacher labels; `uncertainty`: "
        "1 - the probability of the teacher's labels, in the mean of its words"
    )
    sets: list[str] = Field(
        ["transfer"], min_length=1, description="of which sets; of others each text comes once"
    )
    head: str | None = Field(
        None, description="the teacher's head that predicts; none: its first one"
    )
    even: Float = Field(
        0.5, ge=0, le=1, description="share of a pass that is drawn without a look at the texts"
    )


class StageSpec(Part):
    """Terms over streams, the layer groups they train, an optimizer and a stopping rule."""

    name: Name = Field(description="unique; also the key of overrides")
    terms: list[TermSpec] = Field(min_length=1, description="the weighted sum that is minimised")
    teacher: str | None = Field(
        "teacher", description="the model that gives teacher signals; null where no term needs one"
    )
    student: str = Field("student", description="the model that learns")
    teacher_dropout: bool = Field(
        False, description="whether a teacher that runs in the step does so with its dropout"
    )
    groups: list[str] | None = Field(
        None, min_length=1, description="layer groups that train; none: all"
    )
    unfreeze: Literal["at_once", "top_down"] = Field(
        "at_once",
        description="`top_down`: one group after another, each with a fresh optimizer; one that no "
        "term depends on has no phase",
    )
    weighting: Literal["fixed", "uncertainty"] = Field(
        "fixed", description="`uncertainty`: learn the terms' weights (Cipolla et al. 2018)"
    )
    optimizer: OptimizerSpec = Field(OptimizerSpec(), description="see optimizer")
    batch_size: Rows = Field(32, description="rows of each stream in a step")
    draw: DrawSpec | None = Field(None, description="see draw; none: each text once in a pass")
    noise: NoiseSpecs = Field(
        [],
        description="what changes the batches, drawn afresh each time, in order; a bare word is a "
        "kind. Stored signals of the teacher are those of the text as it was",
    )
    accumulate: Rows = Field(
        1,
        description="steps that make one update, to save memory: that of all their rows at once",
    )
    precision: Precision = Field(
        "float32", description="what the student computes in while it trains; weights are float32"
    )
    stop: StopSpec = Field(StopSpec(), description="see stop")
    signals: Literal["cached", "live"] = Field(
        "cached", description="`live`: the teacher runs in each step instead of once"
    )

    @model_validator(mode="after")
    def _groups_have_phases(self) -> StageSpec:
        if isinstance(self.stop.updates, Mapping) and self.unfreeze == "at_once":
            raise ValueError(
                "stop.updates by layer group needs unfreeze: top_down; "
                "all groups at once have one number of updates"
            )
        return self

    @model_validator(mode="after")
    def _weights_are_given_or_learned(self) -> StageSpec:
        weighted = [term.loss for term in self.terms if term.weight != 1]
        if self.weighting == "uncertainty" and weighted:
            raise ValueError(
                "weighting: uncertainty learns the weights of the terms, so none may be given; "
                f"remove weight: from {', '.join(weighted)}"
            )
        return self
