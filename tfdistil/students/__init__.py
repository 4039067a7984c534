"""Students by the names a recipe uses."""

from __future__ import annotations

from typing import Any

from tfdistil.students.bilstm import BiLSTMStudent
from tfdistil.students.pqrnn import PqrnnStudent
from tfdistil.students.transformer import TransformerStudent

STUDENTS: dict[str, Any] = {
    "bilstm": BiLSTMStudent,
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
    "PqrnnStudent",
    "TransformerStudent",
    "build_student",
    "student_class",
]
