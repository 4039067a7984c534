"""Several models as one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import keras
import numpy as np

from tfdistil.heads.kinds import HEADS, Mean, log_mean
from tfdistil.heads.model import HeadedModel
from tfdistil.heads.spec import HeadSpec
from tfdistil.printable import listed


class MeanOfModels(HeadedModel):
    """The mean of what several models say, output by output; all count the same.

    Of linear heads it is the mean of the distributions over labels: the arithmetic one as
    log-probabilities, ``log (1/M) sum_m softmax(z_m)``, whose softmax is the mean of the members',
    or the geometric one as the mean of scores. Of CRFs it is the mean of emissions and of
    potentials, again a CRF: see `tfdistil.heads.crf.MeanOfCrfs`. It has no weights of its own and
    is not trained.

    Args:
        members: by name; all with the same outputs and heads. The first one's word vectors and
            sizes stand for all, where a student begins with them.
        mean: of the distributions of linear heads.

    Raises:
        ValueError: heads that are not those of the first, or of a kind that has no mean.

    Signals of `call`: ``<head>/<output>``, float32, ``[B, T, size]`` at word level, ``[B, size]``
    at sequence level, and what the heads give beside them: ``<head>/<output>/potentials``.
    """

    def __init__(
        self, members: Mapping[str, HeadedModel], mean: Mean = "arithmetic", **kwargs: Any
    ):
        (name, first), *others = members.items()
        for other, model in others:
            if model.head_specs != first.head_specs:
                raise ValueError(
                    f"{other!r} scores {_told(model, first)}, but {name!r} scores "
                    f"{_told(first, model)}; a mean is of models with the same heads"
                )
        means = {}
        for signal, spec in first.head_specs.items():
            heads = [model.heads[signal] for model in members.values()]
            if (found := HEADS[spec.kind].mean_of(heads, mean)) is None:
                raise ValueError(
                    f"{name!r} scores {_told(first, first)}; a mean is of distributions over "
                    "single labels, which linear heads give, or over label paths, which CRFs give"
                )
            means[signal] = found
        outputs = {name: (spec.level, spec.size) for name, spec in first.outputs_spec.items()}
        made = {signal: found.head for signal, found in means.items()}
        super().__init__(outputs, first.head_kinds, made=made, **kwargs)
        self.members, self.mean = list(members.values()), mean
        self.head_layers = first.head_layers
        self.mean_scores = {signal: found.scores for signal, found in means.items()}
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

    def count_params(self) -> int:
        """Scalars of the members, those that several have alike counted once.

        A table of word pieces that begins with the teacher's and is not trained is one: in the file
        it is there once.
        """
        seen: set[tuple[tuple[int, ...], bytes]] = set()
        count = 0
        for model in self.members:
            own = [_identity(variable) for variable in model.weights]
            count += sum(math.prod(one[0]) for one in own if one not in seen)
            seen.update(own)
        return count

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        """Those of the members."""
        return self.members[0].input_specs(length, batch)

    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """A group for each member."""
        return [(f"member_{n}", model.weights) for n, model in enumerate(self.members)]

    def unfit_for_int8(self, head: str) -> str | None:
        """The logarithms of arithmetic means."""
        outputs = self.outputs_of(head)
        found = [one for one in outputs if self.mean_scores[f"{head}/{one}"] is log_mean]
        if not found:
            return None
        return (
            f"an arithmetic mean of {listed(found)}, whose logarithms int8 cannot hold; set "
            "mean: geometric, or export.quantize: dynamic"
        )

    def call(self, inputs: Mapping[str, Any], training: bool | None = None) -> dict[str, Any]:
        """The signals, see the class; inputs are those of the members."""
        return self._signals(inputs, training)

    def _signals(
        self, inputs: Mapping[str, Any], training: bool | None, exporting: bool = False
    ) -> dict[str, Any]:
        found = [model._signals(inputs, training, exporting) for model in self.members]
        scores = {
            signal: mean([one[signal] for one in found])
            for signal, mean in self.mean_scores.items()
        }
        return self._with_heads(scores, inputs)


def _identity(variable: keras.Variable) -> tuple[tuple[int, ...], bytes]:
    return tuple(variable.shape), sha256(np.asarray(variable).tobytes()).digest()


def _told(model: HeadedModel, other: HeadedModel) -> str:
    """What a model scores, with the options of its heads that are not the other one's."""
    return ", ".join(
        f"{signal} ({spec.kind}, {spec.size}{_options(spec, other.head_specs.get(signal))})"
        for signal, spec in model.head_specs.items()
    )


def _options(spec: HeadSpec, other: HeadSpec | None) -> str:
    if other is None or other.kind != spec.kind:
        return ""
    own = (item for item in spec.options.items() if item not in other.options.items())
    return "".join(f", {key}: {value}" for key, value in own)
