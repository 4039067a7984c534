"""The weights of a model in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.files import make_room

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
