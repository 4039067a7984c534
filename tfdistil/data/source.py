"""A source: a file as a recipe names it, with what is to be made of its labels."""

from __future__ import annotations

import inspect
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from tfdistil.data.example import Example
from tfdistil.data.readers import ReadResult, Split, read, split_whitespace
from tfdistil.data.schemes import FOLLOWS, Scheme
from tfdistil.errors import DataError


@dataclass(frozen=True, slots=True)
class Source:
    """One file or folder of examples.

    Attributes:
        path: what to read.
        format: a key of `READERS`; None guesses from name and content.
        language: BCP 47 code; None takes what the rows say, else ``und``.
        options: the format's options (columns and the like).
        label_map: span type or label to the one it becomes; a span type that becomes ``O`` is
            dropped. Applied after the repair.
        repair: ``iob2`` reads an orphan ``I-x`` as ``B-x`` and a stray ``B-O`` as ``O``.
        scheme: of the tags in the file, ``iob2``, ``iobes`` or ``words``; examples have IOB2.
        limit: take a random sample of this many examples, in file order; None takes all.
        seed: of the sample.
    """

    path: str | Path
    format: str | None = None
    language: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    label_map: Mapping[str, str] = field(default_factory=dict)
    repair: Literal["iob2"] | None = None
    scheme: Scheme = "iob2"
    limit: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.repair not in (None, "iob2"):
            raise DataError(f"repair is {self.repair!r}, expected 'iob2' or nothing", self.path)
        if self.scheme not in FOLLOWS:
            known = " or ".join(FOLLOWS)
            raise DataError(f"scheme is {self.scheme!r}, expected {known}", self.path)
        taken = inspect.signature(read).parameters
        if beside := [name for name in self.options if name in taken]:
            own = " or ".join(repr(f.name) for f in fields(self) if f.name in beside)
            hint = f"; {own} stands beside `options`, not in it" if own else ""
            raise DataError(f"no format has an option {beside[0]!r}{hint}", self.path)
        if self.limit is not None and self.limit < 1:
            raise DataError(f"limit is {self.limit}, expected at least 1", self.path)
        for old, new in self.label_map.items():
            if not (isinstance(old, str) and isinstance(new, str) and old and new):
                raise DataError(f"label_map {old!r}: {new!r} is not text to text", self.path)
            if old[:2] in ("B-", "I-") and new[:2] in ("B-", "I-", "O"):
                message = f"label_map maps tag {old!r}; name the type without its prefix"
                raise DataError(message, self.path)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Source:
        """A source from a recipe line.

        Raises:
            DataError: an unknown key, or no path.
        """
        known = [f.name for f in fields(cls)]
        for key in mapping:
            if key not in known:
                message = f"unknown key {key!r} in a source; known: {', '.join(known)}"
                raise DataError(message, mapping.get("path"))
        if not mapping.get("path"):
            raise DataError(f"a source without a path: {dict(mapping)}")
        for key in ("options", "label_map"):
            if not isinstance(mapping.get(key, {}), Mapping):
                raise DataError(f"{key} is {mapping[key]!r}, expected a mapping", mapping["path"])
        return cls(**mapping)


def load(
    sources: Iterable[Source],
    *,
    split: Split = split_whitespace,
    errors: Literal["raise", "collect"] = "raise",
) -> ReadResult:
    """Read sources one after the other into one result.

    The counts are summed, with ``label_map_unused`` for keys that occur nowhere in their source.

    Raises:
        DataError: as `read` does, unless errors are collected.
    """
    examples: list[Example] = []
    counts: Counter[str] = Counter()
    problems: list[DataError] = []
    files: list[Path] = []
    for source in sources:
        result = read(
            source.path,
            source.format,
            language=source.language,
            split=split,
            repair=source.repair,
            scheme=source.scheme,
            errors=errors,
            **source.options,
        )
        found = list(result.examples)
        counts.update(result.counts)
        problems.extend(result.problems)
        files.extend(result.files)
        if source.label_map:
            found, mapped = map_labels(found, source.label_map)
            counts["labels_mapped"] += mapped.total()
            counts["label_map_unused"] += sum(old not in mapped for old in source.label_map)
        if source.limit is not None and source.limit < len(found):
            rng = random.Random(source.seed)
            found = [found[i] for i in sorted(rng.sample(range(len(found)), source.limit))]
        examples.extend(found)
    return ReadResult(
        tuple(examples),
        {k: n for k, n in sorted(counts.items()) if n},
        tuple(problems),
        tuple(files),
    )


def map_labels(
    examples: Iterable[Example], label_map: Mapping[str, str]
) -> tuple[list[Example], Counter[str]]:
    """Rename span types and labels.

    Returns:
        The examples, and how many spans or labels each key of ``label_map`` changed.
    """
    mapped: Counter[str] = Counter()
    result = []
    for example in examples:
        tags, label = example.tags, example.label
        if tags is not None and any(tag[2:] in label_map for tag in tags):
            mapped.update(t[2:] for t in tags if t[0] == "B" and t[2:] in label_map)
            tags = tuple([_map_tag(tag, label_map) for tag in tags])
        if label is not None and label in label_map:
            mapped[label] += 1
            label = label_map[label]
        if tags is not example.tags or label is not example.label:
            example = replace(example, tags=tags, label=label)
        result.append(example)
    return result, mapped


def check_labels(
    examples: Iterable[Example],
    *,
    tags: Iterable[str] | None = None,
    labels: Iterable[str] | None = None,
) -> None:
    """Check examples against the labels a model knows.

    Args:
        examples: what to check.
        tags: the allowed tags, or None to leave tags unchecked.
        labels: the allowed intents or classes, or None to leave them unchecked.

    Raises:
        DataError: the first tag or label that is not allowed, with its file and line.
    """
    known_tags = None if tags is None else frozenset(tags)
    known_labels = None if labels is None else frozenset(labels)
    for example in examples:
        if known_tags is not None and example.tags is not None:
            for word, tag in zip(example.words, example.tags, strict=True):
                if tag not in known_tags:
                    raise _unknown(f"tag {tag!r} of word {word!r}", known_tags, example)
        label = example.label
        if known_labels is not None and label is not None and label not in known_labels:
            raise _unknown(f"label {label!r}", known_labels, example)


def _unknown(what: str, known: frozenset[str], example: Example) -> DataError:
    choices = sorted(known)
    listed = ", ".join(choices[:20]) + (", ..." if len(choices) > 20 else "")
    path, _, line = example.source.rpartition(":")
    message = (
        f"unknown {what}; known: {listed}; correct the file, map it in `label_map`, or let it "
        "count as a miss with `unknown_labels: miss`"
    )
    return DataError(message, path or None, int(line) if line.isdigit() else None)


def _map_tag(tag: str, label_map: Mapping[str, str]) -> str:
    kind = label_map.get(tag[2:])
    if kind is None:
        return tag
    return "O" if kind == "O" else tag[:2] + kind
