"""Which tensor of a checkpoint is which weight of the encoder, family by family.

Names here are *bare*: base tensors without the ``bert.``/``distilbert.``/``roberta.`` prefix that
classes with a head put in front.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import keras

from tfdistil.encoders.config import Family
from tfdistil.encoders.encoder import Encoder
from tfdistil.encoders.layers import TransformerLayer


class Weight(NamedTuple):
    """A weight and whether the file stores its transpose (PyTorch's ``[out, in]``)."""

    variable: keras.Variable
    transposed: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in the file."""
        shape = tuple(self.variable.shape)
        return shape[::-1] if self.transposed else shape


WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
"""The word table in every family."""

CLASS_PREFIXES: dict[Family, str] = {
    "bert": "Bert",
    "distilbert": "DistilBert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
}
"""How `transformers` begins the names of a family's classes."""

BASE_PREFIXES: dict[Family, str] = {
    "bert": "bert.",
    "distilbert": "distilbert.",
    "roberta": "roberta.",
    "xlm-roberta": "roberta.",
}
"""What classes with a head put in front of the names of base tensors."""

CLASS_KINDS = (
    "Model",
    "ForPreTraining",
    "ForMaskedLM",
    "ForTokenClassification",
    "ForSequenceClassification",
)
"""The rest of the class names we read."""

CLASSIFIER = re.compile(r"(pre_)?classifier\.|heads\.")
"""How the names of classifiers' tensors begin, in bare names."""

IGNORABLE = re.compile(
    r"""
      embeddings\.(position|token_type)_ids        # buffers of older files, not weights
    | pooler\..*                                   # only sequence heads use it
    | cls\..* | lm_head\..* | vocab_(transform|layer_norm|projector)\..*    # pre-training heads
    | classifier\..* | pre_classifier\..* | heads\..*          # classifiers nobody asked for
    """,
    re.VERBOSE,
)
"""Tensors that may stay unused, in bare names; any other unused tensor is an error."""

_BERT_LAYER = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention_output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "expand": "intermediate.dense",
    "contract": "output.dense",
    "output_norm": "output.LayerNorm",
}
_DISTILBERT_LAYER = {
    "query": "attention.q_lin",
    "key": "attention.k_lin",
    "value": "attention.v_lin",
    "attention_output": "attention.out_lin",
    "attention_norm": "sa_layer_norm",
    "expand": "ffn.lin1",
    "contract": "ffn.lin2",
    "output_norm": "output_layer_norm",
}


def bare_name(name: str, family: Family) -> str:
    """Without the base prefix, and with today's names for layer normalization's weights."""
    name = name.removeprefix(BASE_PREFIXES[family])
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
        if name.endswith(old):
            name = name.removesuffix(old) + new
    return name


def base_tensors(encoder: Encoder) -> dict[str, Weight]:
    """Embeddings and transformer layers."""
    parts = encoder.embeddings
    tensors = {
        WORD_EMBEDDINGS: Weight(parts.words),
        "embeddings.position_embeddings.weight": Weight(parts.positions),
        **_norm("embeddings.LayerNorm", parts.norm),
    }
    if parts.types is not None:
        tensors["embeddings.token_type_embeddings.weight"] = Weight(parts.types)
    distil = encoder.config.family == "distilbert"
    stack = "transformer.layer" if distil else "encoder.layer"
    names = _DISTILBERT_LAYER if distil else _BERT_LAYER
    for index, layer in enumerate(encoder.layer_stack):
        tensors |= _layer(layer, f"{stack}.{index}", names)
    return tensors


def pooler_tensors(encoder: Encoder) -> dict[str, Weight]:
    """The pooler, if the encoder has one."""
    return {} if encoder.pooler is None else _dense("pooler.dense", encoder.pooler.dense)


def mlm_tensors(encoder: Encoder) -> dict[str, Weight]:
    """The masked-language head, if the encoder has one; its output weights are the embeddings."""
    head = encoder.mlm
    if head is None:
        return {}
    dense, norm, bias = {
        "bert": (
            "cls.predictions.transform.dense",
            "cls.predictions.transform.LayerNorm",
            "cls.predictions.bias",
        ),
        "distilbert": ("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
    }.get(encoder.config.family, ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"))
    return {**_dense(dense, head.dense), **_norm(norm, head.norm), bias: Weight(head.bias)}


def tied_tensors(family: Family) -> dict[str, str]:
    """Copies some files hold of a tied tensor, and the tensor each must equal."""
    table = WORD_EMBEDDINGS
    if family == "distilbert":
        return {"vocab_projector.weight": table}
    head = "cls.predictions" if family == "bert" else "lm_head"
    return {f"{head}.decoder.weight": table, f"{head}.decoder.bias": f"{head}.bias"}


def head_tensors(encoder: Encoder, name: str, joint: bool) -> dict[str, Weight]:
    """The classifier ``name``.

    Args:
        encoder: whose head it is.
        name: a key of `Encoder.classifiers`.
        joint: whether the file has several heads, ``heads.<name>.dense`` and ``.out``, rather than
            the one of a `transformers` class.
    """
    layer, signal = encoder.classifiers[name], encoder.signal_of(name)
    family, level = encoder.config.family, encoder.head_specs[signal].level
    dense, out = f"heads.{name}.dense", f"heads.{name}.out"
    if not joint:
        dense, out = "pre_classifier", "classifier"
        if family in ("roberta", "xlm-roberta") and level == "sequence":
            dense, out = "classifier.dense", "classifier.out_proj"
    intermediate_dim = {} if layer.dense is None else _dense(dense, layer.dense)
    return {**intermediate_dim, **_dense(out, layer.out)}


def extra_tensors(encoder: Encoder, name: str) -> dict[str, Weight]:
    """The weights that the kind of the head ``name`` has beside its classifier."""
    head = encoder.heads[encoder.signal_of(name)]
    return {f"heads.{name}.{weight.name}": Weight(weight) for weight in head.weights}


def hash_tensors(encoder: Encoder) -> dict[str, Weight]:
    """The weights that read hashes of words, which no class of `transformers` has."""
    layer = encoder.hashed_words
    if layer is None:
        return {}
    return {
        **_dense("hashed_words.dense", layer.words.dense),
        **_dense("hashed_words.out", layer.out),
    }


def _layer(layer: TransformerLayer, prefix: str, names: dict[str, str]) -> dict[str, Weight]:
    tensors: dict[str, Weight] = {}
    for attribute, name in names.items():
        part = getattr(layer, attribute)
        tensors |= (_norm if attribute.endswith("_norm") else _dense)(f"{prefix}.{name}", part)
    return tensors


def _dense(name: str, layer: keras.layers.Dense) -> dict[str, Weight]:
    return {f"{name}.weight": Weight(layer.kernel, True), f"{name}.bias": Weight(layer.bias)}


def _norm(name: str, layer: keras.layers.LayerNormalization) -> dict[str, Weight]:
    return {f"{name}.weight": Weight(layer.gamma), f"{name}.bias": Weight(layer.beta)}
