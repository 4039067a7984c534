"""Example errors as people read them: the spans of a tagged sentence instead of a tag per word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfdistil.errors import DataError
from tfdistil.report.results import Results, mapping


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


def mistakes(results: Results, where: str) -> list[Mistake]:
    """The examples in ``errors`` of a set.

    ``gold`` and ``predicted`` are lists: IOB2 tags, one per word of ``words`` (or of ``text`` split
    on white space), then the intent if there is one; or labels; or mappings with ``label`` and
    ``text``.

    Raises:
        DataError: an example without ``text``, ``gold`` or ``predicted``.
    """
    found = []
    tagged = results.task in ("tags", "intent_slots")
    for number, entry in enumerate(results.part("errors").get(where) or ()):
        example = mapping(entry, f"errors.{where}[{number}]")
        for key in ("text", "gold", "predicted"):
            if key not in example:
                raise DataError(
                    f"metrics: `errors.{where}[{number}]` has no `{key}`; it has {sorted(example)}"
                )
        words = example.get("words") or str(example["text"]).split()
        gold = _labels(example["gold"], words if tagged else ())
        predicted = _labels(example["predicted"], words if tagged else ())
        language = example.get("language")
        found.append(
            Mistake(
                str(example["text"]),
                None if language in (None, "und") else str(language),
                tuple(Item(label, text, (key in predicted)) for key, (label, text) in gold.items()),
                tuple(Item(label, text, (key in gold)) for key, (label, text) in predicted.items()),
            )
        )
    return found


def _labels(given: Any, words: Sequence[str]) -> dict[tuple[Any, ...], tuple[str, str]]:
    """What makes an item the same on both sides, to its label and words."""
    if isinstance(given, str):
        given = [given]
    items: dict[tuple[Any, ...], tuple[str, str]] = {}
    tags, rest = given[: len(words)], given[len(words) :]
    if words and len(tags) == len(words) and len(rest) <= 1 and all(map(_is_tag, tags)):
        for start, end, label in _spans(tags):
            items[start, end, label] = (label, " ".join(words[start:end]))
        given = rest
    for item in given:
        if isinstance(item, Mapping):
            label, text = str(item["label"]), str(item.get("text", ""))
            items[label, text, item.get("start")] = (label, text)
        else:
            items[(str(item),)] = (str(item), "")
    return items


def _is_tag(tag: Any) -> bool:
    return isinstance(tag, str) and (tag == "O" or tag[:2] in ("B-", "I-"))


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
