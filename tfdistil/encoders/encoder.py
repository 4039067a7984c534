"""The encoder: ids in, every hidden state, attention map and logit out, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import keras

from tfdistil.encoders.config import EncoderConfig
from tfdistil.encoders.heads import Classifier, HeadSpec, Level, MaskedLanguageHead, Pooler
from tfdistil.encoders.layers import (
    SEEDS_PER_LAYER,
    Embeddings,
    TransformerLayer,
    masked_by_bias,
    masked_by_reach,
)
from tfdistil.heads.model import HeadedModel, OutputSpec


@keras.saving.register_keras_serializable(package="tfdistil")
class Encoder(HeadedModel, keras.Model):
    """A BERT, DistilBERT or (XLM-)RoBERTa encoder with any number of heads.

    All weights exist once it is constructed.

    Args:
        config: sizes and conventions, as an `EncoderConfig` or the dict of its fields.
        heads: output name to ``(level, labels)``, such as ``{"tags": ("word", 9)}``; a joint model
            has several.
        mlm: whether there is a masked-language head (logits over the vocabulary).
        pooler: whether there is a pooler. None: where a head needs one (BERT's sequence heads).
        attention: whether `call` returns attention maps.
        seed: makes initialization and dropout reproducible.

    Raises:
        ValueError: a head of an unknown level or without labels, or sequence heads of BERT with
            ``pooler=False``.
        CheckpointError: a `config` dict that does not fit together.

    Signals of `call`, all ``[B, ...]`` in the compute dtype, logits in float32:
        - ``hidden/0`` (embeddings) to ``hidden/<layers>``: ``[B, T, width]``.
        - ``sentence/0`` to ``sentence/<layers>``: the first position of each, ``[B, width]``.
        - ``attention/1`` to ``attention/<layers>``, with ``attention=True``: probabilities
          ``[B, heads, T, T]``, rows are queries.
        - ``pooled``, where there is a pooler: ``[B, width]``.
        - ``logits/<output>``: ``[B, T, labels]`` (word) or ``[B, labels]`` (sequence).
        - ``logits/mlm``, with ``mlm=True``: ``[B, T, vocabulary]``.
    """

    def __init__(
        self,
        config: EncoderConfig | Mapping[str, Any],
        heads: Mapping[str, tuple[Level, int]] | None = None,
        mlm: bool = False,
        pooler: bool | None = None,
        attention: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.config = config if isinstance(config, EncoderConfig) else EncoderConfig(**config)
        self.head_specs = _checked({k: HeadSpec(*v) for k, v in (heads or {}).items()}, mlm)
        self.has_mlm, self.attention, self.seed = mlm, attention, seed
        self.load_report: Any = None  # what a checkpoint gave, set by load_encoder
        needs_pooler = self.config.family == "bert" and any(
            spec.level == "sequence" for spec in self.head_specs.values()
        )
        if needs_pooler and pooler is False:
            raise ValueError("sequence heads of the bert family classify what the pooler gives")
        self.has_pooler = needs_pooler if pooler is None else pooler
        if self.has_pooler and not self.config.has_pooler:
            raise ValueError(f"the {self.config.family} family has no pooler")

        c, policy = self.config, self.dtype_policy
        shared = {"initializer_range": c.initializer_range, "dtype": policy}
        self.embeddings = Embeddings(
            c.vocabulary,
            c.width,
            c.max_positions,
            c.type_vocabulary,
            c.position_offset,
            c.layer_norm_epsilon,
            c.dropout,
            seed=self._seed(0),
            name="embeddings",
            **shared,
        )
        self.layer_stack = [
            TransformerLayer(
                c.width,
                c.attention_heads,
                c.inner,
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
            Pooler(c.width, seed=self._seed(c.layers + 1), name="pooler", **shared)
            if self.has_pooler
            else None
        )
        self.mlm = (
            MaskedLanguageHead(
                c.vocabulary,
                c.width,
                "gelu" if c.family in ("roberta", "xlm-roberta") else c.activation,
                c.layer_norm_epsilon,
                seed=self._seed(c.layers + 2),
                name="mlm",
                **shared,
            )
            if mlm
            else None
        )
        self.heads = {
            name: Classifier(
                c.width,
                spec.size,
                seed=self._seed(c.layers + 3 + index),
                name=f"head_{name}",
                **_classifier_options(c, spec.level),
                **shared,
            )
            for index, (name, spec) in enumerate(self.head_specs.items())
        }
        self.head_names = ("logits",)
        self.outputs_spec = {name: OutputSpec(*spec) for name, spec in self.head_specs.items()}
        self.build()

    def _seed(self, part: int) -> int | None:
        return None if self.seed is None else self.seed + part * SEEDS_PER_LAYER

    def _top(self) -> list[keras.layers.Layer]:
        parts = [*self.heads.values(), self.mlm, self.pooler]
        return [part for part in parts if part is not None]

    def build(self, input_shape: Any = None) -> None:
        """Create all weights; done by the constructor."""
        for part in (self.embeddings, *self.layer_stack, *self._top()):
            if not part.built:
                part.build()

    @property
    def word_embeddings(self) -> keras.Variable:
        """The word table, ``[vocabulary, width]``."""
        return self.embeddings.words

    @property
    def input_names(self) -> tuple[str, ...]:
        """The inputs `call` reads; the last one only where the family has segments."""
        names = ("input_ids", "attention_mask")
        return (*names, "token_type_ids") if self.config.type_vocabulary > 1 else names

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        """What a device feeds: the `input_names`, int32 ``[B, T]``.

        Raises:
            ValueError: ``length`` is more than the longest sequence.
        """
        if length > self.config.max_length:
            raise ValueError(
                f"{length} positions per call, but this encoder reads at most "
                f"{self.config.max_length}; give a smaller length"
            )
        return [
            keras.InputSpec(shape=(batch, length), dtype="int32", name=name)
            for name in self.input_names
        ]

    def call(self, inputs: Mapping[str, Any], training: bool | None = None) -> dict[str, Any]:
        """All signals by name, see the class.

        Args:
            inputs: ``input_ids`` int ``[B, T]``, padded on the right; ``attention_mask`` int
                ``[B, T]`` (1 = real; default all real); ``token_type_ids`` int ``[B, T]`` (default
                0). Other entries are not looked at.
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
        if self.pooler is not None:
            signals["pooled"] = self.pooler(hidden)
        if self.mlm is not None:
            signals["logits/mlm"] = self.mlm(hidden, self.embeddings.words)
        for name, head in self.heads.items():
            features = hidden
            if self.head_specs[name].level == "sequence":
                pooled = self.config.family == "bert"
                features = signals["pooled"] if pooled else hidden[:, 0]
            signals[f"logits/{name}"] = head(features, training=training)
        return signals

    def level(self, signal: str) -> str:
        """``subword`` for a signal with a row per piece, ``sequence`` for one per text.

        Attention maps have rows for pairs of pieces: ``piece``, see `SignalModel`.

        Raises:
            KeyError: the encoder has no such signal.
        """
        kind, _, name = signal.partition("/")
        if signal == "pooled" and self.pooler is not None:
            return "sequence"
        if kind == "logits" and name in self.head_specs:
            return "sequence" if self.head_specs[name].level == "sequence" else "subword"
        if signal == "logits/mlm" and self.has_mlm:
            return "subword"
        if kind in ("hidden", "sentence", "attention") and name.isdecimal():
            first = 1 if kind == "attention" else 0
            given = kind != "attention" or self.attention
            if given and first <= int(name) <= self.config.layers:
                return {"sentence": "sequence", "attention": "piece"}.get(kind, "subword")
        raise KeyError(f"no signal {signal!r}; this encoder gives {', '.join(self.signals())}")

    def signals(self) -> tuple[str, ...]:
        """The names `call` returns, in order."""
        layers = range(1, self.config.layers + 1)
        names = ["hidden/0", "sentence/0"]
        for number in layers:
            names += [f"hidden/{number}", f"sentence/{number}"]
            if self.attention:
                names.append(f"attention/{number}")
        names += ["pooled"] * self.has_pooler + ["logits/mlm"] * self.has_mlm
        return (*names, *(f"logits/{name}" for name in self.head_specs))

    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """``heads`` (with the pooler), ``layer_<L>`` .. ``layer_1``, ``embeddings``.

        Every weight is in exactly one group. An encoder without heads has no first group.
        """
        top = [weight for part in self._top() for weight in part.weights]
        groups = [("heads", top)] if top else []
        groups += [(layer.name, layer.weights) for layer in reversed(self.layer_stack)]
        return [*groups, ("embeddings", self.embeddings.weights)]

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "config": self.config.to_json(),
            "heads": {name: list(spec) for name, spec in self.head_specs.items()},
            "mlm": self.has_mlm,
            "pooler": self.has_pooler,
            "attention": self.attention,
            "seed": self.seed,
        }


def _checked(heads: dict[str, HeadSpec], mlm: bool) -> dict[str, HeadSpec]:
    for name, spec in heads.items():
        if spec.level not in ("word", "sequence"):
            raise ValueError(f"head {name!r} has level {spec.level!r}; use 'word' or 'sequence'")
        if not isinstance(spec.size, int) or spec.size < 1:
            raise ValueError(f"head {name!r} needs at least one label, got {spec.size!r}")
        if not name or "/" in name or "." in name or (name == "mlm" and mlm):
            raise ValueError(f"a head cannot be called {name!r}: '/' and '.' separate names")
    return heads


def _classifier_options(config: EncoderConfig, level: Level) -> dict[str, Any]:
    """Dropout and inner layer of a classifier as the family's fine-tuning code has them."""
    rate = config.dropout if config.classifier_dropout is None else config.classifier_dropout
    if config.family == "distilbert":
        if level == "word":
            return {"dropout": config.dropout}
        return {"dropout": rate, "transform": "relu"}
    if config.family == "bert" or level == "word":
        return {"dropout": rate}
    return {"dropout": rate, "transform": "tanh", "input_dropout": rate}
