"""The recipe: everything a run depends on, as typed data read from YAML.

An unknown key or a value of the wrong kind is an error that names the file and the line. The field
descriptions below are the reference of all keys; ``docs/recipe.md`` is made from them.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)
from ruamel.yaml import YAML


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


class SourceSpec(Part):
    """One file or folder of data."""

    path: str = Field(description="file or folder, relative to the recipe")
    format: str | None = Field(None, description="reader; guessed from the name when left out")
    language: str | None = Field(None, description="BCP 47 code; none: as the rows say")
    options: dict[str, Option] = Field({}, description="options of the reader, such as columns")
    label_map: dict[str, str] = Field({}, description="entity type or label to another; `O` drops")
    repair: Literal["iob2"] | None = Field(None, description="`iob2` mends orphan `I-` tags")
    limit: Int | None = Field(None, ge=1, description="use so many examples, a seeded sample")


class DemoSpec(Part):
    """The built-in demo corpus instead of files."""

    kind: Literal["intent_slots", "tags", "classes"] = Field(description="labels to generate")
    languages: list[str] = Field(["en", "es", "de", "hi", "ja"], description="languages")
    train: Int = Field(4000, ge=1, description="labelled sentences")
    dev: Int = Field(600, ge=1, description="sentences to select on")
    test: Int = Field(1000, ge=1, description="sentences to report on")
    transfer: Int = Field(12000, ge=0, description="unlabelled sentences")


class AugmentSpec(OpenPart):
    """Unlabelled sentences made from train and from what those before it made: docs/data.md.

    More keys are options of the kind.
    """

    kind: str = Field(description="a registered augmentation, such as `slot_substitution`")
    times: Float = Field(3.0, gt=0, description="sentences to make, as a multiple of train")


class LowResourceSpec(Part):
    """A few labelled sentences instead of all: XtremeDistil's low-resource setting."""

    samples: Int = Field(100, ge=1, description="labelled sentences kept of each")
    per: Literal["language", "class"] = Field("language", description="of each what")


class DataSpec(Part):
    """Where the sentences come from."""

    train: list[SourceSpec] = Field([], description="labelled, to learn from")
    dev: list[SourceSpec] = Field([], description="labelled, to select on; empty: split off train")
    test: list[SourceSpec] = Field([], description="labelled, to report on")
    transfer: list[SourceSpec] = Field([], description="unlabelled, for the teacher to speak on")
    augment: list[AugmentSpec] = Field([], description="see augment; makes the set `augmented`")
    demo: DemoSpec | None = Field(None, description="the built-in corpus instead of files")
    languages: list[str] | None = Field(
        None, min_length=1, description="of all sets, use these alone; none: all"
    )
    low_resource: LowResourceSpec | None = Field(
        None, description="see low_resource; none: all of train"
    )
    dev_fraction: Float = Field(0.1, gt=0, lt=1, description="share of train split off as dev")
    transfer_limit: Int | None = Field(None, ge=1, description="use so many transfer sentences")
    splitter: Literal["unicode", "whitespace"] = Field(
        "unicode", description="how raw text becomes words"
    )

    @field_validator("augment", mode="before")
    @classmethod
    def _one_alone(cls, value: Any) -> Any:
        if value is None:  # as `--set data.augment=null`
            return []
        return [value] if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _one_origin(self) -> DataSpec:
        if (self.demo is None) == (not self.train):
            raise ValueError("give either train: files or demo:, not both and not neither")
        return self


class TaskSpec(Part):
    """What is predicted."""

    kind: Literal["tags", "intent_slots", "classes", "pair"] = Field(description="the task")
    continuation: bool = Field(False, description="own class `X` for non-first pieces of a word")

    @model_validator(mode="after")
    def _has_tags(self) -> TaskSpec:
        if self.continuation and self.kind not in ("tags", "intent_slots"):
            raise ValueError(f"continuation: true needs a task with tags, not {self.kind}")
        return self


# pydantic names the branch of a union in the place of an error, though the recipe has no such key.
BRANCHES = ("<one>", "<pool>", "<mapping>", "<false>", "<teacher>", "<student>", "<quantized>")


_Updates = Annotated[Int, Field(ge=1)]


def _updates_branch(value: Any) -> str | None:
    if isinstance(value, Mapping):
        return "<mapping>"
    return "<one>" if isinstance(value, int) else None


