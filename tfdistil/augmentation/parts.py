"""The texts of an example, one or a pair, and an example made of others."""

from __future__ import annotations

from collections.abc import Sequence

from tfdistil.data.example import Example


def parts_of(example: Example) -> list[tuple[str, ...]]:
    """The words of each text of an example."""
    return [example.words] if example.second is None else [example.words, example.second]


def made_of(parts: Sequence[tuple[str, ...]], example: Example) -> Example:
    """An example without labels.

    Args:
        parts: the words of its texts, as `parts_of` gives them.
        example: whose language and place in a file it takes.
    """
    words, second = (*parts, None)[:2]
    assert words is not None
    return Example(words, second=second, language=example.language, source=example.source)
