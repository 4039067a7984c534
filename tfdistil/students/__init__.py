"""Students by the names a recipe uses."""

from __future__ import annotations

import inspect
from typing import Any

from tfdistil.students.bilstm import BiLSTMStudent
from tfdistil.students.mixer import MixerStudent
from tfdistil.students.piece_mixer import PieceMixerStudent
from tfdistil.students.piece_qrnn import PieceQrnnStudent
from tfdistil.students.pqrnn import PqrnnStudent
from tfdistil.students.transformer import TransformerStudent

STUDENTS: dict[str, Any] = {
    "bilstm": BiLSTMStudent,
    "mixer": MixerStudent,
    "piece_mixer": PieceMixerStudent,
    "piece_qrnn": PieceQrnnStudent,
    "pqrnn": PqrnnStudent,
    "transformer": TransformerStudent,
}


def student_class(kind: str) -> Any:
    """The class of a registered kind.

    Raises:
        ValueError: an unknown kind.
    """
    if kind not in STUDENTS:
        raise ValueError(f"unknown student {kind!r}; the kinds are {', '.join(sorted(STUDENTS))}")
    return STUDENTS[kind]


GIVEN = frozenset(
    {
        "vocabulary",
        "embedding",
        "features",
        "ternary_map",
        "words",
        "outputs",
        "heads",
        "projection",
        "head_input",
        "seed",
    }
)
"""Arguments of constructors that are not the student's own: labels, inputs and other keys of the
recipe decide them."""


def own_keys(student: Any) -> tuple[str, ...]:
    """The arguments of a student's constructor that a recipe gives under its name."""
    _, *parameters = inspect.signature(student.__init__).parameters.values()
    return tuple(p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in GIVEN)


def build_student(kind: str, **arguments: Any) -> Any:
    """A student of a registered kind.

    Args:
        kind: a key of `STUDENTS`.
        arguments: of its constructor.

    Raises:
        ValueError: an unknown kind, or arguments that do not fit together.
    """
    return student_class(kind)(**arguments)


__all__ = [
    "STUDENTS",
    "BiLSTMStudent",
    "MixerStudent",
    "PieceMixerStudent",
    "PieceQrnnStudent",
    "PqrnnStudent",
    "TransformerStudent",
    "build_student",
    "own_keys",
    "student_class",
]
