"""A model as a run knows it, and its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tfdistil.distill.weights import save_weights
from tfdistil.encoders import load_encoder, save_encoder
from tfdistil.files import read_json, write_json
from tfdistil.heads.kinds import Mean
from tfdistil.models.mean import MeanOfModels
from tfdistil.students import build_student
from tfdistil.tasks import Task, task_from_json
from tfdistil.text.featurizer import Featurizer
from tfdistil.text.hashed_subwords import PROJECTION, HashedSubwordFeaturizer
from tfdistil.text.registry import featurizer_from_assets

ENCODER = "encoder"
"""The kind of a model that is a BERT-family encoder."""
MEAN = "mean"
"""The kind of one that is the mean of others; any other kind is a registered student."""
WEIGHTS = "model.weights.h5"
_ENCODER_ARGUMENTS = (
    "attention",
    "embedding_dropout",
    "head_dropout",
    "hashed_dim",
    "features",
    "ternary_map",
)
"""Of an encoder's constructor, which ``config.json`` does not have."""


@dataclass(frozen=True)
class ModelRecord:
    """A model, what feeds it, and how it is built again.

    Attributes:
        model: gives signals, see `tfdistil.distill.forward.SignalModel`.
        featurizer: makes its inputs.
        arguments: plain data with its ``kind``: of a student, what its constructor takes; of a mean
            the names of its members; of an encoder nothing more, its ``config.json`` and the model
            itself say the rest.
        facts: counts worth reporting, such as the pieces of its vocabulary.
    """

    model: Any
    featurizer: Featurizer
    arguments: dict[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def is_encoder(self) -> bool:
        """Whether it is an encoder, of which checkpoints are made."""
        return self.arguments["kind"] == ENCODER


def outputs_of(task: Task) -> dict[str, tuple[Any, int]]:
    """Output name to its level and its number of labels."""
    return {output.name: (output.level, len(output.labels)) for output in task.outputs}


def labels_of(task: Task) -> dict[str, tuple[str, ...]]:
    """Output name to its labels in the order of the logits."""
    return {output.name: output.labels for output in task.outputs}


def save_model(record: ModelRecord, task: Task, folder: Path) -> None:
    """Write a model into a folder that needs nothing else to be loaded, but for those of a mean.

    ``model.json``, ``task.json`` and ``featurizer.json``; of an encoder a Hugging Face folder with
    its tokenizer, of a student ``model.weights.h5`` and the files of its featurizer. A mean has no
    weights of its own: the folders of its members lie beside its own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in record.featurizer.to_assets().items():
        (folder / name).write_bytes(data)
    if record.is_encoder:
        save_checkpoint(record, task, folder)
    elif record.arguments["kind"] != MEAN:
        save_weights(record.model, folder / WEIGHTS)
    # The order of heads and outputs is that of their weights, and JSON files have sorted keys here.
    arguments = record.arguments | {"heads": list(record.model.head_kinds.items())}
    if record.is_encoder:
        arguments |= encoder_arguments(record.model)
    if "outputs" in arguments:
        arguments["outputs"] = [[name, *spec] for name, spec in arguments["outputs"].items()]
    write_json(folder / "model.json", arguments)
    write_json(folder / "featurizer.json", record.featurizer.to_json())
    write_json(folder / "task.json", task.to_json())


def encoder_arguments(model: Any) -> dict[str, Any]:
    """What `load_encoder` has to be told of an encoder, beside its outputs and heads."""
    return {name: getattr(model, name) for name in _ENCODER_ARGUMENTS}


def save_checkpoint(record: ModelRecord, task: Task, folder: Path) -> None:
    """Write an encoder with its tokenizer as a Hugging Face folder, and what its hashes are of."""
    featurizer: Any = record.featurizer  # of word pieces, as every encoder's
    pieces = featurizer.subwords
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(featurizer, HashedSubwordFeaturizer):
        (folder / PROJECTION).write_bytes(featurizer.spec.to_bytes())
    save_encoder(
        record.model,
        folder,
        labels=labels_of(task),
        tokenizer=pieces.tokenizer,
        names=pieces.special_names(),
    )


def load_model(folder: Path, seed: int | None = None) -> ModelRecord:
    """Read what `save_model` wrote.

    Args:
        folder: of the model.
        seed: of an encoder's dropout; a student has its own.
    """
    arguments = read_json(folder / "model.json")
    heads = dict(arguments["heads"])
    if arguments["kind"] == MEAN:
        names = arguments["members"]
        members = {name: load_model(folder.parent / name, seed) for name in names}
        return mean_of(members, arguments.get("mean", "arithmetic"))
    if arguments["kind"] == ENCODER:
        task = load_task(folder)
        model = load_encoder(
            folder,
            outputs_of(task),
            heads=heads,
            labels=labels_of(task),
            seed=seed,
            **{name: arguments[name] for name in _ENCODER_ARGUMENTS},
        )
        arguments = {"kind": ENCODER}
    else:
        outputs = arguments["outputs"]
        arguments["outputs"] = {name: (level, size) for name, level, size in outputs}
        arguments["heads"] = heads
        model = build_student(**arguments)
        model.load_weights(folder / WEIGHTS)
    assets = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    featurizer = featurizer_from_assets(read_json(folder / "featurizer.json"), assets)
    return ModelRecord(model, featurizer, arguments)


def mean_of(members: Mapping[str, ModelRecord], mean: Mean = "arithmetic") -> ModelRecord:
    """Several models as one, see `tfdistil.models.mean.MeanOfModels`.

    Args:
        members: by name; the first one's featurizer feeds all.
        mean: of the distributions of linear heads.

    Raises:
        ValueError: models that read other pieces than the first, or score in another way.
    """
    first, *others = members.items()
    assets = first[1].featurizer.to_assets(), first[1].featurizer.to_json()
    for name, record in others:
        if (record.featurizer.to_assets(), record.featurizer.to_json()) != assets:
            raise ValueError(
                f"{name!r} reads other pieces than {first[0]!r}, or windows of another length; "
                "models of one tokenizer and max_length have a mean"
            )
    model = MeanOfModels({name: record.model for name, record in members.items()}, mean)
    arguments = {"kind": MEAN, "members": [*members], "mean": mean}
    return ModelRecord(model, first[1].featurizer, arguments)


def load_task(folder: Path) -> Task:
    """The task as a saved model has learnt it."""
    return task_from_json(read_json(folder / "task.json"))


def copy_of(record: ModelRecord) -> ModelRecord:
    """The same model with weights of its own."""
    if record.is_encoder:
        model = type(record.model).from_config(record.model.get_config())
    else:
        model = build_student(**record.arguments)
    model.set_weights(record.model.get_weights())
    return replace(record, model=model)
