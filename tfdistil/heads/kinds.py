"""Kinds of heads: what is made of the scores that a model has for an output.

A new kind is one class under `head_kind`. How its scores become labels is a decoder of the same
name in `tfdistil.tasks.decoders`, which the file for the device names, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import keras
import numpy as np
from keras import ops

from tfdistil.heads.derivation import Derivation
from tfdistil.heads.spec import HeadKinds, HeadSpec
from tfdistil.options import wrong_call
from tfdistil.printable import listed
from tfdistil.registry import entering

Mean = Literal["arithmetic", "geometric"]
"""Of the distributions of several models."""


class Head(keras.layers.Layer):
    """What is made of the scores of one output.

    The scores are those of the model's own layer (`HeadedModel.head_layers`); they are a signal
    and what the exported graph returns. A head adds signals, the weights these need, and the
    constants that its decoder needs. All weights exist once it is constructed.

    Args:
        size: scores in a row.
        name: of the layer.

    Further arguments of a subclass are the options of its kind.

    Attributes:
        levels: of the outputs that it is for; a task's other outputs have a linear head.
        extra: signals beside the scores, each with its level (see
            `tfdistil.distill.forward.SignalModel`). ``potentials`` of the head ``labels`` and the
            output ``tags`` is the signal ``labels/tags/potentials``.
        loss: the objective that learns from gold labels, for models that are trained without stages
            in the recipe: fine-tuning and baselines.
        derived: beginnings of the names of signals that `derivation` knows, as `extra` has them.
        reads_labels: whether it has the option ``labels``, the names of what it scores.
    """

    levels: ClassVar[frozenset[str]] = frozenset({"word", "sequence"})
    extra: ClassVar[Mapping[str, str]] = {}
    loss: ClassVar[str] = "cross_entropy"
    reads_labels: ClassVar[bool] = False
    derived: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, size: int, name: str):
        super().__init__(name=name, dtype="float32")
        self.size = size

    @classmethod
    def outputs(
        cls, outputs: Mapping[str, HeadSpec], vocabulary: int | None
    ) -> Mapping[str, HeadSpec]:
        """What a head of this kind scores.

        Args:
            outputs: the task's.
            vocabulary: pieces that the model can score; None: it does not score pieces.
        """
        del vocabulary
        return outputs

    def signals(self, scores: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The signals of `extra`, in that order.

        Args:
            scores: float32 ``[B, T, size]`` or ``[B, size]``.
            inputs: of the model. While training they have ``tokens`` and ``token_mask``, int
                ``[B, U]``: the positions of the scored pieces. What a device feeds has not, and a
                signal that needs them is left out.
        """
        del scores, inputs
        return {}

    def derivation(self, signal: str, names: Sequence[str]) -> Derivation | None:
        """How signals of whole texts are made of the scores and of `extra`.

        Args:
            signal: of the scores.
            names: those that are asked for, of this head or not.

        Returns:
            What gives those of the names that are this head's; None where there are none.
        """
        del signal, names
        return None

    def unlike(self, teacher: Head) -> str | None:
        """Why this head cannot learn from that of a teacher; None where it can."""
        del teacher
        return None

    def constants(self) -> dict[str, np.ndarray]:
        """What the decoder needs beside the scores, by the names of its arguments."""
        return {}

    def path_finder(self) -> PathFinder | None:
        """Decoding as a part of the exported graph, with the weights as they are now.

        None: the graph returns scores, and whoever runs it decodes them.
        """
        return None

    @classmethod
    def mean_of(cls, heads: Sequence[Any], mean: Mean) -> MeanHead | None:
        """What stands for several heads in the mean of their models.

        Args:
            heads: of this kind and with the same options, one of each model.
            mean: of their distributions, where a kind has both.

        Returns:
            None: heads of this kind have no mean.
        """
        del heads, mean
        return None


class MeanHead(NamedTuple):
    """What several heads of one output are together.

    Attributes:
        head: without weights of its own: what it is made of are theirs.
        scores: the scores that it reads of theirs, all ``[B, T, size]`` or ``[B, size]``.
    """

    head: Head
    scores: Callable[[Sequence[Any]], Any]


HEADS: dict[str, type[Head]] = {}
"""By the name that ``heads`` has in a recipe."""


def head_kind(name: str) -> Callable[[type[Head]], type[Head]]:
    """Register a class of heads.

    Raises:
        ValueError: there is a kind of that name.
    """
    return entering(HEADS, name)


