"""Recipes: teachers and students."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag, model_validator

from tfdistil.schema.parts import Float, Int, OpenPart, Part


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
    """A WordPiece vocabulary of the student's own, made from train, transfer and augmented text."""

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
        True,
        description="keep only those of the teacher's pieces that train, transfer and augmented "
        "text need",
    )
    embedding: EmbeddingSpec = Field(EmbeddingSpec(), description="see embedding")
    hashing: HashingSpec = Field(HashingSpec(), description="see hashing")
    projection: bool = Field(False, description="projection to the teacher's width")
    projection_activation: Literal["gelu", "linear"] = Field(
        "gelu", description="of the projection; `linear` for `hidden_mse`, since GELU stays > -0.17"
    )
    head_input: Literal["projection", "hidden"] = Field("hidden", description="what heads read")
    heads: list[str] = Field(["labels"], min_length=1, description="named heads")
    max_length: Int = Field(128, ge=8, description="pieces in a window")

    @model_validator(mode="after")
    def _has_projection(self) -> StudentSpec:
        if self.projection_activation == "linear" and not self.projection:
            raise ValueError("projection_activation: linear needs projection: true")
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
