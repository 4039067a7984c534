"""What a head is for: an output's level and size; and the kinds of heads a model asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

Level = Literal["word", "sequence", "subword"]


class HeadSpec(NamedTuple):
    """What is scored, and what is made of the scores.

    Attributes:
        level: ``word`` scores every word, ``sequence`` the text, ``subword`` every piece.
        size: scores in a row: the labels of a task's output, or the vocabulary.
        kind: a key of `tfdistil.heads.kinds.HEADS`.
        options: of its constructor.
    """

    level: Level
    size: int
    kind: str = "linear"
    options: Mapping[str, Any] = {}


HeadKinds = Mapping[str, Mapping[str, Any]]
"""Name of a head to its ``kind`` and the options of that kind."""


def check_outputs(outputs: Mapping[str, tuple[Level, int]]) -> dict[str, HeadSpec]:
    """A task's outputs as specs.

    Raises:
        ValueError: an unknown level, no labels, or a name with ``/`` or ``.``.
    """
    specs = {_name("output", name): HeadSpec(*spec) for name, spec in outputs.items()}
    for name, spec in specs.items():
        if spec.level not in ("word", "sequence"):
            raise ValueError(f"output {name!r} has level {spec.level!r}; use 'word' or 'sequence'")
        if type(spec.size) is not int or spec.size < 1:
            raise ValueError(f"output {name!r} needs at least one label, got {spec.size!r}")
    return specs


def check_heads(heads: Sequence[str] | Mapping[str, str | Mapping[str, Any]]) -> HeadKinds:
    """The heads a model asks for, each with its kind.

    Args:
        heads: names, of linear heads; or each name with a kind, ``{"labels": "crf"}``, or with
            ``{"kind": "crf", ...}`` and the options of that kind.

    Raises:
        ValueError: none, one twice, a single string, or a name with ``/`` or ``.``.
    """
    if isinstance(heads, str) or not heads or len(set(heads)) < len(heads):
        raise ValueError(f"heads are different names, such as ('labels', 'logits'); got {heads!r}")
    given = heads if isinstance(heads, Mapping) else dict.fromkeys(heads, "linear")
    return {
        _name("head", name): {"kind": kind} if isinstance(kind, str) else dict(kind)
        for name, kind in given.items()
    }


def _name(what: str, name: str) -> str:
    if not name or "/" in name or "." in name:
        raise ValueError(f"{what} {name!r}: a name is not empty and has no '/' or '.'")
    return name
