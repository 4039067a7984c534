"""The encoder: ids in, every hidden state, attention map and logit out, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import keras
from keras import ops

from tfdistil.encoders.config import EncoderConfig
from tfdistil.encoders.hashed_words import AddedHashes
from tfdistil.encoders.heads import Classifier, MaskedLanguageScores, Pooler
from tfdistil.encoders.layers import (
    SEEDS_PER_LAYER,
    Embeddings,
    TransformerLayer,
    masked_by_bias,
    masked_by_reach,
)
from tfdistil.encoders.pooling import states_of_text
from tfdistil.heads.model import HeadedModel
from tfdistil.heads.spec import HeadSpec, Level

_PART_OF_HASHES = 5000
"""Its seed is far from those of the layers and heads of any encoder."""


@keras.saving.register_keras_serializable(package="tfdistil")
class Encoder(HeadedModel):
    """A BERT, DistilBERT or (XLM-)RoBERTa encoder with any number of heads.

    All weights exist once it is constructed.

    Args:
        config: sizes and conventions, as an `EncoderConfig` or the dict of its fields.
        outputs: task output to ``(level, labels)``, such as ``{"tags": ("word", 9)}``; a joint
            model has several, a bare encoder none.
        heads: their names, or each name with its kind, see `tfdistil.heads.spec.check_heads`;
            ``{"logits": "mlm"}`` is a masked-language head.
        pooler: whether there is a pooler. None: where a head needs one (BERT's sequence heads).
        attention: whether `call` returns attention maps.
        embedding_dropout: rate after the embeddings, of single numbers; None: ``config.dropout``.
        head_dropout: rate in the heads, in front of each layer that scores; None: as the family's
            fine-tuning code has it, from `config`. A masked-language head has no dropout.
        hashed_dim: width of a bottleneck over the hashes of a piece's word, whose output is added
            to the embeddings, by weights that begin with zeros, so that a checkpoint begins as it
            is; None: pieces alone.
        features: N, ternary features of a word; where there is ``hashed_dim``, and only there.
        ternary_map: what two bits of a hash mean, see `tfdistil.encoders.hashed_words.HashedWords`.
        seed: makes initialization and dropout reproducible.

    Raises:
        ValueError: outputs and heads that do not fit together, two masked-language heads,
            sequence heads of BERT with ``pooler=False``, or one of ``hashed_dim`` and ``features``
            without the other.
        CheckpointError: a `config` dict that does not fit together.

    Signals of `call`, all ``[B, ...]`` in the compute dtype, logits in float32:
        - ``hidden/0`` (embeddings) to ``hidden/<layers>``: ``[B, T, hidden_dim]``.
        - ``hidden``: the last of them.
        - ``sentence/0`` to ``sentence/<layers>``: the first position of each, ``[B, hidden_dim]``.
        - ``attention/1`` to ``attention/<layers>``, with ``attention=True``: probabilities
          ``[B, heads, T, T]``, rows are queries.
        - ``pooled``, where there is a pooler: ``[B, hidden_dim]``.
        - ``<head>/<output>``: ``[B, T, labels]`` (word) or ``[B, labels]`` (sequence).
        - ``<head>/mlm`` of a masked-language head: ``[B, T, vocabulary]``, or of the pieces
          that `call` is to score.
        - what other kinds of heads give beside these.
    """

    def __init__(
        self,
        config: EncoderConfig | Mapping[str, Any],
        outputs: Mapping[str, tuple[Level, int]] | None = None,
        heads: Sequence[str] | Mapping[str, str | Mapping[str, Any]] = ("logits",),
        pooler: bool | None = None,
        attention: bool = False,
        embedding_dropout: float | None = None,
        head_dropout: float | None = None,
        hashed_dim: int | None = None,
        features: int | None = None,
        ternary_map: str = "operator",
        seed: int | None = None,
        **kwargs: Any,
    ):
        c = config if isinstance(config, EncoderConfig) else EncoderConfig(**config)
        super().__init__(outputs or {}, heads, c.vocabulary, **kwargs)
        self.config = c
        self.attention, self.seed = attention, seed
        self.embedding_dropout, self.head_dropout = embedding_dropout, head_dropout
        self.load_report: Any = None  # what a checkpoint gave, set by load_encoder
        levels = [spec.level for spec in self.head_specs.values()]
        if levels.count("subword") > 1:
            raise ValueError("an encoder has one masked-language head at most")
        needs_pooler = c.family == "bert" and "sequence" in levels
        if needs_pooler and pooler is False:
            raise ValueError("sequence heads of the bert family classify what the pooler gives")
        self.has_pooler = needs_pooler if pooler is None else pooler
        self.reads_text = self.has_pooler or "sequence" in levels
        if self.has_pooler and not c.has_pooler:
            raise ValueError(f"the {c.family} family has no pooler")

        shared = {"initializer_range": c.initializer_range, "dtype": self.dtype_policy}
        self.embeddings = Embeddings(
            c.vocabulary,
            c.hidden_dim,
            c.max_positions,
            c.type_vocabulary,
            c.position_offset,
            c.layer_norm_epsilon,
            c.dropout if embedding_dropout is None else embedding_dropout,
            seed=self._seed(0),
            name="embeddings",
            **shared,
        )
        if (hashed_dim is None) != (features is None):
            raise ValueError(
                f"hashed_dim and features go together; got {hashed_dim} and {features}"
            )
        self.hashed_dim, self.features, self.ternary_map = hashed_dim, features, ternary_map
        self.hashed_words = (
            None
            if hashed_dim is None or features is None
            else AddedHashes(
                c.hidden_dim,
                hashed_dim,
                features,
                ternary_map,
                seed=self._seed(_PART_OF_HASHES),
                dtype=self.dtype_policy,
                name="hashed_words",
            )
        )
        self.layer_stack = [
            TransformerLayer(
                c.hidden_dim,
                c.attention_heads,
                c.intermediate_dim,
                c.activation,
                c.dropout,
                c.attention_dropout,
                0.0 if c.family == "distilbert" else c.dropout,
                c.layer_norm_epsilon,
                seed=self._seed(number),
                name=f"layer_{number}",
                **shared,
            )
            for number in range(1, c.layers + 1)
        ]
        self.pooler = (
            Pooler(
                c.hidden_dim, c.pooled_dim, seed=self._seed(c.layers + 1), name="pooler", **shared
            )
            if self.has_pooler
            else None
        )
        makers = {"word": self._classifier, "sequence": self._classifier, "subword": self._scores}
        self.head_layers = {
            signal: makers[spec.level](signal, spec, c.layers + 3 + index)
            for index, (signal, spec) in enumerate(self.head_specs.items())
        }
        self.build()

    def _classifier(self, signal: str, spec: HeadSpec, part: int) -> Classifier:
        return Classifier(
            self.config.hidden_dim,
            spec.size,
            initializer_range=self.config.initializer_range,
            seed=self._seed(part),
            name=f"head_{key_of(signal)}".replace("/", "_"),
            dtype="float32",
            **_classifier_options(self.config, spec.level, self.head_dropout),
        )

    def _scores(self, signal: str, spec: HeadSpec, part: int) -> MaskedLanguageScores:
        del signal, part
        c = self.config
        return MaskedLanguageScores(
            spec.size,
            c.hidden_dim,
            "gelu" if c.family in ("roberta", "xlm-roberta") else c.activation,
            c.layer_norm_epsilon,
            c.initializer_range,
            seed=self._seed(c.layers + 2),
            name="mlm",
            dtype=self.dtype_policy,
        )

    def _seed(self, part: int) -> int | None:
        return None if self.seed is None else self.seed + part * SEEDS_PER_LAYER

    def build(self, input_shape: Any = None) -> None:
        """Create all weights; done by the constructor."""
        del input_shape
        added = [part for part in (self.hashed_words, self.pooler) if part is not None]
        for part in (self.embeddings, *self.layer_stack, *self.head_layers.values(), *added):
            if not part.built:
                part.build()

    @property
    def classifiers(self) -> dict[str, Classifier]:
        """The scoring layers of the task's outputs, as a checkpoint names them.

        That is by the output, and for another head than ``logits`` by ``<head>/<output>``.
        """
        return {
            key_of(signal): layer
            for signal, layer in self.head_layers.items()
            if self.head_specs[signal].level != "subword"
        }

    @staticmethod
    def signal_of(name: str) -> str:
        """The signal of one of `classifiers`."""
        return name if "/" in name else f"logits/{name}"

    @property
    def mlm(self) -> MaskedLanguageScores | None:
        """The scoring layer of the masked-language head."""
        levels = {self.head_specs[signal].level: signal for signal in self.head_specs}
        return self.head_layers[levels["subword"]] if "subword" in levels else None

    @property
    def vocabulary_weights(self) -> list[keras.Variable]:
        """Weights with a row for each piece."""
        return [self.word_embeddings, *([] if self.mlm is None else [self.mlm.bias])]

    @property
    def word_embeddings(self) -> keras.Variable:
        """The word table, ``[vocabulary, hidden_dim]``."""
        return self.embeddings.words

    @property
    def input_names(self) -> tuple[str, ...]:
        """The inputs `call` reads; of the last two those that family and hashes ask for."""
        there = {
            "input_ids": True,
            "attention_mask": True,
            "token_type_ids": self.config.type_vocabulary > 1,
            "fingerprint": self.features is not None,
        }
        return tuple(name for name, is_read in there.items() if is_read)

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        """What a device feeds: the `input_names`, int32 ``[B, T]``, but ``fingerprint`` uint8.

        Raises:
            ValueError: ``length`` is more than the longest sequence.
        """
        if length > self.config.max_length:
            raise ValueError(
                f"{length} positions per call, but this encoder reads at most "
                f"{self.config.max_length}; give a smaller length"
            )
        ids = {"shape": (batch, length), "dtype": "int32"}
        own = {"shape": (batch, length, (self.features or 0) // 4), "dtype": "uint8"}
        return [
            keras.InputSpec(**(own if name == "fingerprint" else ids), name=name)
            for name in self.input_names
        ]

    def call(self, inputs: Mapping[str, Any], training: bool | None = None) -> dict[str, Any]:
        """All signals by name, see the class.

        Args:
            inputs: ``input_ids`` int ``[B, T]``, padded on the right; ``attention_mask`` int
                ``[B, T]`` (1 = real; default all real); ``token_type_ids`` int ``[B, T]`` (default
                0); with ``hashed_dim`` also ``fingerprint`` uint8 ``[B, T, N / 4]``. ``scored`` int
                ``[S]``, if it is there, names pieces (row · T + position), and a masked-language
                head scores these alone: ``[S, vocabulary]``. Other entries are not looked at.
            training: whether dropout is on.

        Raises:
            ValueError: sequences longer than ``config.max_length``.
        """
        return self._signals(inputs, training)

    def _signals(
        self, inputs: Mapping[str, Any], training: bool | None, exporting: bool = False
    ) -> dict[str, Any]:
        segments = inputs.get("token_type_ids") if self.config.type_vocabulary > 1 else None
        hidden = self.embeddings(inputs["input_ids"], segments, training=training)
        if self.hashed_words is not None:
            hidden = hidden + ops.cast(self.hashed_words(inputs["fingerprint"]), hidden.dtype)
        mask = inputs.get("attention_mask")
        masked = masked_by_reach if exporting else partial(masked_by_bias, dtype=self.compute_dtype)
        masking = None if mask is None else masked(mask)
        signals = {"hidden/0": hidden, "sentence/0": hidden[:, 0]}
        for number, layer in enumerate(self.layer_stack, 1):
            hidden, probabilities = layer(hidden, masking=masking, training=training)
            signals[f"hidden/{number}"] = hidden
            signals[f"sentence/{number}"] = hidden[:, 0]
            if self.attention:
                signals[f"attention/{number}"] = probabilities
        signals["hidden"] = hidden
        states = hidden
        if self.reads_text:
            pooling = self.config.classifier_pooling
            states = states_of_text(pooling, hidden, mask, segments, exporting)
        if self.pooler is not None:
            signals["pooled"] = self.pooler(states)
        text = signals["pooled"] if self.config.family == "bert" and self.pooler else states[:, 0]
        features = {
            "word": (hidden,),
            "sequence": (text,),
            "subword": (hidden, self.embeddings.words, inputs.get("scored")),
        }
        scores = {
            signal: layer(*features[self.head_specs[signal].level], training=training)
            for signal, layer in self.head_layers.items()
        }
        return signals | self._with_heads(scores, inputs)

    def body_levels(self) -> dict[str, str]:
        """``hidden/<n>``, ``hidden``, ``sentence/<n>``, ``attention/<n>``, ``pooled``.

        Attention maps have rows for pairs of pieces: ``piece``, see `SignalModel`.
        """
        levels = {"hidden/0": "subword", "sentence/0": "sequence"}
        for number in range(1, self.config.layers + 1):
            levels |= {f"hidden/{number}": "subword", f"sentence/{number}": "sequence"}
            if self.attention:
                levels[f"attention/{number}"] = "window"
        levels["hidden"] = "subword"
        return levels | ({"pooled": "sequence"} if self.has_pooler else {})

    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """``heads``, ``layer_<L>`` .. ``layer_1``, ``embeddings``.

        Every weight is in exactly one group. The pooler and what reads hashes are in the first,
        since no pre-training knows the task's; an encoder with none of them has no first group.
        """
        added = [part.weights for part in (self.pooler, self.hashed_words) if part is not None]
        top = [*self._head_weights(), *chain.from_iterable(added)]
        groups = [("heads", top)] if top else []
        groups += [(layer.name, layer.weights) for layer in reversed(self.layer_stack)]
        return [*groups, ("embeddings", self.embeddings.weights)]

    def rate_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """See `HeadedModel.rate_groups`; also ``positions``, the position embeddings."""
        return [*super().rate_groups(), ("positions", [self.embeddings.positions])]

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "config": self.config.to_json(),
            "pooler": self.has_pooler,
            "attention": self.attention,
            "embedding_dropout": self.embedding_dropout,
            "head_dropout": self.head_dropout,
            "hashed_dim": self.hashed_dim,
            "features": self.features,
            "ternary_map": self.ternary_map,
            "seed": self.seed,
        }


def key_of(signal: str) -> str:
    """What a checkpoint calls the head of a signal."""
    return signal.removeprefix("logits/")


def _classifier_options(config: EncoderConfig, level: Level, own: float | None) -> dict[str, Any]:
    """Dropout and inner layer of a classifier as the family's fine-tuning code has them.

    Args:
        config: of the encoder.
        level: of what is scored.
        own: a rate instead of the family's.
    """
    knows_it = config.family != "distilbert" or level != "word"
    rates = (own, config.classifier_dropout if knows_it else None, config.dropout)
    rate = next(rate for rate in rates if rate is not None)
    if config.family == "distilbert":
        if level == "word":
            return {"dropout": rate}
        return {"dropout": rate, "transform": "relu"}
    if config.family == "bert" or level == "word":
        return {"dropout": rate}
    return {"dropout": rate, "transform": "tanh", "input_dropout": rate}
