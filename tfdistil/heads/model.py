"""What the heads of a student are for, outputs with a level and a size, and their export."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import keras


class OutputSpec(NamedTuple):
    """A task output: ``level`` is ``word`` or ``sequence``, ``size`` its number of labels."""

    level: str
    size: int


class HeadedModel:
    """What signal names and heads mean and how they are exported, the same for every student.

    For a class with ``signals()``, ``head_layers``, ``head_names`` and ``outputs_spec``, with
    ``input_specs(length, batch)`` for what a device feeds, by name, and with
    ``_signals(inputs, training, exporting)``, its signals.
    """

    signals: Callable[[], tuple[str, ...]]
    input_specs: Callable[[int, int], list[keras.InputSpec]]
    _signals: Callable[..., dict[str, Any]]
    head_layers: Mapping[str, Any]
    head_names: tuple[str, ...]
    outputs_spec: Mapping[str, OutputSpec]

    def level(self, signal: str) -> str:
        """``subword`` for a signal with a row per position, ``sequence`` for one per text.

        Raises:
            KeyError: the student has no such signal.
        """
        if signal not in self.signals():
            raise KeyError(f"no signal {signal!r}; this model gives {', '.join(self.signals())}")
        if signal in self.head_layers:
            spec = self.outputs_spec[signal.partition("/")[2]]
            return "sequence" if spec.level == "sequence" else "subword"
        return "sequence" if signal.startswith("sentence") else "subword"

    def check_head(self, head: str) -> None:
        """Raises ValueError where the model has no such head."""
        if head not in self.head_names:
            raise ValueError(f"no head {head!r}; this model has {', '.join(self.head_names)}")

    def export_function(
        self, length: int, batch: int, head: str = "labels"
    ) -> tuple[Callable[..., dict[str, Any]], list[keras.InputSpec]]:
        """The graph to convert: static shapes, recurrences unrolled, one head.

        Args:
            length: T.
            batch: B.
            head: whose logits the function returns.

        Returns:
            A function of the inputs in the order of ``input_specs`` that returns logits by task
            output, and these specs.

        Raises:
            ValueError: the model has no such head, or does not take this length.
        """
        self.check_head(head)
        specs = self.input_specs(length, batch)

        def logits(*inputs: Any) -> dict[str, Any]:
            named = {spec.name: value for spec, value in zip(specs, inputs, strict=True)}
            signals = self._signals(named, training=False, exporting=True)
            return {output: signals[f"{head}/{output}"] for output in self.outputs_spec}

        return logits, specs


def check_outputs(outputs: Mapping[str, tuple[str, int]]) -> dict[str, OutputSpec]:
    """The outputs as specs.

    Raises:
        ValueError: none at all, an unknown level, no labels, or a name with ``/`` or ``.``.
    """
    if not outputs:
        raise ValueError("a student needs at least one output, such as {'tags': ('word', 9)}")
    specs = {_name("output", name): OutputSpec(*spec) for name, spec in outputs.items()}
    for name, spec in specs.items():
        if spec.level not in ("word", "sequence"):
            raise ValueError(f"output {name!r} has level {spec.level!r}; use 'word' or 'sequence'")
        if spec.size < 1:
            raise ValueError(f"output {name!r} needs at least one label, got {spec.size}")
    return specs


def check_heads(heads: Sequence[str]) -> tuple[str, ...]:
    """The names of the heads.

    Raises:
        ValueError: none, one twice, a single string, or a name with ``/`` or ``.``.
    """
    if isinstance(heads, str) or not heads or len(set(heads)) < len(heads):
        raise ValueError(f"heads are different names, such as ('labels', 'logits'); got {heads!r}")
    return tuple(_name("head", head) for head in heads)


def _name(what: str, name: str) -> str:
    if not name or "/" in name or "." in name:
        raise ValueError(f"{what} {name!r}: a name is not empty and has no '/' or '.'")
    return name
