"""The weights of a model: into a file, and from one model into another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.files import make_room
from tfdistil.variables import copy_values

_PER_ARRAY = 8192
"""Bytes that HDF5 needs beside the numbers."""


def save_weights(model: Any, path: Path) -> None:
    """Write a model's weights in the format of Keras.

    Args:
        model: a Keras model.
        path: ends in ``.weights.h5``; its folder is there.

    Raises:
        OSError: no space for them.
    """
    make_room(path.parent, sum(4 * int(np.prod(w.shape)) + _PER_ARRAY for w in model.weights))
    model.save_weights(path)


def copy_groups(source: Any, target: Any, names: Mapping[str, str]) -> None:
    """Give layer groups of one model the weights of groups of another.

    Args:
        source: has ``layer_groups``.
        target: the same; groups that ``names`` does not have stay as they are.
        names: group of the target to that of the source, of the same shapes.
    """
    given, own = dict(source.layer_groups()), dict(target.layer_groups())
    for mine, theirs in names.items():
        copy_values(own[mine], given[theirs])
