"""What a checkpoint folder says about itself: where it is, its class, its classifiers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfdistil.encoders.config import EncoderConfig
from tfdistil.encoders.tensor_names import CLASS_KINDS, CLASS_PREFIXES
from tfdistil.errors import CheckpointError
from tfdistil.heads.spec import Level
from tfdistil.printable import shown
from tfdistil.text.checkpoint_files import read_json

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_MOST_LABELS = 100_000
_HUB_FILES = ("*.safetensors", "*.json", "*.txt", "*.model", "*.spm")


def resolve_checkpoint(source: str | Path) -> Path:
    """The folder of a checkpoint; a hub id is downloaded (safetensors, config, tokenizer only).

    Raises:
        CheckpointError: neither a folder nor a hub id that can be fetched.
    """
    text = str(source)
    try:
        folder = Path(source).expanduser()
        if folder.is_dir():
            return folder
    except (OSError, RuntimeError) as error:  # too long a name, no such user
        raise CheckpointError(f"there is no folder {text}: {error}") from None
    if isinstance(source, Path) or not _HUB_ID.fullmatch(text):
        raise CheckpointError(f"there is no folder {text}")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        return Path(snapshot_download(text, allow_patterns=list(_HUB_FILES)))
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise CheckpointError(
            f"{text} is no folder here and could not be fetched as a hub id: {reason}"
        ) from error


def read_config(folder: Path) -> tuple[dict[str, Any], EncoderConfig]:
    """The content of ``config.json``, and the encoder it describes.

    Raises:
        CheckpointError: it is missing, not a JSON object, or describes no encoder that is
            supported.
    """
    path = folder / "config.json"
    if not path.exists():
        raise CheckpointError(f"{folder} has no config.json; is it a checkpoint folder?")
    content = read_json(path)
    try:
        return content, EncoderConfig.from_huggingface(content)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from None


def checkpoint_heads(source: str | Path) -> dict[str, tuple[Level, tuple[str, ...]]]:
    """The classifiers a checkpoint says it has: output name to level and labels.

    A `transformers` class has one head, without a name of its own: it is called ``tags`` (word
    level) or ``class`` (sequence level) here.
    """
    folder = resolve_checkpoint(source)
    content, config = read_config(folder)
    return declared_heads(content, architecture_of(content, config), folder)


def architecture_of(content: Mapping[str, Any], config: EncoderConfig) -> str:
    """The class the checkpoint was saved from; the base model where it does not say.

    Raises:
        CheckpointError: a class we do not read (the message lists those we do).
    """
    prefix = CLASS_PREFIXES[config.family]
    supported = [prefix + kind for kind in CLASS_KINDS]
    given = content.get("architectures") or [f"{prefix}Model"]
    if not isinstance(given, list) or len(given) != 1 or given[0] not in supported:
        raise CheckpointError(
            f"architectures {shown(given)} is not supported for model_type {config.family}; "
            f"supported: {', '.join(supported)}"
        )
    return given[0]


def is_joint(content: Mapping[str, Any]) -> bool:
    """Whether the file has several heads, which no class of `transformers` has."""
    return "tfdistil" in content


def declared_heads(
    content: Mapping[str, Any], architecture: str, folder: Path
) -> dict[str, tuple[Level, tuple[str, ...]]]:
    """The classifiers of a ``config.json``, see `checkpoint_heads`.

    Raises:
        CheckpointError: labels that are not written as they should be.
    """
    if is_joint(content):
        return _joint_heads(content["tfdistil"], folder / "config.json")
    if architecture.endswith("ForTokenClassification"):
        return {"tags": ("word", _labels(content, folder))}
    if architecture.endswith("ForSequenceClassification"):
        return {"class": ("sequence", _labels(content, folder))}
    return {}


def _joint_heads(written: Any, path: Path) -> dict[str, tuple[Level, tuple[str, ...]]]:
    heads = written.get("heads") if isinstance(written, dict) else None
    if not isinstance(heads, dict) or not all(map(_is_head, heads.values())):
        raise CheckpointError(
            f'{path}: "tfdistil" must hold heads, each with a level (word or sequence) and a list '
            f"of different labels; got {shown(written)}"
        )
    return {name: (head["level"], tuple(head["labels"])) for name, head in heads.items()}


def _is_head(head: Any) -> bool:
    if not isinstance(head, dict) or head.get("level") not in ("word", "sequence"):
        return False
    labels = head.get("labels")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        return False
    return 0 < len(labels) == len(set(labels))


def _labels(content: Mapping[str, Any], folder: Path) -> tuple[str, ...]:
    """Labels by id; without ``id2label`` the names `transformers` makes up."""
    path = folder / "config.json"
    table = content.get("id2label")
    if table is None:
        count = content.get("num_labels", 2)
        if not isinstance(count, int) or not 0 < count <= _MOST_LABELS:
            raise CheckpointError(
                f"{path}: num_labels must be a whole number from 1 to {_MOST_LABELS}, got "
                f"{shown(count)}"
            )
        return tuple(f"LABEL_{i}" for i in range(count))
    try:
        by_id = {int(key): label for key, label in table.items()}
    except (ValueError, AttributeError):
        by_id = {}
    texts = all(isinstance(label, str | int) for label in by_id.values())
    if not by_id or not texts:
        raise CheckpointError(
            f"{path}: id2label must map whole numbers to labels, such as "
            f'{{"0": "O", "1": "B-PER"}}; got {shown(table)}'
        )
    labels = [str(by_id[i]) for i in sorted(by_id)]
    if sorted(by_id) != list(range(len(table))) or len(set(labels)) != len(labels):
        raise CheckpointError(
            f"{path}: id2label must number different labels from 0, got {shown(table)}"
        )
    return tuple(labels)
