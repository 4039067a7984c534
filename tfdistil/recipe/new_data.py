"""The data of a first recipe: how each file is read, and whether it goes with the task."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tfdistil.data.dev_size import FEWEST, scored
from tfdistil.data.example import Example
from tfdistil.data.readers import guess_format
from tfdistil.data.source import Source, load
from tfdistil.data.suggest import suggest
from tfdistil.errors import DataError
from tfdistil.tasks import TASKS

DEV, MOST_DEV = FEWEST, 0.25
"""Texts, of tags spans, to select on where there is no dev file, and the share of train they may be
at most: a few dozen cannot tell a better model from luck."""
SPANS_TO_SPARE = 1.2
"""A random tenth of the texts has not just a tenth of the spans."""
SUBSETS = {"train": "train", "dev": "val", "test": "test"}
"""Of CLINC's files, which hold all three."""
_NAMES = {"tags": "tags", "label": "a label of the whole text", "second": "a second text"}


@dataclass(frozen=True)
class Found:
    """A file as a recipe reads it.

    Attributes:
        name: ``train``, ``dev``, ``test`` or ``transfer``.
        source: with a repair of its tags where that makes texts readable.
        examples: what can be read.
        broken: lines that cannot.
    """

    name: str
    source: Source
    examples: tuple[Example, ...]
    broken: int

    def line(self, folder: Path) -> dict[str, Any]:
        """Its line in a recipe that lies in a folder."""
        found = self.source
        line: dict[str, Any] = {
            "path": os.path.relpath(found.path, folder),
            "format": found.format,
        }
        if found.options:
            line["options"] = dict(found.options)
        if found.scheme != "iob2":
            line["scheme"] = found.scheme
        if found.repair:
            line["repair"] = found.repair
        return line

    def told(self) -> str:
        """What was found, for the user to see whether it is right."""
        found = self.source
        options = [f"{key}: {value}" for key, value in found.options.items()]
        options += [f"scheme: {found.scheme}"] if found.scheme != "iob2" else []
        options += [f"repair: {found.repair}"] if found.repair else []
        told = f"{self.name}: {Path(found.path).name} is {found.format}"
        told += f" ({', '.join(options)})" if options else ""
        told += f", {len(self.examples):,} texts"
        lines = "line" if self.broken == 1 else "lines"
        return told + (f", {self.broken:,} broken {lines}" if self.broken else "")

    @property
    def labels_words(self) -> bool:
        """Whether each word has a label of its own, as parts of speech are."""
        tags = [tag for example in self.examples for tag in example.tags or ()]
        return bool(tags) and all(tag.startswith("B-") for tag in tags)


def find_data(name: str, path: Path, task: str) -> Found:
    """How a file is most likely meant.

    Args:
        name: ``train``, ``dev``, ``test`` or ``transfer``.
        path: the file.
        task: its kind.

    Raises:
        DataError: format or columns cannot be told, or the texts have not what the task learns.
    """
    source = _suggested(name, path, task)
    found = load([source], errors="collect")
    if found.problems:
        repaired = replace(source, repair="iob2")
        again = load([repaired], errors="collect")
        if len(again.problems) < len(found.problems):
            source, found = repaired, again
    if found.problems and not found.examples:
        raise DataError(
            f"read as {source.format}, none of its texts can be used; the first of "
            f"{len(found.problems):,} problems: {found.problems[0]}",
            source.path,
        )
    _check_parts(name, source, found.examples, task)
    return Found(name, source, found.examples, len(found.problems))


def dev_share(train: Found) -> float:
    """The share of train to select on where there is no dev file."""
    count, unit = scored(train.examples)
    spare = SPANS_TO_SPARE if unit == "span" else 1.0
    return round(min(max(0.1, math.ceil(100 * DEV * spare / max(1, count)) / 100), MOST_DEV), 2)


def _suggested(name: str, path: Path, task: str) -> Source:
    if name == "transfer" and path.is_file() and guess_format(path) is None:
        text = Source(path.resolve(), "text")  # nothing but text is asked for
        load([text])
        return text
    found = suggest(path.resolve(), labelled=name != "transfer")
    options = dict(found.options)
    if task == "tags" or name == "transfer":
        options.pop("label_comment", None)
    if found.format == "clinc" and name in SUBSETS:
        part = replace(found, options=options | {"subset": SUBSETS[name]})
        if load([part], errors="collect").examples:
            return part
    is_treebank = path.suffix.lower() == ".conllu" and options.get("tag", 0) is None
    if is_treebank and task == "tags" and name != "transfer":
        # Of a treebank's columns the universal parts of speech; entities it has none.
        return replace(found, options=options | {"tag": 3}, scheme="words")
    return replace(found, options=options)


def _check_parts(name: str, source: Source, examples: Sequence[Example], task: str) -> None:
    """Whether texts have what the task learns from; single ones without it are broken lines."""
    if not examples:
        if name == "transfer":
            raise DataError(f"read as {source.format}, it has no text", source.path)
        return
    there = {part for part in _NAMES if any(getattr(e, part) is not None for e in examples)}
    parts = TASKS[task].learns_from
    # Of unlabelled text a task of pairs needs both texts, and the others nothing but words.
    wanted = parts if name != "transfer" else [part for part in parts if part == "second"]
    missing = [part for part in wanted if part not in there]
    if name != "transfer" and task == "classes" and "second" in there:
        raise DataError("its texts are pairs; give --task pair", source.path)
    if not missing:
        return
    has = " and ".join(_NAMES[part] for part in _NAMES if part in there) or "nothing but words"
    lacks = " and ".join(_NAMES[part] for part in missing)
    fits = [kind for kind, made in TASKS.items() if there and there == {*made.learns_from}]
    advice = f"; did you mean --task {fits[0]}?" if fits and name != "transfer" else ""
    if source.format == "text" and "tags" in missing:
        advice = (
            "; it was read as plain text, since not every row ends in a tag. Named .conll, it is "
            "read as columns, and the rows that are broken are told"
        )
    raise DataError(
        f"read as {source.format}, its texts have {has}, but --task {task} needs {lacks}{advice}",
        source.path,
    )
