"""Values from variables to variables, on any backend of Keras."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keras import ops


def copy_values(to: Iterable[Any], of: Iterable[Any]) -> None:
    """Give variables the values of others of the same shapes, in memory of their own.

    On JAX ``to.assign(of)`` would make both the same array, and a training step on either, which
    gives its arrays' memory away for the new values, would leave the other without any.
    """
    for variable, value in zip(to, of, strict=True):
        variable.assign(ops.convert_to_numpy(value).copy())
