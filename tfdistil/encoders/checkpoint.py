"""Loads a Hugging Face checkpoint into an `Encoder`: all of what is needed, or an error."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.encoders.checkpoint_checks import (
    check_classifiers,
    check_kind,
    check_size,
    check_tensors,
)
from tfdistil.encoders.checkpoint_info import (
    architecture_of,
    declared_heads,
    is_joint,
    read_config,
    resolve_checkpoint,
)
from tfdistil.encoders.config import EncoderConfig
from tfdistil.encoders.encoder import Encoder, key_of
from tfdistil.encoders.tensor_file import TensorFile, open_tensors
from tfdistil.encoders.tensor_names import (
    WORD_EMBEDDINGS,
    Weight,
    bare_name,
    base_tensors,
    extra_tensors,
    hash_tensors,
    head_tensors,
    mlm_tensors,
    pooler_tensors,
    tied_tensors,
)
from tfdistil.errors import CheckpointError
from tfdistil.heads.kinds import specs_of
from tfdistil.heads.spec import HeadSpec, Level, check_heads, check_outputs

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load did with every tensor.

    Attributes:
        source: the folder.
        architecture: the class the file was saved from.
        loaded: names of the tensors that were taken, as in the file.
        heads: outputs whose classifier came from the file.
        fresh_heads: what starts from new weights of the heads, in words, by the signal of their
            scores.
        fresh_pooler: whether the pooler does.
        ignored: names of tensors the encoder has no use for.
    """

    source: str
    architecture: str
    loaded: tuple[str, ...]
    heads: tuple[str, ...]
    fresh_heads: Mapping[str, str]
    fresh_pooler: bool
    ignored: tuple[str, ...]

    @property
    def fresh(self) -> tuple[str, ...]:
        """All parts that start from new weights, in words."""
        return (*self.fresh_heads.values(), *(["pooler"] if self.fresh_pooler else []))

    def __str__(self) -> str:
        parts = [f"{self.architecture} from {self.source}: {len(self.loaded)} tensors loaded"]
        if self.heads:
            parts.append(f"fine-tuned heads: {', '.join(self.heads)}")
        if self.fresh:
            parts.append(f"new weights: {', '.join(self.fresh)}")
        if self.ignored:
            parts.append(f"ignored: {', '.join(self.ignored)}")
        return "; ".join(parts)


