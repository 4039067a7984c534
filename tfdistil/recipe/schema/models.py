"""Recipes: teachers and students."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, Tag, model_validator

from tfdistil.recipe.schema.derived import BaselineSpec, DerivedSpec, MeanSpec
from tfdistil.recipe.schema.parts import Float, Length, Name, OpenPart, Part, Seed, Size, Whole
from tfdistil.recipe.schema.tuning import FineTune, FineTuneSpec, PretrainSpec

MOST_LAYERS = 1000
MOST_PIECES = 10**7
WITH_ATTENTION = frozenset({"transformer"})
"""Kinds of students that, like encoders, are best quantized ``dynamic`` (docs/export.md): int8
kernels of normalization and softmax are slow, and one range per tensor is too coarse for them."""


class EmbeddingSpec(Part):
    """The student's word embeddings."""

    dim: Size = Field(50, description="E")
    init: Literal["random", "svd", "pca_ppa", "teacher", "vectors"] = Field(
        "svd",
        description="`svd`, `pca_ppa`: the teacher's table in E dimensions; `teacher`: as it is",
    )
    of: Literal["tuned", "pretrained"] = Field(
        "tuned", description="which table of the teacher's: after fine-tuning or the checkpoint's"
    )
    directions: Size = Field(14, description="d of `pca_ppa`, 14 or 17 in XtremeDistil")
    vectors: str | None = Field(None, description="file of `vectors`: fastText's or GloVe's text")

    @model_validator(mode="after")
    def _has_a_file(self) -> EmbeddingSpec:
        if (self.init == "vectors") != (self.vectors is not None):
            raise ValueError("init: vectors and vectors: FILE go together")
        return self


class HashingSpec(Part):
    """The ternary features of a word: of a `pqrnn`, and of models of pieces with `hashed_dim`."""

    families: dict[str, Size] = Field(
        {"murmur": 1024}, min_length=1, description="hash family to its features"
    )
    map: str = Field("operator", description="two bits to a ternary value")
    normalization: Literal["nfc", "none"] = Field("nfc", description="of the code points")
    lowercase: bool = Field(True, description="fold case")
    capitalization: bool = Field(False, description="two features that tell of capitals")
    eos: bool = Field(False, description="a token after the last word")
    shape: bool = Field(
        False, description="12 features more: capitals, digits, punctuation, length of the word"
    )


class WordsSpec(Part):
    """Vectors of whole words, beside the pieces: found by their hashes, a device needs no words."""

    init: Literal["teacher", "vectors", "random"] = Field(
        "teacher",
        description="`teacher`: what its last layer says of each word of train, transfer and "
        "augmented text by itself; `vectors`: a file, of whose first words those that no text has "
        "get the rows left; `random`: nothing, to compare with",
    )
    vectors: str | None = Field(None, description="file of `vectors`: fastText's or GloVe's text")
    rows: Whole = Field(
        16384,
        ge=256,
        le=65536,
        description="a power of two; of as many words some four fifths have one, frequent ones "
        "first",
    )
    dim: Whole = Field(
        128, ge=1, le=1024, description="columns of a vector, the best of those that there are"
    )
    codes: Size = Field(16, description="bytes for a row, beside two; they divide `dim`")

    @model_validator(mode="after")
    def _fits(self) -> WordsSpec:
        if (self.init == "vectors") != (self.vectors is not None):
            raise ValueError("init: vectors and vectors: FILE go together")
        if self.rows & (self.rows - 1):
            raise ValueError(f"rows is a power of two, 256 to 65,536; got {self.rows:,}")
        if self.dim % self.codes:
            raise ValueError(f"codes {self.codes} do not divide the {self.dim} columns of dim")
        return self


_DropRate = Annotated[Float, Field(ge=0, lt=1)]


class ScratchSpec(Part):
    """A BERT made here, its tokenizer included, for when no checkpoint is at hand."""

    layers: Whole = Field(4, ge=1, le=MOST_LAYERS, description="blocks")
    hidden_dim: Size = Field(128, description="hidden size")
    heads: Size = Field(4, description="attention heads, which divide hidden_dim")
    intermediate_dim: Size = Field(512, description="feed-forward size")
    vocabulary: Whole = Field(4000, ge=100, le=MOST_PIECES, description="word pieces")
    lowercase: bool = Field(False, description="fold case in the tokenizer")
    pretrain: PretrainSpec | None = Field(None, description="see pretrain; none: labels only")

    @model_validator(mode="after")
    def _heads_divide(self) -> ScratchSpec:
        if self.hidden_dim % self.heads:
            raise ValueError(f"hidden_dim {self.hidden_dim} is not divisible by {self.heads} heads")
        return self


