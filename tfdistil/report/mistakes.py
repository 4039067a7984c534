"""Example errors as people read them: the spans of a tagged sentence instead of a tag per word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfdistil.runs.run_metrics import Metrics


@dataclass(frozen=True)
class Item:
    """A label with the words it is on; ``text`` is empty for a label of the whole sentence.

    ``agrees`` says whether gold and prediction have it both.
    """

    label: str
    text: str
    agrees: bool


@dataclass(frozen=True)
class Mistake:
    """A sentence whose prediction is not its gold labels."""

    text: str
    language: str | None
    gold: tuple[Item, ...]
    predicted: tuple[Item, ...]


def mistakes(results: Metrics) -> list[Mistake]:
    """The errors of what is delivered, the tags of each as spans of its words."""
    found = []
    for example in results.errors:
        gold = _labels(example.gold, example.words)
        predicted = _labels(example.predicted, example.words)
        found.append(
            Mistake(
                example.text,
                None if example.language in (None, "und") else example.language,
                tuple(Item(*item, key in predicted) for key, item in gold.items()),
                tuple(Item(*item, key in gold) for key, item in predicted.items()),
            )
        )
    return found


def _labels(given: Sequence[str], words: Sequence[str]) -> dict[tuple[Any, ...], tuple[str, str]]:
    """What makes an item the same on both sides, to its label and words.

    Args:
        given: IOB2 tags of all words, then the label of the text; either may be missing.
        words: of the text.
    """
    items: dict[tuple[Any, ...], tuple[str, str]] = {}
    tags, rest = given[: len(words)], given[len(words) :]
    if len(tags) < len(words) or not all(map(_is_tag, tags)):
        tags, rest = (), given
    for start, end, label in _spans(tags):
        items[start, end, label] = (label, " ".join(words[start:end]))
    return items | {(label,): (label, "") for label in rest}


def _is_tag(tag: str) -> bool:
    return tag == "O" or tag[:2] in ("B-", "I-")


def _spans(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """``(start, end, label)`` of IOB2 tags; a stray ``I-`` begins a span, as conlleval has it."""
    spans: list[tuple[int, int, str]] = []
    for i, tag in enumerate(tags):
        if tag == "O":
            continue
        goes_on = spans and spans[-1][1:] == (i, tag[2:]) and tag[0] == "I"
        if goes_on:
            spans[-1] = (spans[-1][0], i + 1, tag[2:])
        else:
            spans.append((i, i + 1, tag[2:]))
    return spans