def load_encoder(
    source: str | Path,
    outputs: Mapping[str, tuple[Level, int]] | None = None,
    *,
    heads: Sequence[str] | Mapping[str, str | Mapping[str, Any]] = ("logits",),
    labels: Mapping[str, Sequence[str]] | None = None,
    pooler: bool | None = None,
    attention: bool = False,
    fresh_heads: bool = False,
    pooling: str | None = None,
    seed: int | None = None,
    **kwargs: Any,
) -> Encoder:
    """Load a BERT, DistilBERT or (XLM-)RoBERTa checkpoint.

    A classifier in the file is taken over for the head of its level, its rows put into the order
    of ``labels``; other labels are an error. What happened is logged and kept as
    ``encoder.load_report``.

    Args:
        source: a folder with ``config.json`` and ``model.safetensors`` (or shards and their
            index), or a hub id.
        outputs: task output to ``(level, number of labels)``, for example
            ``{o.name: (o.level, len(o.labels)) for o in task.outputs}``.
        heads: of the encoder, see `Encoder`; ``{"logits": "mlm"}`` loads the masked-language head,
            which is new where the file has none.
        labels: output name to labels in the order of the logits. An output that is not in it takes
            the file's labels in the file's order.
        pooler: whether to have a pooler. None: where a head needs one, or where there is no head
            at all and the file has one.
        attention: whether the encoder returns attention maps.
        fresh_heads: start all classifiers anew, whatever the file has.
        pooling: see `EncoderConfig.classifier_pooling`; None: as ``config.json`` says.
        seed: for new weights and dropout.
        **kwargs: of `Encoder`, such as ``name`` and ``dtype``.

    Raises:
        CheckpointError: no such checkpoint, an unsupported architecture, a classifier with other
            labels, or missing, unexpected or misshapen tensors (of each the first ones listed);
            weights that are not finite; sizes the file cannot fill; or, with heads wanted, a
            classifier that ``config.json`` does not tell of.
    """
    folder = resolve_checkpoint(source)
    content, file_config = read_config(folder)
    config = file_config
    if pooling is not None:
        config = replace(config, classifier_pooling=pooling)
    architecture = architecture_of(content, config)
    known = check_outputs(outputs or {})
    specs = specs_of(check_heads(heads), known, config.vocabulary)
    mlm = any(spec.level == "subword" for spec in specs.values())
    wanted = {key_of(name): spec for name, spec in specs.items() if spec.level != "subword"}
    labels = _checked_labels(known, wanted, labels or {})
    declared = {} if fresh_heads else declared_heads(content, architecture, folder)
    kept = _kept_heads(declared, is_joint(content), wanted, labels, folder)
    with open_tensors(folder) as tensors:
        names = _bare_names(tensors, config, folder)
        check_size(config, tensors, folder)
        if wanted and not fresh_heads:
            check_classifiers(declared, content, config, names, folder)
        own_pooler = "pooler.dense.weight" in names and config.pooled_dim == file_config.pooled_dim
        if pooler is None and not wanted and not mlm:
            pooler = config.has_pooler and own_pooler
        encoder = Encoder(
            config,
            outputs,
            heads,
            pooler=pooler,
            attention=attention,
            seed=seed,
            **kwargs,
        )
        required = base_tensors(encoder)
        orders: dict[str, list[int]] = {}
        for name, order in kept.items():
            classifier = head_tensors(encoder, name, joint=is_joint(content))
            required |= classifier
            orders |= dict.fromkeys(list(classifier)[-2:], order)
        signal_of = encoder.signal_of
        fresh = {signal_of(name): f"head {name}" for name in wanted if name not in kept}
        for name, order in kept.items():
            extra = extra_tensors(encoder, name)
            if not extra.keys() <= names.keys():
                fresh[signal_of(name)] = f"{wanted[name].kind} of head {name}"
                continue
            if extra and order != sorted(order):
                raise CheckpointError(
                    f"head {name!r} in {folder} has its labels in another order, and is no linear "
                    "one, whose rows can be put in order; give the labels as the file has them"
                )
            required |= extra
            check_kind(wanted[name].kind, name, names.keys() - required.keys(), folder)
        pooled_head = any(wanted[name].level == "sequence" for name in kept)
        if pooled_head and config.pooled_dim != file_config.pooled_dim:
            raise CheckpointError(
                f"the classifier in {folder} was trained with pooling: "
                f"{file_config.classifier_pooling}, and {config.classifier_pooling} gives it "
                "something else; leave pooling out, or start the classifier anew (fresh_heads)"
            )
        has_pooler = own_pooler or (pooled_head and encoder.pooler is not None)
        if has_pooler:
            required |= pooler_tensors(encoder)
        if (hashes := hash_tensors(encoder)).keys() & names.keys():
            required |= hashes
        if mlm:
            names = _without_tied(tensors, names, config)
            if (scores := mlm_tensors(encoder)).keys() & names.keys():
                required |= scores
            else:
                signal = next(name for name, spec in specs.items() if spec.level == "subword")
                fresh[signal_of(signal)] = f"masked-language head {signal}"
        check_tensors(required, names, tensors, folder)
        for name, weight in required.items():
            _assign(weight, tensors[names[name]], orders.get(name))
    used = {names[name] for name in required}
    encoder.load_report = LoadReport(
        source=str(source),
        architecture=architecture,
        loaded=tuple(sorted(used)),
        heads=tuple(kept),
        fresh_heads=fresh,
        fresh_pooler=encoder.pooler is not None and not has_pooler,
        ignored=tuple(sorted(set(tensors) - used)),
    )
    _LOG.info("%s", encoder.load_report)
    return encoder