class HeadPart(OpenPart):
    """What a head is. Keys beyond the named one are options of its kind."""

    kind: str = Field("linear", description="a registered kind of head")


def _bare_kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


_NamedHead = Annotated[HeadPart, BeforeValidator(_bare_kind)]


def _heads_branch(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        return "<names>"
    return "<kinds>" if isinstance(value, Mapping) else None


Heads = Annotated[
    Annotated[list[Name], Field(min_length=1), Tag("<names>")]
    | Annotated[dict[Name, _NamedHead], Field(min_length=1), Tag("<kinds>")],
    Discriminator(
        _heads_branch,
        custom_error_type="heads",
        custom_error_message="Input should be a list of names, or names each with a kind of head",
    ),
]


def kinds_of(heads: list[str] | Mapping[str, HeadPart]) -> dict[str, dict[str, Any]]:
    """The heads of an entry as plain data: each name with its kind and the options of that."""
    named = heads if isinstance(heads, Mapping) else dict.fromkeys(heads, HeadPart())
    return {name: part.model_dump() for name, part in named.items()}


class EncoderSpec(Part):
    """A BERT-family encoder, such as the `teacher` that students learn from."""

    checkpoint: str | None = Field(None, description="Hugging Face folder or hub id")
    scratch: ScratchSpec | None = Field(None, description="make one from scratch instead")
    fine_tune: FineTune = Field(
        FineTuneSpec(),
        description="`auto` tries a wide range of learning rates; `false` for a checkpoint that is "
        "tuned to the task already",
    )
    heads: Heads = Field(
        ["logits"],
        description="named heads; a mapping gives each its kind: `{logits: crf}`, `{logits: mlm}`",
    )
    attention: bool = Field(
        False, description="also give attention maps, `attention/N`, for losses that read them"
    )
    pooling: Literal["cls", "mean", "compare"] | None = Field(
        None,
        description="what a text's label is read from: its first piece (`cls`), as BERT's, the "
        "`mean` of all, or for pairs `compare`, the means of both texts and how they differ; none: "
        "as `config.json` says, `cls` from scratch",
    )
    embedding_dropout: _DropRate | None = Field(
        None,
        description="rate after the embeddings while it is trained; none: that of "
        "`config.json`, 0.1 from scratch",
    )
    head_dropout: _DropRate | None = Field(
        None,
        description="rate in front of the layers that score; none: as `embedding_dropout`",
    )
    hashed_dim: Size | None = Field(
        None,
        description="width of a bottleneck over the hashes of words (`hashing`), added to the "
        "embeddings: an uncased checkpoint then sees capitals; none: pieces alone",
    )
    hashing: HashingSpec = Field(HashingSpec(), description="see hashing; with `hashed_dim`")
    max_length: Length = Field(128, description="pieces in a window, special tokens included")
    seed: Seed | None = Field(
        None,
        description="of its training; none: that of the recipe. With a number, students of "
        "several seeds learn from one teacher",
    )

    @model_validator(mode="after")
    def _one_origin(self) -> EncoderSpec:
        if (self.checkpoint is None) == (self.scratch is None):
            raise ValueError("give either checkpoint: or scratch:, not both and not neither")
        if self.hashing != HashingSpec() and "hashed_dim" not in self.model_fields_set:
            raise ValueError("hashing needs hashed_dim, without which no hashes are read")
        return self

    @property
    def origin(self) -> str:
        """The key that says where it comes from."""
        return "scratch" if self.checkpoint is None else "checkpoint"

    @property
    def quantized(self) -> str:
        """How it is best quantized for a device, see `WITH_ATTENTION`."""
        return "dynamic"


class TokenizerSpec(Part):
    """A WordPiece vocabulary of the student's own, made from train, transfer and augmented text."""

    vocabulary: Whole = Field(8000, ge=100, le=MOST_PIECES, description="word pieces")
    lowercase: bool = Field(False, description="fold case")


class StudentSpec(OpenPart):
    """A small model. Keys beyond the named ones are arguments of the student's constructor."""

    kind: str = Field(description="a registered student")
    encoder: Name = Field(
        "teacher", description="the encoder whose pieces, word vectors and width it takes"
    )
    tokenizer: TokenizerSpec | None = Field(None, description="see tokenizer; none: the teacher's")
    prune_vocabulary: bool = Field(
        True,
        description="keep only those of the teacher's pieces that train, transfer and augmented "
        "text need",
    )
    min_sentences: Whole = Field(
        1,
        ge=1,
        description="of `prune_vocabulary`: drop what fewer of their sentences have, but for "
        "single characters and special pieces",
    )
    max_pieces: Whole | None = Field(
        None,
        ge=1,
        le=MOST_PIECES,
        description="of `prune_vocabulary`: keep so many at most: special ones, the characters "
        "that occur, those that most of their sentences have, and further characters while there "
        "is room; what byte pairs are merged from comes on top; none: no limit",
    )
    embedding: EmbeddingSpec = Field(EmbeddingSpec(), description="see embedding")
    hashing: HashingSpec = Field(HashingSpec(), description="see hashing")
    words: WordsSpec | None = Field(
        None,
        description="see words: a table of whole words beside pieces; `hashing` with `murmur`",
    )
    projection: bool = Field(False, description="projection to the teacher's width")
    projection_activation: Literal["gelu", "linear"] = Field(
        "gelu", description="of the projection; `linear` for `hidden_mse`, since GELU stays > -0.17"
    )
    head_input: Literal["projection", "hidden"] = Field("hidden", description="what heads read")
    heads: Heads = Field(
        ["labels"], description="named heads; a mapping gives each its kind: `{labels: linear}`"
    )
    max_length: Length = Field(128, description="pieces in a window")
    members: Whole = Field(
        1,
        ge=1,
        le=16,
        description="so many of it, `NAME_1` and on, with seeds of their own, each through the "
        "stages of NAME, which is their mean (docs/members.md)",
    )
    seed: Seed | None = Field(
        None, description="of its weights and its training; none: that of the recipe"
    )

    @model_validator(mode="after")
    def _has_projection(self) -> StudentSpec:
        if others := self.options.keys() & {"from", "apply", "baseline_of", "mean_of"}:
            raise ValueError(f"an entry has kind: or {min(others)}:, not both")
        if self.projection_activation == "linear" and not self.projection:
            raise ValueError("projection_activation: linear needs projection: true")
        if self.head_input == "projection" and not self.projection:
            raise ValueError("head_input: projection needs projection: true")
        if self.drops_pieces and (self.tokenizer or not self.prune_vocabulary):
            raise ValueError(
                f"{self.drops_pieces} says which of the teacher's pieces prune_vocabulary keeps: "
                "it needs prune_vocabulary: true, and no tokenizer"
            )
        return self

    @property
    def drops_pieces(self) -> str | None:
        """The key by which pieces that occur are left out; None: none are."""
        if self.max_pieces is not None:
            return "max_pieces"
        return "min_sentences" if self.min_sentences > 1 else None

    @property
    def origin(self) -> str:
        """The key that says where it comes from."""
        return "kind"

    @property
    def quantized(self) -> str:
        """How it is best quantized for a device, see `WITH_ATTENTION`."""
        return "dynamic" if self.kind in WITH_ATTENTION else "int8"


_ENTRIES: dict[str, type[BaseModel]] = {
    "kind": StudentSpec,
    "from": DerivedSpec,
    "baseline_of": BaselineSpec,
    "mean_of": MeanSpec,
}
"""By the key that tells; any other entry is an encoder."""


def _model_branch(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"<{next((key for key in _ENTRIES if key in value), 'encoder')}>"
    told = (key for key, spec in _ENTRIES.items() if isinstance(value, spec))
    return f"<{next(told, 'encoder')}>"


ModelSpec = Annotated[
    Annotated[EncoderSpec, Tag("<encoder>")]
    | Annotated[StudentSpec, Tag("<kind>")]
    | Annotated[DerivedSpec, Tag("<from>")]
    | Annotated[BaselineSpec, Tag("<baseline_of>")]
    | Annotated[MeanSpec, Tag("<mean_of>")],
    Discriminator(_model_branch),
]
