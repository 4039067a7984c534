"""What every model with heads has in common, students and encoders: signals, levels, export."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from tfdistil.heads.derivation import Derivation
from tfdistil.heads.kinds import Head, PathFinder, make_heads, specs_of
from tfdistil.heads.spec import Level, check_heads, check_outputs

_ROWS = {"word": "subword", "subword": "subword", "sequence": "sequence"}
"""The level of a signal with the scores of an output at this level."""


class HeadedModel(keras.Model):
    """A body with heads on top of it.

    A subclass makes its body and ``head_layers`` (signal to the layer that scores it), and defines
    `body_levels`, `layer_groups`, `input_specs` and `_signals`, which ends with `_with_heads`.

    Args:
        outputs: task output to ``(level, size)``, such as ``{"tags": ("word", 9)}``.
        heads: their names, or each name with its kind, see `tfdistil.heads.spec.check_heads`. Each
            has a signal ``<head>/<output>`` for every output, and those of its kind.
        vocabulary: pieces that the model can score at every piece; None: it does not score pieces.
        made: what is made of the scores, by signal; None: new ones of the kinds of ``heads``.

    Raises:
        ValueError: outputs and heads that do not fit together, or not this kind of model.

    Attributes:
        head_specs: signal to what it scores.
        heads: signal to what is made of its scores, a `tfdistil.heads.kinds.Head`.
        precisions: what it can compute in while it trains, see `tfdistil.distill.precision`.
    """

    head_layers: Mapping[str, Any]
    precisions: tuple[str, ...] = ("float32", "bfloat16")

    def __init__(
        self,
        outputs: Mapping[str, tuple[Level, int]],
        heads: Sequence[str] | Mapping[str, str | Mapping[str, Any]],
        vocabulary: int | None = None,
        made: Mapping[str, Head] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.outputs_spec = check_outputs(outputs)
        self.head_kinds = check_heads(heads)
        self.head_specs = specs_of(self.head_kinds, self.outputs_spec, vocabulary)
        self.heads = make_heads(self.head_specs) if made is None else dict(made)

    @property
    def head_names(self) -> tuple[str, ...]:
        """The names of the heads."""
        return tuple(self.head_kinds)

    def body_levels(self) -> dict[str, str]:
        """The signals below the heads, in the order of `call`, each with its level."""
        raise NotImplementedError

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        """What a device feeds, by name."""
        raise NotImplementedError

    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """Groups of weights, top to bottom; every weight is in exactly one."""
        raise NotImplementedError

    def rate_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """Parts of layer groups that may learn at a rate of their own.

        They are the weights that heads have beside the scores, by the kind of head: ``crf`` for the
        potentials.
        """
        found: dict[str, list[keras.Variable]] = {}
        for signal, spec in self.head_specs.items():
            if weights := self.heads[signal].weights:
                found.setdefault(spec.kind, []).extend(weights)
        return list(found.items())

    def _signals(
        self, inputs: Mapping[str, Any], training: bool | None, exporting: bool = False
    ) -> dict[str, Any]:
        """All signals; ``exporting`` says that this is the graph for the converter."""
        raise NotImplementedError

    def _with_heads(self, scores: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Scores by signal, each with what its head makes of them."""
        found = {}
        for signal, values in scores.items():
            found[signal] = values
            for name, extra in self.heads[signal].signals(values, inputs).items():
                found[f"{signal}/{name}"] = extra
        return found

    def _head_weights(self) -> list[keras.Variable]:
        layers = [*self.head_layers.values(), *self.heads.values()]
        return [weight for layer in layers for weight in layer.weights]

    def _levels(self) -> dict[str, str]:
        levels = self.body_levels()
        for signal, spec in self.head_specs.items():
            levels[signal] = _ROWS[spec.level]
            for name, level in self.heads[signal].extra.items():
                levels[f"{signal}/{name}"] = level
        return levels

    def signals(self) -> tuple[str, ...]:
        """The names `call` returns, in order."""
        return tuple(self._levels())

    def level(self, signal: str) -> str:
        """What a signal has rows for, see `tfdistil.distill.forward.SignalModel`.

        Raises:
            KeyError: the model has no such signal.
        """
        levels = self._levels()
        if signal in levels:
            return levels[signal]
        if self.derivations([signal]):
            return "derived"
        raise KeyError(f"no signal {signal!r}; this model gives {', '.join(levels)}")

    def derivations(self, names: Sequence[str]) -> list[Derivation]:
        """What makes those of some signals that no call returns, of all that its heads derive."""
        found = (head.derivation(signal, names) for signal, head in self.heads.items())
        return [derivation for derivation in found if derivation is not None]

    def outputs_of(self, head: str) -> tuple[str, ...]:
        """The outputs that a head scores.

        Raises:
            ValueError: no such head.
        """
        if head not in self.head_kinds:
            raise ValueError(f"no head {head!r}; this model has {', '.join(self.head_kinds)}")
        split = (signal.split("/") for signal in self.head_specs)
        return tuple(output for name, output in split if name == head)

    def label_losses(self, head: str) -> dict[str, str]:
        """For each output that a head scores, the objective that learns it from gold labels.

        Raises:
            ValueError: no such head.
        """
        return {output: self.heads[f"{head}/{output}"].loss for output in self.outputs_of(head)}

    def decoding(self, head: str) -> dict[str, dict[str, Any]]:
        """How scores of a head become labels, as plain JSON data.

        Returns:
            Output to its ``kind`` and ``constants``, see `tfdistil.tasks.decoders`; outputs with a
            linear head, which has none, are left out.

        Raises:
            ValueError: no such head.
        """
        found = {}
        for output in self.outputs_of(head):
            signal = f"{head}/{output}"
            if (kind := self.head_specs[signal].kind) != "linear":
                constants = self.heads[signal].constants()
                found[output] = {
                    "kind": kind,
                    "constants": {name: _decimals(array) for name, array in constants.items()},
                }
        return found

    def unfit_for_int8(self, head: str) -> str | None:
        """What the scores of a head have that int8 cannot hold, and what to do; None: nothing."""
        del head
        return None

    def path_outputs(self, head: str) -> dict[str, str]:
        """The outputs that the exported graph can decode, each with what the path is called there.

        Raises:
            ValueError: no such head.
        """
        return {output: f"{output}_path" for output in self._path_finders(head)}

    def _path_finders(self, head: str) -> dict[str, PathFinder]:
        found = {o: self.heads[f"{head}/{o}"].path_finder() for o in self.outputs_of(head)}
        return {output: find for output, find in found.items() if find is not None}

    def export_function(
        self, length: int, batch: int, head: str = "labels", word_mask: str | None = None
    ) -> tuple[Callable[..., dict[str, Any]], list[keras.InputSpec]]:
        """The graph to convert: static shapes, recurrences unrolled, one head.

        Args:
            length: T.
            batch: B.
            head: whose scores the function returns.
            word_mask: the input that says where words are, see
                `tfdistil.text.featurizer.Featurizer`. With it the function decodes the outputs that
                `path_outputs` names; None: it does not.

        Returns:
            A function of the inputs that returns scores by output and paths by their names, and
            the specs of these inputs: those of `input_specs`, and ``word_mask`` int32 ``[B, T]``
            behind them if the function needs it and they do not have it.

        Raises:
            ValueError: the model has no such head, or does not take this length.
        """
        outputs = self.outputs_of(head)
        specs = self.input_specs(length, batch)
        # Now: within the function, weights have no values.
        finders = self._path_finders(head) if word_mask is not None else {}
        names = self.path_outputs(head)
        if finders and word_mask not in (spec.name for spec in specs):
            specs.append(keras.InputSpec(shape=(batch, length), dtype="int32", name=word_mask))

        def scores(*inputs: Any) -> dict[str, Any]:
            named = {spec.name: value for spec, value in zip(specs, inputs, strict=True)}
            signals = self._signals(named, training=False, exporting=True)
            found = {output: signals[f"{head}/{output}"] for output in outputs}
            for output, find in finders.items():
                found[names[output]] = find(found[output], named[word_mask])
            return found

        return scores, specs

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "outputs": {name: list(spec[:2]) for name, spec in self.outputs_spec.items()},
            "heads": {name: dict(kind) for name, kind in self.head_kinds.items()},
        }


def _decimals(array: np.ndarray) -> list[Any]:
    """Nested lists of the shortest decimals that are these float32, as a JSON file has them."""
    return array.astype(np.float32).astype(str).astype(np.float64).tolist()
