"""What in a checkpoint cannot be used, or would be lost without a word: each an error."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tfdistil.encoders.checkpoint_info import (
    is_joint,
)
from tfdistil.encoders.config import EncoderConfig
from tfdistil.encoders.tensor_file import TensorFile
from tfdistil.encoders.tensor_names import (
    CLASS_PREFIXES,
    CLASSIFIER,
    IGNORABLE,
    Weight,
)
from tfdistil.errors import CheckpointError
from tfdistil.printable import listed, shown


def check_size(config: EncoderConfig, tensors: TensorFile, folder: Path) -> None:
    """Refuse a configuration the file cannot fill, before any memory is taken for it.

    Up to twice the file's size is left to `check_tensors`, which says which tensors are missing.

    Raises:
        CheckpointError: the sizes say more than twice as many numbers.
    """
    held = sum(math.prod(tensors.shape(name)) for name in tensors)
    if config.weights > 2 * held:
        raise CheckpointError(
            f"{folder / 'config.json'} describes an encoder of {config.weights:,} weights, but the "
            f"tensors beside it hold {held:,} numbers; the two are of different checkpoints, or "
            "one is damaged"
        )


def check_classifiers(
    declared: Mapping[str, Any],
    content: Mapping[str, Any],
    config: EncoderConfig,
    names: Mapping[str, str],
    folder: Path,
) -> None:
    """Refuse to drop a classifier that ``config.json`` says nothing about.

    Raises:
        CheckpointError: there is one.
    """
    known = tuple(f"heads.{name}." if is_joint(content) else "" for name in declared)
    unknown = sorted(
        given
        for bare, given in names.items()
        if CLASSIFIER.match(bare) and not bare.startswith(known)
    )
    if unknown:
        raise CheckpointError(
            f"{folder} has a classifier ({listed(unknown)}), but its config.json does not say "
            f"what it classifies: architectures is {shown(content.get('architectures'))}. Name its "
            f"class, such as {CLASS_PREFIXES[config.family]}ForTokenClassification, and its labels "
            "(id2label) there, or start a new classifier with fresh_heads"
        )


def check_kind(kind: str, head: str, others: Collection[str], folder: Path) -> None:
    """Refuse a head that would leave weights of its own in the file.

    Raises:
        CheckpointError: there are such weights.
    """
    if left := sorted(name for name in others if name.startswith(f"heads.{head}.")):
        raise CheckpointError(
            f"{folder} has {', '.join(left)}, which a {kind} head has no use for; give the head "
            "the kind that it was saved with, such as heads: {logits: crf}, or start a new "
            "classifier with fresh_heads"
        )


def check_tensors(
    required: Mapping[str, Weight], names: Mapping[str, str], tensors: TensorFile, folder: Path
) -> None:
    """Raise for everything that is missing, unexpected or misshapen, all in one message.

    Raises:
        CheckpointError: of all kinds the first ones, by name.
    """
    problems = []
    missing = sorted(name for name in required if name not in names)
    if missing:
        problems.append(f"missing: {listed(missing)}")
    unexpected = sorted(
        given
        for bare, given in names.items()
        if bare not in required and not IGNORABLE.fullmatch(bare)
    )
    if unexpected:
        problems.append(f"unexpected: {listed(unexpected)}")
    if any(name.startswith("hashed_words.") for name in unexpected):
        problems.append("this checkpoint reads hashes of words: give its hashed_dim and hashing")
    shapes = [
        f"{names[name]} is {list(tensors.shape(names[name]))}, expected {list(weight.shape)}"
        for name, weight in sorted(required.items())
        if name in names and tensors.shape(names[name]) != weight.shape
    ]
    if shapes:
        problems.append(f"other shapes than config.json says: {listed(shapes)}")
    if problems:
        raise CheckpointError(f"the tensors in {folder} do not fit: " + ". ".join(problems))
