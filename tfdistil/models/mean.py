"""Several models as one teacher."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from tfdistil.heads.model import HeadedModel


class MeanOfModels(HeadedModel):
    """The mean of the distributions that several models give, as log-probabilities.

    ``log (1/M) sum_m softmax(z_m)`` for each output: its softmax is the mean of the members'. It
    has no weights of its own and is not trained.

    Args:
        members: by name; all with the same outputs and linear heads. The first one's word vectors
            and sizes stand for all, where a student begins with them.

    Raises:
        ValueError: heads that are not linear, or not those of the first.

    Signals of `call`: ``<head>/<output>``, float32, ``[B, T, size]`` at word level, ``[B, size]``
    at sequence level.
    """

    def __init__(self, members: Mapping[str, HeadedModel], **kwargs: Any):
        (name, first), *others = members.items()
        for other, model in others:
            if model.head_specs != first.head_specs:
                raise ValueError(
                    f"{other!r} scores {_told(model)}, but {name!r} scores {_told(first)}; a mean "
                    "is of models with the same heads"
                )
        if any(spec.kind != "linear" for spec in first.head_specs.values()):
            raise ValueError(
                f"{name!r} scores {_told(first)}; a mean is of distributions over single labels, "
                "which linear heads give"
            )
        outputs = {name: (spec.level, spec.size) for name, spec in first.outputs_spec.items()}
        super().__init__(outputs, first.head_kinds, **kwargs)
        self.members = list(members.values())
        self.head_layers = first.head_layers
        self.built = True

    @property
    def config(self) -> Any:
        """Of the first member."""
        return self.members[0].config

    @property
    def word_embeddings(self) -> keras.Variable:
        """The word table of the first member."""
        return self.members[0].word_embeddings

    def body_levels(self) -> dict[str, str]:
        """Nothing: below the heads the members have nothing in common."""
        return {}

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        """Those of the members."""
        return self.members[0].input_specs(length, batch)

    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """A group for each member."""
        return [(f"member_{n}", model.weights) for n, model in enumerate(self.members)]

    def call(self, inputs: Mapping[str, Any], training: bool | None = None) -> dict[str, Any]:
        """The signals, see the class; inputs are those of the members."""
        return self._signals(inputs, training)

    def _signals(
        self, inputs: Mapping[str, Any], training: bool | None, exporting: bool = False
    ) -> dict[str, Any]:
        found = [model._signals(inputs, training, exporting) for model in self.members]
        return {signal: _mean([one[signal] for one in found]) for signal in self.head_specs}


def _mean(logits: list[Any]) -> Any:
    """In logarithms throughout, so that what all are sure against stays finite."""
    each = [ops.log_softmax(ops.cast(one, "float32"), axis=-1) for one in logits]
    return ops.logsumexp(ops.stack(each), axis=0) - math.log(len(each))


def _told(model: HeadedModel) -> str:
    return ", ".join(
        f"{signal} ({spec.kind}, {spec.size})" for signal, spec in model.head_specs.items()
    )
