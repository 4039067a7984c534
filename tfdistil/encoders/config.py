"""The shape of a BERT-family encoder, and how `transformers` writes it down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tfdistil.errors import CheckpointError
from tfdistil.printable import shown

Family = Literal["bert", "distilbert", "roberta", "xlm-roberta"]

FAMILIES: tuple[Family, ...] = ("bert", "distilbert", "roberta", "xlm-roberta")

_ROBERTA = ("roberta", "xlm-roberta")

# Field of `EncoderConfig` -> key of config.json. Every key here must be in the file.
_BERT_KEYS = {
    "vocabulary": "vocab_size",
    "hidden_dim": "hidden_size",
    "layers": "num_hidden_layers",
    "attention_heads": "num_attention_heads",
    "intermediate_dim": "intermediate_size",
    "max_positions": "max_position_embeddings",
}
_DISTILBERT_KEYS = {
    "vocabulary": "vocab_size",
    "hidden_dim": "dim",
    "layers": "n_layers",
    "attention_heads": "n_heads",
    "intermediate_dim": "hidden_dim",
    "max_positions": "max_position_embeddings",
}

# Field -> (key, the value `transformers` assumes when the key is left out).
_BERT_DEFAULTS: dict[str, tuple[str, Any]] = {
    "activation": ("hidden_act", "gelu"),
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "initializer_range": ("initializer_range", 0.02),
    "type_vocabulary": ("type_vocab_size", 2),
    "layer_norm_epsilon": ("layer_norm_eps", 1e-12),
}
_DISTILBERT_DEFAULTS: dict[str, tuple[str, Any]] = {
    "activation": ("activation", "gelu"),
    "dropout": ("dropout", 0.1),
    "attention_dropout": ("attention_dropout", 0.1),
    "initializer_range": ("initializer_range", 0.02),
    "classifier_dropout": ("seq_classif_dropout", 0.2),
}

# Keys that would make another model out of the same tensors, with the only value we compute.
_REQUIRED_VALUES = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
    "auto_map": None,  # code of the checkpoint's own, which is never run
}

POOLINGS = ("cls", "mean", "compare")
"""See `tfdistil.encoders.pooling`."""

# Less than this is lost in float32, and rows without variance are divided by 0.
_LEAST_EPSILON = 1e-30

# Spellings of one function in config.json files.
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}


def family_of(config: Mapping[str, Any]) -> Family:
    """The family a ``config.json`` names.

    Raises:
        CheckpointError: an unsupported ``model_type``.
    """
    family = config.get("model_type")
    if family not in FAMILIES:
        raise CheckpointError(
            f"model_type {shown(family)} is not supported; supported: {', '.join(FAMILIES)}"
        )
    return family


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """All numbers that decide the tensors and the arithmetic of an encoder.

    Attributes:
        family: whose tensor names, heads and conventions the checkpoint follows.
        vocabulary: rows of the word embedding table.
        hidden_dim: size of a hidden state; a multiple of ``attention_heads``.
        layers: number of transformer layers.
        attention_heads: attention heads per layer.
        intermediate_dim: width between the two feed-forward projections.
        max_positions: rows of the position table, those before `position_offset` included.
        type_vocabulary: rows of the segment table; 0 if the family has none.
        pad_id: id of the padding token.
        layer_norm_epsilon: added to the variance in every layer normalization.
        activation: ``gelu`` (exact, erf), ``gelu_tanh``, ``relu`` or ``silu``.
        dropout: rate on embeddings and on the outputs of sub-layers.
        attention_dropout: rate on attention probabilities.
        classifier_dropout: rate in front of a sequence or word classifier; None takes `dropout`
            (DistilBERT uses it for sequence classifiers alone).
        initializer_range: standard deviation of fresh weights.
        classifier_pooling: what sequence heads (and BERT's pooler) read of a text: ``cls``, its
            first piece, ``mean``, of all pieces, or of BERT's pairs ``compare``, see
            `tfdistil.encoders.pooling.compared`. The name, and the first two, are ModernBERT's;
            `transformers` reads the first piece of these families, whatever this says.

    Raises:
        CheckpointError: an unknown family, activation or pooling, numbers that make no sense
            (negative, not finite, not whole), or sizes that do not fit together.
    """

    vocabulary: int
    hidden_dim: int
    layers: int
    attention_heads: int
    intermediate_dim: int
    max_positions: int = 512
    family: Family = "bert"
    type_vocabulary: int = 2
    pad_id: int = 0
    layer_norm_epsilon: float = 1e-12
    activation: str = "gelu"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    classifier_dropout: float | None = None
    initializer_range: float = 0.02
    classifier_pooling: str = "cls"

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise CheckpointError(
                f"unknown model family {self.family!r}; supported: {', '.join(FAMILIES)}"
            )
        _known_activation(self.activation)
        if self.classifier_pooling not in POOLINGS:
            raise CheckpointError(
                f"classifier_pooling must be {' or '.join(POOLINGS)}, got "
                f"{shown(self.classifier_pooling)}"
            )
        if self.classifier_pooling == "compare" and (
            self.family != "bert" or self.type_vocabulary < 2
        ):
            raise CheckpointError(
                "pooling: compare needs BERT's pooler, and segments that tell two texts apart; "
                f"got family {self.family} with {self.type_vocabulary} segments"
            )
        for field in (
            "vocabulary",
            "hidden_dim",
            "layers",
            "attention_heads",
            "intermediate_dim",
            "max_positions",
        ):
            _check_whole(field, getattr(self, field), 1)
        _check_whole("type_vocabulary", self.type_vocabulary, 0)
        _check_whole("pad_id", self.pad_id, 0)
        for field in ("dropout", "attention_dropout", "classifier_dropout", "initializer_range"):
            value = getattr(self, field)
            if value is not None or field != "classifier_dropout":
                _check_fraction(field, value, 0)
        _check_fraction("layer_norm_epsilon", self.layer_norm_epsilon, _LEAST_EPSILON)
        if self.pad_id >= self.vocabulary:
            raise CheckpointError(
                f"pad_id is {self.pad_id}, but the vocabulary ends at {self.vocabulary - 1}"
            )
        if self.hidden_dim % self.attention_heads:
            raise CheckpointError(
                f"hidden_dim {self.hidden_dim} is not a multiple of {self.attention_heads} "
                "attention heads"
            )
        if self.max_length < 1:
            raise CheckpointError(
                f"max_positions {self.max_positions} leaves no position: {self.family} uses those "
                f"from {self.position_offset} on"
            )

    @property
    def position_offset(self) -> int:
        """Row of the position table that the first token takes (RoBERTa: after the pad id)."""
        return self.pad_id + 1 if self.family in _ROBERTA else 0

    @property
    def max_length(self) -> int:
        """The longest sequence in tokens, special tokens included."""
        return self.max_positions - self.position_offset

    @property
    def pooled_dim(self) -> int:
        """Numbers of a text that the pooler reads."""
        return self.hidden_dim * (4 if self.classifier_pooling == "compare" else 1)

    @property
    def weights(self) -> int:
        """How many numbers embeddings and layers have, without pooler and heads."""
        hidden_dim, intermediate_dim = self.hidden_dim, self.intermediate_dim
        # Each layer normalization has two rows of the width.
        rows = self.vocabulary + self.max_positions + self.type_vocabulary + 2
        layer = (
            4 * (hidden_dim + 1) * hidden_dim
            + (hidden_dim + 1) * intermediate_dim
            + (intermediate_dim + 1) * hidden_dim
            + 4 * hidden_dim
        )
        return rows * hidden_dim + self.layers * layer

    @property
    def has_pooler(self) -> bool:
        """Whether the family's base model has a pooler, a dense layer with tanh."""
        return self.family != "distilbert"

    @classmethod
    def from_huggingface(cls, config: Mapping[str, Any]) -> EncoderConfig:
        """Read the content of a ``config.json``.

        Raises:
            CheckpointError: an unsupported ``model_type`` or variant, missing keys (all listed), or
                numbers that make no sense.
        """
        family = family_of(config)
        for key, value in _REQUIRED_VALUES.items():
            if config.get(key, value) != value:
                raise CheckpointError(
                    f"{key}: {shown(config[key])} is not supported, only {value!r}; choose a "
                    "checkpoint of an encoder in its standard form"
                )
        distil = family == "distilbert"
        keys = _DISTILBERT_KEYS if distil else _BERT_KEYS
        missing = sorted(key for key in keys.values() if key not in config)
        if missing:
            raise CheckpointError(f"config.json has no {', '.join(missing)}, which {family} needs")
        fields: dict[str, Any] = {field: config[key] for field, key in keys.items()}
        defaults = _DISTILBERT_DEFAULTS if distil else _BERT_DEFAULTS
        fields |= {field: config.get(key, value) for field, (key, value) in defaults.items()}
        if distil:
            fields |= {"type_vocabulary": 0, "layer_norm_epsilon": 1e-12}
        else:
            fields["classifier_dropout"] = config.get("classifier_dropout")
        fields["activation"] = _known_activation(fields["activation"])
        fields["classifier_pooling"] = config.get("classifier_pooling", "cls")
        pad_id = config.get("pad_token_id")
        fields["pad_id"] = pad_id if pad_id is not None else int(family in _ROBERTA)
        try:
            return cls(family=family, **fields)
        except CheckpointError as error:  # it begins with the field
            field, _, rest = str(error).partition(" ")
            raise CheckpointError(f"{_spelling(family).get(field, field)} {rest}") from None

    def to_huggingface(self) -> dict[str, Any]:
        """The keys of ``config.json`` that describe this encoder, in `transformers`' spelling."""
        spelled = _spelling(self.family)
        config = {key: getattr(self, field) for field, key in spelled.items()}
        if self.activation == "gelu_tanh":
            config[spelled["activation"]] = "gelu_new"
        if self.family == "distilbert" and self.classifier_dropout is None:
            config[spelled["classifier_dropout"]] = self.dropout
        if self.classifier_pooling != "cls":
            config["classifier_pooling"] = self.classifier_pooling
        return {"model_type": self.family} | config

    def to_json(self) -> dict[str, Any]:
        """Plain data for `EncoderConfig(**data)`."""
        return asdict(self)


def _spelling(family: Family) -> dict[str, str]:
    """Field of `EncoderConfig` to key of ``config.json``."""
    distil = family == "distilbert"
    keys = _DISTILBERT_KEYS if distil else _BERT_KEYS
    defaults = _DISTILBERT_DEFAULTS if distil else _BERT_DEFAULTS
    rest = {"classifier_dropout": "classifier_dropout", "pad_id": "pad_token_id"}
    return rest | keys | {field: key for field, (key, _) in defaults.items()}


def _known_activation(name: Any) -> str:
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise CheckpointError(
            f"unknown activation {shown(name)}; supported: {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS[name]


def _check_whole(field: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        kind = "positive whole number" if least else "whole number from 0"
        raise CheckpointError(f"{field} must be a {kind}, got {shown(value)}")


def _check_fraction(field: str, value: Any, least: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value < 1:  # NaN is in no range
        raise CheckpointError(
            f"{field} must be a number from {least} to below 1, got {shown(value)}"
        )
