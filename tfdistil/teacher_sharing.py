"""One teacher for several runs: which of them would train the same one, and taking it over.

A run that takes over a teacher does the step of its teacher by copying what another run made, so
all that follows finds what it would have found after training.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfdistil.corpus import Corpus
from tfdistil.data.example import Example
from tfdistil.files import beside, new_folder, write_text
from tfdistil.recipe import Recipe
from tfdistil.run_folder import RunFolder, model_step

TEACHER = model_step("teacher")
_TRAINED = ("teacher", "teacher.body")
"""The models in ``history.csv`` that the step trains: the teacher, and its body in pre-training."""


def teacher_key(recipe: Recipe, corpus: Corpus, base: Path) -> str:
    """A hash of everything that training the teacher depends on.

    Two recipes of one key train the same teacher, whatever else they differ in. Sentences count by
    what they are, not by the keys of the recipe that choose them; transfer counts only where the
    teacher is made from scratch, since its tokenizer and its pre-training read it.

    Args:
        recipe: its task, ``models.teacher`` and the teacher's seed are used.
        corpus: of the recipe.
        base: folder that a checkpoint's path is relative to.
    """
    spec = recipe.teacher_spec()
    origin = None if spec.checkpoint is None else beside(base.resolve(), spec.checkpoint)
    how = spec.model_dump(exclude={"checkpoint", "seed"})
    settings = [recipe.task.model_dump(), how, origin, recipe.seed_of("teacher")]
    taught = recipe.stages_of("teacher")
    if taught:  # whatever teaches it counts too, and with it the whole recipe
        settings.append(json.loads(recipe.model_dump_json(exclude={"export", "benchmark", "name"})))
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    sets = [corpus.train, corpus.dev]
    if taught or spec.scratch is not None:
        sets.append(corpus.transfer)
    if taught:
        sets.append(corpus.augmented)
    for examples in sets:
        _update(digest, examples)
    return digest.hexdigest()


def _update(digest: Any, examples: Sequence[Example]) -> None:
    digest.update(f"{len(examples)}\n".encode())
    for e in examples:
        digest.update(json.dumps([e.words, e.tags, e.label, e.second]).encode() + b"\n")


def take_teacher(source: RunFolder, target: RunFolder) -> None:
    """Do the teacher's step of a run with what another run of the same `teacher_key` made.

    Files are linked where the file system can, and copied where not. The learning curves of the
    teacher come along, so that the report is complete; the time of the step is that of copying.

    Args:
        source: its teacher is trained.
        target: nothing happens if its own is too.
    """
    target.once(TEACHER, lambda: _copy(source, target))


def _copy(source: RunFolder, target: RunFolder) -> dict[str, Any]:
    history = source.path / "history.csv"
    if history.exists():
        with history.open(newline="", encoding="utf-8") as file:
            head, *rows = list(csv.reader(file))
        text = io.StringIO(newline="")
        csv.writer(text).writerows([head, *(row for row in rows if row[:1] and row[0] in _TRAINED)])
        write_text(target.path / "history.csv", text.getvalue())
    with new_folder(target.path / TEACHER) as folder:
        _link_files(source.path / TEACHER, folder)
    return source.facts(TEACHER) | {"taken_from": str(source.path)}


def take_signals(source: RunFolder, target: RunFolder) -> None:
    """Take over what another run of the same teacher has made of it: signals, and its ``.tflite``.

    Each folder of signals is named by all that it depends on, so one that does not fit is never
    read. A ``.tflite`` of another length is converted again by the benchmark.
    """
    for folder in [*sorted((source.path / "cache").glob("*")), source.path / "benchmark"]:
        taken = target.path / folder.relative_to(source.path)
        if folder.is_dir() and not taken.exists() and not folder.name.endswith(".partial"):
            with new_folder(taken) as partial:
                _link_files(folder, partial)


def _link_files(source: Path, target: Path) -> None:
    """Copy a folder; nothing of a run is changed in place, so two names for one file are safe."""
    shutil.copytree(source, target, copy_function=_link, dirs_exist_ok=True)


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)
    return target