def word_embeddings(source: str | Path) -> np.ndarray:
    """The word table of a checkpoint alone, float32 ``[vocabulary, hidden_dim]``.

    Raises:
        CheckpointError: no such checkpoint, an unsupported architecture, no such tensor, or one
            of another shape or with values that are not finite.
    """
    folder = resolve_checkpoint(source)
    _, config = read_config(folder)
    with open_tensors(folder) as tensors:
        names = _bare_names(tensors, config, folder)
        if WORD_EMBEDDINGS not in names:
            raise CheckpointError(f"{folder} has no tensor {WORD_EMBEDDINGS}")
        shape = tensors.shape(names[WORD_EMBEDDINGS])
        if shape != (config.vocabulary, config.hidden_dim):
            raise CheckpointError(
                f"{folder}: {names[WORD_EMBEDDINGS]} is {list(shape)}, but config.json says "
                f"{[config.vocabulary, config.hidden_dim]}"
            )
        return tensors[names[WORD_EMBEDDINGS]]


def _checked_labels(
    outputs: Mapping[str, HeadSpec],
    wanted: Mapping[str, HeadSpec],
    labels: Mapping[str, Sequence[str]],
) -> dict[str, tuple[str, ...]]:
    """The labels of each wanted head, where there are any."""
    for name, given in labels.items():
        if name not in outputs or len(given) != outputs[name].size:
            raise ValueError(f"{len(given)} labels for output {name!r}, but outputs are {outputs}")
    of_output = {name: name.rpartition("/")[2] for name in wanted}
    return {name: tuple(labels[one]) for name, one in of_output.items() if one in labels}


def _kept_heads(
    declared: Mapping[str, tuple[Level, tuple[str, ...]]],
    joint: bool,
    wanted: Mapping[str, HeadSpec],
    labels: Mapping[str, tuple[str, ...]],
    folder: Path,
) -> dict[str, list[int]]:
    """Wanted heads that the file has: name to the file's row of each label."""
    if declared and not joint:
        # The one head of a class fits the one head of its level, whatever that is called.
        (found,) = declared.values()
        names = [name for name, spec in wanted.items() if spec.level == found[0]]
        declared = {names[0]: found} if len(names) == 1 else {}
    kept = {}
    for name, spec in wanted.items():
        level, theirs = declared.get(name, (None, ()))
        if level != spec.level:
            continue
        ours = labels.get(name, theirs)
        if sorted(ours) != sorted(theirs) or len(ours) != spec.size:
            want = list(labels[name]) if name in labels else f"{spec.size} labels"
            raise CheckpointError(
                f"the classifier in {folder} has the {len(theirs)} labels {list(theirs)}, but "
                f"output {name!r} has {want}; use data with the same labels, or start a new "
                "classifier on this encoder with fresh_heads"
            )
        kept[name] = [theirs.index(label) for label in ours]
    return kept


def _bare_names(tensors: TensorFile, config: EncoderConfig, folder: Path) -> dict[str, str]:
    """Bare name to name in the file."""
    names: dict[str, str] = {}
    for name in tensors:
        bare = bare_name(name, config.family)
        if bare in names:
            raise CheckpointError(f"{folder} has one tensor twice: {names[bare]} and {name}")
        names[bare] = name
    return names


def _without_tied(
    tensors: TensorFile, names: Mapping[str, str], config: EncoderConfig
) -> dict[str, str]:
    """Drop copies of tied tensors, once they are known to be copies."""
    names = dict(names)
    for copy, original in tied_tensors(config.family).items():
        if copy not in names:
            continue
        if original not in names:
            names[original] = names.pop(copy)
        elif not np.array_equal(tensors[names[copy]], tensors[names[original]]):
            raise CheckpointError(
                f"{names[copy]} differs from {names[original]}: only masked-language heads tied "
                "to the word embeddings are supported"
            )
    return names


def _assign(weight: Weight, array: np.ndarray, order: Sequence[int] | None) -> None:
    """Set a weight; ``order`` picks the rows (labels) of a classifier."""
    if order is not None:
        array = array[list(order)]
    weight.variable.assign(array.T if weight.transposed else array)