PathFinder = Callable[[Any, Any], Any]
"""Scores float32 ``[B, T, size]`` and the mask of words int32 ``[B, T]``, both of known size, to
label ids int32 ``[B, T]``, `tfdistil.crf.constraints.NO_TAG` where there is no word. The ids are
those that the decoder of the head's kind finds."""


@head_kind("linear")
class LinearHead(Head):
    """Scores alone: each word or text has the label with the highest one."""

    @classmethod
    def mean_of(cls, heads: Sequence[Any], mean: Mean) -> MeanHead:
        """The arithmetic mean of the distributions, as log-probabilities, or the mean of scores."""
        of = log_mean if mean == "arithmetic" else mean_scores
        return MeanHead(cls(heads[0].size, heads[0].name), of)


def log_mean(scores: Sequence[Any]) -> Any:
    """``log (1/M) sum_m softmax(z_m)``, float32 of the shape of one.

    In logarithms throughout, so that what all are sure against stays finite.

    Args:
        scores: z_m, float ``[..., size]``.
    """
    each = [ops.log_softmax(ops.cast(one, "float32"), axis=-1) for one in scores]
    return ops.logsumexp(ops.stack(each), axis=0) - math.log(len(each))


def mean_scores(scores: Sequence[Any]) -> Any:
    """``(1/M) sum_m z_m``, float32 of the shape of one.

    Its softmax is the geometric mean of the members', normalized.

    Args:
        scores: z_m, float ``[..., size]``.
    """
    return ops.mean(ops.stack([ops.cast(one, "float32") for one in scores]), axis=0)


@head_kind("mlm")
class MaskedLanguageHead(Head):
    """Scores of every piece over the vocabulary, whatever the task: the output ``mlm``."""

    levels = frozenset({"subword"})

    @classmethod
    def outputs(
        cls, outputs: Mapping[str, HeadSpec], vocabulary: int | None
    ) -> Mapping[str, HeadSpec]:
        """``mlm``, of the size of the vocabulary.

        Raises:
            ValueError: a model that does not score pieces.
        """
        del outputs
        if vocabulary is None:
            raise ValueError("a head of the kind 'mlm' scores pieces, which only an encoder does")
        return {"mlm": HeadSpec("subword", vocabulary)}


def who_gives(signal: str, specs: Mapping[str, HeadSpec]) -> str:
    """What to do about a signal of a head that a model does not give; empty if it is of no head.

    Args:
        signal: ``<head>/<output>/<name>``, with anything after it.
        specs: of the model's heads.
    """
    head, output, name = [*signal.split("/", 2), "", ""][:3]
    for kind, made in HEADS.items():
        if name.split("/")[0] in {*made.extra, *made.derived}:
            there = specs.get(f"{head}/{output}")
            if there is not None and there.level not in made.levels:
                return (
                    f"; a {kind} is for labels of {listed(made.levels)}s: give the term an output"
                )
            return f"; heads: {{{head}: {kind}}} gives it"
    return ""


def specs_of(
    heads: HeadKinds, outputs: Mapping[str, HeadSpec], vocabulary: int | None
) -> dict[str, HeadSpec]:
    """The signals of all heads, ``<head>/<output>``, with what each is for.

    Args:
        heads: as `tfdistil.heads.spec.check_heads` gives them.
        outputs: the task's.
        vocabulary: pieces that the model can score; None: it does not score pieces.

    Raises:
        ValueError: an unknown kind, options that it does not have, or a model that it does not fit.
    """
    found = {}
    makers = {name: kind.__init__ for name, kind in HEADS.items()}
    for name, given in heads.items():
        options = {key: value for key, value in given.items() if key != "kind"}
        kind = given.get("kind", "linear")
        if (wrong := wrong_call(makers, "kind of head", kind, options, given=3)) is not None:
            raise ValueError(f"head {name!r}: {wrong}")
        scored, levels = HEADS[kind].outputs(outputs, vocabulary), HEADS[kind].levels
        if scored and not any(spec.level in levels for spec in scored.values()):
            raise ValueError(f"head {name!r}: a {kind} head is for labels of {listed(levels)}s")
        for output, spec in scored.items():
            fits = spec.level in levels
            found[f"{name}/{output}"] = spec._replace(kind=kind, options=options) if fits else spec
    return found


def make_heads(specs: Mapping[str, HeadSpec]) -> dict[str, Head]:
    """A head for each signal of `specs_of`."""
    return {
        signal: HEADS[spec.kind](spec.size, f"{signal.replace('/', '_')}_head", **spec.options)
        for signal, spec in specs.items()
    }
