"""Computing in bfloat16 while a student trains: mixed precision, without another model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import keras
from keras import ops

from tfdistil.errors import RecipeError
from tfdistil.printable import listed
from tfdistil.recipe.schema.stages import Precision


def check_precision(precision: Precision, student: Any, place: str) -> None:
    """Make sure that a student trains in a precision.

    Args:
        precision: what it is to compute in.
        student: says what it can compute in (`HeadedModel.precisions`); one that does not, float32.
        place: of the precision in the recipe.

    Raises:
        RecipeError: it does not.
    """
    known = getattr(student, "precisions", ("float32",))
    if precision not in known:
        raise RecipeError(f"{place}: {precision}: this model trains in {listed(known)}")


@contextmanager
def computing_in(model: keras.Model, precision: Precision) -> Iterator[None]:
    """Inside, a model's layers compute in a precision; their weights stay float32.

    It counts while a graph is traced: a training step that is traced inside computes so ever after,
    and the model's other graphs, of scores and of exports, do not. Layers that were given a
    precision of their own (heads and potentials in float32, say) keep it.

    Args:
        model: its layers share its policy object, as Keras layers do that are made with
            ``dtype=self.dtype_policy``.
        precision: ``bfloat16`` has the exponents of float32, so the loss needs no scaling, and half
            the bytes.
    """
    if precision == "float32":
        yield
        return
    own = model.dtype_policy
    layers = [layer for layer in model._flatten_layers() if layer.dtype_policy is own]
    for layer in layers:
        layer.dtype_policy = keras.DTypePolicy(f"mixed_{precision}")
    try:
        yield
    finally:
        for layer in layers:
            layer.dtype_policy = own


def in_float32(signals: Mapping[str, Any]) -> dict[str, Any]:
    """Signals for losses, which are float32: those in another floating type are cast."""
    return {
        name: ops.cast(value, "float32") if keras.backend.is_float_dtype(value.dtype) else value
        for name, value in signals.items()
    }