class StopSpec(Part):
    """When a phase of a stage ends, and what its best weights are chosen by."""

    epochs: Int = Field(10, ge=1, description="passes over the longest stream at the most")
    updates: (
        Annotated[
            Annotated[_Updates, Tag("<one>")] | Annotated[dict[str, _Updates], Tag("<mapping>")],
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
    patience: Int | None = Field(None, ge=1, description="checks without improvement; none: all")
    every: Int | None = Field(None, ge=1, description="updates between checks; none: one pass")
    monitor: Literal["metric", "loss"] = Field("metric", description="what best weights mean")
    on: str = Field("dev", description="the set it is taken on; `transfer_held_out` for losses")

    @model_validator(mode="after")
    def _has_labels(self) -> StopSpec:
        if self.monitor == "metric" and self.on != "dev":
            raise ValueError("monitor: metric needs labels, so on: dev; or use monitor: loss")
        return self


class OptimizerSpec(Part):
    """AdamW with a warm-up and a decay, per phase a fresh one."""

    high: Float = Field(1e-3, gt=0, description="learning rate after the warm-up")
    low: Float = Field(0.0, ge=0, description="learning rate at the end")
    schedule: Literal["cosine", "linear", "constant"] = Field("cosine", description="the way down")
    warmup: Float = Field(0.0, ge=0, lt=1, description="share of the updates spent rising")
    layer_decay: Float = Field(1.0, gt=0, le=1, description="factor per layer group from the top")
    weight_decay: Float = Field(0.0, ge=0, description="decoupled, kernels only")
    clip: Float | None = Field(None, gt=0, description="global norm of the gradient")


def _stream_branch(value: Any) -> str | None:
    if isinstance(value, str):
        return "<one>"
    return "<pool>" if isinstance(value, Sequence) else None


class TermSpec(OpenPart):
    """One objective on one stream. Keys beyond the named ones are options of the objective."""

    loss: str = Field(description="a registered objective")
    stream: Annotated[
        Annotated[str, Tag("<one>")] | Annotated[list[str], Tag("<pool>")],
        Discriminator(
            _stream_branch,
            custom_error_type="stream",
            custom_error_message="Input should be the name of a set or a list of names",
        ),
    ] = Field("train", description="`train`, `transfer`, `augmented`, or a list pooled")
    weight: Float = Field(
        1.0, ge=0, description="factor in the sum; 1 where `weighting: uncertainty` learns it"
    )
    head: str = Field("labels", description="the student's head")
    output: str | None = Field(None, description="one output of the task; none: all of them")

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


class StageSpec(Part):
    """Terms over streams, the layer groups they train, an optimizer and a stopping rule."""

    name: str = Field(pattern=r"^[\w-]+$", description="unique; also the key of overrides")
    terms: list[TermSpec] = Field(min_length=1, description="the weighted sum that is minimised")
    teacher: str | None = Field(
        "teacher", description="the model that gives teacher signals; null where no term needs one"
    )
    student: str = Field("student", description="the model that learns")
    groups: list[str] | None = Field(None, description="layer groups that train; none: all")
    unfreeze: Literal["at_once", "top_down"] = Field(
        "at_once", description="`top_down`: one group after another, each with a fresh optimizer"
    )
    weighting: Literal["fixed", "uncertainty"] = Field(
        "fixed", description="`uncertainty`: learn the terms' weights (Cipolla et al. 2018)"
    )
    optimizer: OptimizerSpec = Field(OptimizerSpec(), description="see optimizer")
    batch_size: Int = Field(32, ge=1, description="rows of each stream in a step")
    distortion: Float = Field(
        0.0, ge=0, le=1, description="share of hashed words with a spelling mistake, drawn afresh"
    )
    accumulate: Int = Field(
        1, ge=1, description="steps whose gradients are averaged for one update, to save memory"
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


class EmbeddingSpec(Part):
    """The student's word embeddings."""

    width: Int = Field(50, ge=1, description="E")
    init: Literal["random", "svd", "pca_ppa", "teacher", "vectors"] = Field(
        "svd",
        description="`svd`, `pca_ppa`: the teacher's table in E dimensions; `teacher`: as it is",
    )
    of: Literal["tuned", "pretrained"] = Field(
        "tuned", description="which table of the teacher's: after fine-tuning or the checkpoint's"
    )
    directions: Int = Field(14, ge=1, description="d of `pca_ppa`, 14 or 17 in XtremeDistil")
    vectors: str | None = Field(None, description="file of `vectors`: fastText's or GloVe's text")

    @model_validator(mode="after")
    def _has_a_file(self) -> EmbeddingSpec:
        if (self.init == "vectors") != (self.vectors is not None):
            raise ValueError("init: vectors and vectors: FILE go together")
        return self


class HashingSpec(Part):
    """The ternary features of a word, for students that read hashes: docs/projection.md."""

    families: dict[str, Int] = Field(
        {"murmur": 1024}, min_length=1, description="hash family to its features"
    )
    map: str = Field("operator", description="two bits to a ternary value")
    normalization: Literal["nfc", "none"] = Field("nfc", description="of the code points")
    lowercase: bool = Field(True, description="fold case")
    capitalization: bool = Field(False, description="two features that tell of capitals")
    eos: bool = Field(False, description="a token after the last word")


class FineTuneSpec(Part):
    """How the teacher learns the task: cross-entropy on the labelled sentences."""

    epochs: Int = Field(4, ge=1, description="passes over train")
    learning_rate: Float = Field(1e-4, gt=0, description="peak, of the top layers")
    layer_decay: Float = Field(1.0, gt=0, le=1, description="factor per layer from the top")
    warmup: Float = Field(0.1, ge=0, lt=1, description="share of the updates spent rising")
    schedule: Literal["cosine", "linear", "constant"] = Field("linear", description="the way down")
    weight_decay: Float = Field(0.01, ge=0, description="decoupled, kernels only")
    batch_size: Int = Field(32, ge=1, description="rows in a step")
    patience: Int | None = Field(None, ge=1, description="epochs without a better dev metric")


class PretrainSpec(Part):
    """Masked-language pre-training on the sentences of train and transfer, without labels."""

    updates: Int = Field(2000, ge=1, description="optimizer steps")
    learning_rate: Float = Field(1e-3, gt=0, description="peak")
    batch_size: Int = Field(64, ge=1, description="rows in a step")
    probability: Float = Field(0.15, gt=0, lt=1, description="share of the pieces that is masked")


class ScratchSpec(Part):
    """A BERT made here, its tokenizer included, for when no checkpoint is at hand."""

    layers: Int = Field(4, ge=1, description="blocks")
    width: Int = Field(128, ge=1, description="hidden size")
    heads: Int = Field(4, ge=1, description="attention heads")
    inner: Int = Field(512, ge=1, description="feed-forward size")
    vocabulary: Int = Field(4000, ge=100, description="word pieces")
    lowercase: bool = Field(False, description="fold case in the tokenizer")
    pretrain: PretrainSpec | None = Field(None, description="see pretrain; none: labels only")


def _fine_tune_branch(value: Any) -> str | None:
    if value is False:
        return "<false>"
    return "<mapping>" if isinstance(value, Mapping | FineTuneSpec) else None


class TeacherSpec(Part):
    """A model to learn from."""

    checkpoint: str | None = Field(None, description="Hugging Face folder or hub id")
    scratch: ScratchSpec | None = Field(None, description="train one from nothing instead")
    fine_tune: Annotated[
        Annotated[FineTuneSpec, Tag("<mapping>")] | Annotated[Literal[False], Tag("<false>")],
        Discriminator(
            _fine_tune_branch,
            custom_error_type="fine_tune",
            custom_error_message="Input should be a mapping or false",
        ),
    ] = Field(FineTuneSpec(), description="`false` for a checkpoint already tuned to the task")
    max_length: Int = Field(128, ge=8, description="pieces in a window, special tokens included")
    seed: Int | None = Field(
        None,
        ge=0,
        description="of its training; none: that of the recipe. With a number, students of "
        "several seeds learn from one teacher",
    )

    @model_validator(mode="after")
    def _one_origin(self) -> TeacherSpec:
        if (self.checkpoint is None) == (self.scratch is None):
            raise ValueError("give either checkpoint: or scratch:, not both and not neither")
        return self


class TokenizerSpec(Part):
    """A WordPiece vocabulary of the student's own, made from train and transfer."""

    vocabulary: Int = Field(8000, ge=100, description="word pieces")
    lowercase: bool = Field(False, description="fold case")


class QuantizedSpec(Part):
    """A student that goes on from another one, rounding as its int8 file will."""

    quantized: str = Field(description="the model whose weights it begins with")
    engine: str = Field("keras", description="`keras` or `tfmot`: who rounds")


class StudentSpec(OpenPart):
    """A small model. Keys beyond the named ones are arguments of the student's constructor."""

    kind: str = Field(description="a registered student")
    tokenizer: TokenizerSpec | None = Field(None, description="see tokenizer; none: the teacher's")
    prune_vocabulary: bool = Field(
        True, description="keep only those of the teacher's pieces that train and transfer need"
    )
    embedding: EmbeddingSpec = Field(EmbeddingSpec(), description="see embedding")
    hashing: HashingSpec = Field(HashingSpec(), description="see hashing")
    projection: bool = Field(False, description="GELU projection to the teacher's width")
    head_input: Literal["projection", "hidden"] = Field("hidden", description="what heads read")
    heads: list[str] = Field(["labels"], min_length=1, description="named heads")
    max_length: Int = Field(128, ge=8, description="pieces in a window")

    @model_validator(mode="after")
    def _has_projection(self) -> StudentSpec:
        if self.head_input == "projection" and not self.projection:
            raise ValueError("head_input: projection needs projection: true")
        return self


def _model_kind(value: Any) -> str:
    if isinstance(value, BaseModel):
        return {StudentSpec: "<student>", QuantizedSpec: "<quantized>"}.get(
            type(value), "<teacher>"
        )
    keys = value if isinstance(value, Mapping) else {}
    return "<student>" if "kind" in keys else "<quantized>" if "quantized" in keys else "<teacher>"


ModelSpec = Annotated[
    Annotated[TeacherSpec, Tag("<teacher>")]
    | Annotated[StudentSpec, Tag("<student>")]
    | Annotated[QuantizedSpec, Tag("<quantized>")],
    Discriminator(_model_kind),
]


class ExportSpec(Part):
    """The file for the device."""

    head: str = Field("labels", description="the head that is kept")
    quantize: Literal["int8", "dynamic", "float16", "none"] = Field("int8", description="mode")
    max_drop: Float = Field(0.5, ge=0, description="points of the dev metric that may be lost")
    length: Int | None = Field(None, ge=4, description="pieces per call; none: fits 99 % of dev")
    batch: Int = Field(32, ge=1, description="rows of the batched signature")


class BenchmarkSpec(Part):
    """What is timed beside the exported student."""

    queries: Int = Field(1000, ge=100, description="timed calls per model, after a warm-up")
    reference: Literal["mbert-shape"] | None = Field(
        None, description="also time an mBERT-shaped model with random weights"
    )


class Recipe(Part):
    """A whole run."""

    base: str | None = Field(
        None, description="a shipped recipe or a file that gives the keys that are not here"
    )
    name: str = Field("run", description="title of the report")
    task: TaskSpec = Field(description="the task; a bare word is its kind")
    data: DataSpec = Field(description="see data")
    models: dict[str, ModelSpec] = Field(
        description="by name: `teacher`, `student`, and any others a schedule names"
    )
    distill: list[StageSpec] = Field(min_length=1, description="the stages in order")
    twin: bool = Field(True, description="also train the student without the teacher (D0)")
    export: ExportSpec = Field(ExportSpec(), description="see export")
    benchmark: BenchmarkSpec = Field(BenchmarkSpec(), description="see benchmark")
    seed: Int = Field(13, ge=0, description="of data, initialisation and training")

    @field_validator("task", mode="before")
    @classmethod
    def _bare_word(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fits_together(self) -> Recipe:
        names = [stage.name for stage in self.distill]
        if len(set(names)) < len(names):
            raise ValueError(f"stage names must be unique, got {', '.join(names)}")
        for name in ("teacher", "student"):
            if name not in self.models:
                raise ValueError(f"models needs an entry {name!r}, got {sorted(self.models)}")
        for stage in self.distill:
            student = self.student_spec(stage.student)
            for head in {term.head for term in stage.terms} - set(student.heads):
                raise ValueError(
                    f"stage {stage.name!r} uses the head {head!r}; the model {stage.student!r} "
                    f"has {student.heads}"
                )
            if stage.teacher is not None and stage.teacher not in self.models:
                raise ValueError(f"stage {stage.name!r} names the unknown model {stage.teacher!r}")
        if self.export.head not in self.student_spec("student").heads:
            raise ValueError(f"export.head {self.export.head!r} is no head of the student")
        return self

    def lineage(self, name: str) -> tuple[str, ...]:
        """A model and those it goes on from, the first one last.

        Raises:
            ValueError: one of them goes on from itself, or from no model.
        """
        names = [name]
        while isinstance(spec := self.models.get(names[-1]), QuantizedSpec):
            if spec.quantized in names or spec.quantized not in self.models:
                raise ValueError(
                    f"models.{names[-1]} goes on from {spec.quantized!r}; name another student of "
                    f"{sorted(self.models)}"
                )
            names.append(spec.quantized)
        return tuple(names)

    def student_spec(self, name: str) -> StudentSpec:
        """What the student of that name, or the one it goes on from, is made by."""
        spec = self.models.get(self.lineage(name)[-1])
        if not isinstance(spec, StudentSpec):
            raise ValueError(f"models.{name} must be a student, with a kind such as bilstm")
        return spec

    def teacher_spec(self, name: str = "teacher") -> TeacherSpec:
        """The entry of ``models`` of that name, which must be a teacher."""
        spec = self.models.get(name)
        if not isinstance(spec, TeacherSpec):
            raise ValueError(f"models.{name} must be a teacher, with a checkpoint or scratch")
        return spec

    @property
    def teacher_seed(self) -> int:
        """What everything random in the teacher's making starts from."""
        own = self.teacher_spec().seed
        return self.seed if own is None else own

    def to_yaml(self) -> str:
        """The resolved recipe, every default written out."""
        stream = io.StringIO()
        YAML().dump(json.loads(self.model_dump_json()), stream)
        return stream.getvalue()
