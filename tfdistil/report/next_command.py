"""How to ask a model file, to be typed or pasted: a shell command and a call in Python."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def example_of(texts: Sequence[str]) -> list[str]:
    """A text to ask about, or the two of a pair: the first one of test, without line breaks."""
    text = texts[0] if texts else "your text"
    return [" ".join(part.split()) for part in text.split("\t")]


def in_shell(file: object, example: list[str]) -> str:
    """The command that asks a model file; a pair is one argument with a tab inside."""
    text = shlex.quote("\t".join(example))
    if len(example) > 1:  # a shell takes a tab that is pasted for a question
        inside = "\\t".join(part.replace("\\", r"\\").replace("'", r"\'") for part in example)
        text = f"$'{inside}'"
    dashes = "-- " if example[0].startswith("-") else ""
    return f"tfdistil predict {shlex.quote(str(file))} {dashes}{text}"


def in_python(file: str, example: list[str]) -> str:
    """The expression that asks a model file in Python."""
    if len(example) > 1:
        return f"Runtime({file!r}).predict_pairs([{tuple(example)!r}])"
    return f"Runtime({file!r}).predict({example!r})"
