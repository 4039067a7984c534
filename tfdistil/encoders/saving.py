"""Writes an encoder as `transformers` does: its tensors, its configuration, its tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from keras import ops
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from tfdistil.encoders.encoder import Encoder
from tfdistil.encoders.tensor_file import SINGLE_FILE
from tfdistil.encoders.tensor_names import (
    BASE_PREFIXES,
    CLASS_PREFIXES,
    Weight,
    base_tensors,
    extra_tensors,
    hash_tensors,
    head_tensors,
    mlm_tensors,
    pooler_tensors,
)
from tfdistil.encoders.tokenizer import save_tokenizer
from tfdistil.errors import CheckpointError
from tfdistil.files import make_room


def save_encoder(
    encoder: Encoder,
    folder: str | Path,
    labels: Mapping[str, Sequence[str]] | None = None,
    tokenizer: Tokenizer | str | Path | None = None,
    names: Mapping[str, str] | None = None,
) -> None:
    """Write ``config.json``, ``model.safetensors`` and the tokenizer's files into a folder.

    An encoder with one linear classifier, or with the masked-language head alone, or with none, is
    written as the class of `transformers` that has these parts. One with other heads, or that reads
    hashes, has no such class: it is written as the base model, with tensors
    ``heads.<output>.dense`` and ``.out`` beside it, those of its kind of head and
    ``hashed_words.*``, and the labels under ``tfdistil`` in ``config.json``.
    (Where a head is not called ``logits``, ``<head>/<output>`` takes the place of ``<output>``.)

    Files of the same names in the folder are replaced, others stay.

    Args:
        encoder: what to save.
        folder: made if it is not there.
        labels: output name to labels in the order of the logits, for every output.
        tokenizer: the tokenizer, or a folder or hub id to copy it from, or None for none.
        names: of the special tokens, see `save_tokenizer`.

    Raises:
        CheckpointError: a head without labels or with the wrong number, or a tokenizer with ids
            that the encoder has no embedding for.
    """
    named = _checked_labels(encoder, labels or {})
    kind = _class_kind(encoder)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".partial-", dir=folder) as partial:
        if tokenizer is not None:
            save_tokenizer(tokenizer, Path(partial), encoder.config, names)
        arrays = _arrays(encoder, kind)
        make_room(Path(partial), sum(array.nbytes + 256 for array in arrays.values()))
        save_file(arrays, Path(partial) / SINGLE_FILE, metadata={"format": "pt"})
        content = _config(encoder, kind, named)
        (Path(partial) / "config.json").write_text(content, encoding="utf-8")
        for path in sorted(Path(partial).iterdir()):
            path.replace(folder / path.name)


def _class_kind(encoder: Encoder) -> str | None:
    """The `transformers` class after the family's prefix, or None if no class has these parts."""
    specs = list(encoder.head_specs.values())
    if len(specs) > 1 or encoder.hashed_words is not None:
        return None
    if not specs:
        return "Model"
    kinds = {
        ("subword", "mlm"): "ForMaskedLM",
        ("word", "linear"): "ForTokenClassification",
        ("sequence", "linear"): "ForSequenceClassification",
    }
    return kinds.get((specs[0].level, specs[0].kind))


def _arrays(encoder: Encoder, kind: str | None) -> dict[str, np.ndarray]:
    prefix = "" if kind in (None, "Model") else BASE_PREFIXES[encoder.config.family]
    weights: dict[str, Weight] = {
        prefix + name: weight
        for name, weight in (base_tensors(encoder) | pooler_tensors(encoder)).items()
    }
    weights |= mlm_tensors(encoder) | hash_tensors(encoder)
    for name in encoder.classifiers:
        weights |= head_tensors(encoder, name, joint=kind is None) | extra_tensors(encoder, name)
    arrays = {}
    for name, weight in weights.items():
        array = ops.convert_to_numpy(weight.variable.value).astype(np.float32)
        arrays[name] = np.ascontiguousarray(array.T if weight.transposed else array)
    return arrays


def _config(encoder: Encoder, kind: str | None, labels: Mapping[str, tuple[str, ...]]) -> str:
    from transformers import AutoConfig

    content: dict[str, Any] = encoder.config.to_huggingface()
    content["architectures"] = [CLASS_PREFIXES[encoder.config.family] + (kind or "Model")]
    content["dtype"] = "float32"
    if kind is None:
        content["tfdistil"] = {
            "heads": {
                name: {
                    "level": encoder.head_specs[encoder.signal_of(name)].level,
                    "labels": list(labels[name.rpartition("/")[2]]),
                }
                for name in encoder.classifiers
            }
        }
    elif encoder.classifiers:
        (names,) = labels.values()
        content["id2label"] = dict(enumerate(names))
        content["label2id"] = {label: i for i, label in enumerate(names)}
    config = AutoConfig.for_model(**content)
    return json.dumps(json.loads(config.to_json_string()), indent=2, sort_keys=True) + "\n"


def _checked_labels(
    encoder: Encoder, labels: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    for name, spec in encoder.outputs_spec.items():
        given = labels.get(name)
        if given is None or len(set(given)) != spec.size or len(given) != spec.size:
            raise CheckpointError(
                f"output {name!r} needs {spec.size} different labels to be saved, got "
                f"{None if given is None else list(given)}"
            )
    unknown = sorted(set(labels) - set(encoder.outputs_spec))
    if unknown:
        raise CheckpointError(f"labels for {unknown}, but outputs are {list(encoder.outputs_spec)}")
    return {name: tuple(given) for name, given in labels.items()}
