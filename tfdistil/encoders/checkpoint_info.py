"""What a checkpoint folder says about itself: where it is, its class, its classifiers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfdistil.encoders.config import EncoderConfig
from tfdistil.encoders.heads import Level
from tfdistil.encoders.tensor_names import CLASS_KINDS, CLASS_PREFIXES
from tfdistil.errors import CheckpointError

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_HUB_FILES = ("*.safetensors", "*.json", "*.txt", "*.model")


def resolve_checkpoint(source: str | Path) -> Path:
    """The folder of a checkpoint; a hub id is downloaded (safetensors, config, tokenizer only).

    Raises:
        CheckpointError: neither a folder nor a hub id that can be fetched.
    """
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder
    text = str(source)
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


def read_config(folder: Path) -> dict[str, Any]:
    """The content of ``config.json``.

    Raises:
        CheckpointError: it is missing or not a JSON object.
    """
    path = folder / "config.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"{folder} has no config.json; is it a checkpoint folder?") from error
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path}: expected a JSON object, got {type(content).__name__}")
    return content


def checkpoint_heads(source: str | Path) -> dict[str, tuple[Level, tuple[str, ...]]]:
    """The classifiers a checkpoint says it has: output name to level and labels.

    A `transformers` class has one head, without a name of its own: it is called ``tags`` (word
    level) or ``class`` (sequence level) here.
    """
    folder = resolve_checkpoint(source)
    content = read_config(folder)
    architecture = architecture_of(content, EncoderConfig.from_huggingface(content))
    return declared_heads(content, architecture, folder)


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
            f"architectures {given} is not supported for model_type {config.family}; "
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
        try:
            return {
                name: (head["level"], tuple(head["labels"]))
                for name, head in content["tfdistil"]["heads"].items()
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f'{folder / "config.json"}: "tfdistil" must hold heads with level and labels'
            ) from error
    if architecture.endswith("ForTokenClassification"):
        return {"tags": ("word", _labels(content, folder))}
    if architecture.endswith("ForSequenceClassification"):
        return {"class": ("sequence", _labels(content, folder))}
    return {}


def _labels(content: Mapping[str, Any], folder: Path) -> tuple[str, ...]:
    """Labels by id; without ``id2label`` the names `transformers` makes up."""
    table = content.get("id2label")
    if table is None:
        table = {str(i): f"LABEL_{i}" for i in range(content.get("num_labels", 2))}
    try:
        by_id = {int(key): str(label) for key, label in table.items()}
    except (ValueError, AttributeError) as error:
        raise CheckpointError(
            f"{folder / 'config.json'}: id2label must map whole numbers to labels"
        ) from error
    if sorted(by_id) != list(range(len(by_id))) or len(set(by_id.values())) != len(by_id):
        raise CheckpointError(
            f"{folder / 'config.json'}: id2label must number different labels from 0, got {table}"
        )
    return tuple(by_id[i] for i in range(len(by_id)))
