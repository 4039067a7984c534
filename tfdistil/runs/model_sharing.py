"""One teacher for several runs: which of them would train the same one, and taking it over.

A run that takes over a model does the step of that model by copying what another run made, so all
that follows finds what it would have found after training.
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

from tfdistil.corpus.loading import Corpus
from tfdistil.data.example import Example
from tfdistil.files import beside, new_file, new_folder, write_text
from tfdistil.recipe.recipe import Recipe
from tfdistil.recipe.schema.models import EncoderSpec
from tfdistil.runs.folder import RunFolder, model_step
from tfdistil.shards.parts import TRAINING


def shared_models(recipe: Recipe) -> tuple[str, ...]:
    """The models of a run that other runs may have too: encoders, which take long to train."""
    plan = recipe.plan()
    return tuple(name for name in plan if isinstance(recipe.entries[name], EncoderSpec))


def model_keys(recipe: Recipe, corpus: Corpus, base: Path) -> dict[str, str]:
    """`model_key` of all `shared_models`."""
    return {name: model_key(recipe, name, corpus, base) for name in shared_models(recipe)}


def model_key(recipe: Recipe, name: str, corpus: Corpus, base: Path) -> str:
    """A hash of everything that training an encoder depends on.

    Two recipes of one key train the same model, whatever else they differ in. Sentences count by
    what they are, not by the keys of the recipe that choose them; transfer and ``data.corpus``
    count only where the model is made from scratch, since its tokenizer and its pre-training read
    them, or where a stage trains it.

    Args:
        recipe: its task, the entry of the model and the model's seed are used.
        name: one of `shared_models`.
        corpus: of the recipe.
        base: folder that a checkpoint's path is relative to.
    """
    spec: Any = recipe.entries[name]
    origin = None if spec.checkpoint is None else beside(base.resolve(), spec.checkpoint)
    how = spec.model_dump(exclude={"checkpoint", "seed"})
    trained = (recipe.seed_of(name), recipe.head_of(name))
    settings = [recipe.task.model_dump(), how, origin, name, *trained]
    taught = recipe.stages_of(name)
    if taught:  # whatever teaches it counts too, and with it the whole recipe
        settings.append(
            json.loads(recipe.model_dump_json(exclude={"export", "deliver", "benchmark", "name"}))
        )
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    sets = [corpus.train, corpus.dev]
    if taught or spec.scratch is not None:
        sets.append(corpus.transfer)
    if taught:
        sets.append(corpus.augmented)
    for examples in sets:
        _update(digest, examples)
    if corpus.text and (taught or spec.scratch is not None):
        digest.update(corpus.text[TRAINING].corpus.key().encode())
    return digest.hexdigest()


def _update(digest: Any, examples: Sequence[Example]) -> None:
    digest.update(f"{len(examples)}\n".encode())
    for e in examples:
        digest.update(json.dumps([e.words, e.tags, e.label, e.second]).encode() + b"\n")


def take_model(source: RunFolder, target: RunFolder, name: str) -> None:
    """Do the step of a model with what another run of the same `model_key` made.

    Files are linked where the file system can, and copied where not. The learning curves of the
    model come along, so that the report is complete; the time of the step is that of copying.

    Args:
        source: the model is trained there.
        target: nothing happens if it is trained here too.
        name: of the model.
    """
    target.once(model_step(name), lambda: _copy(source, target, name))


def _copy(source: RunFolder, target: RunFolder, name: str) -> dict[str, Any]:
    step = model_step(name)
    head, curves = _history(source)
    if head:
        _, own = _history(target)
        text = io.StringIO(newline="")
        taken = (row for row in curves if row[:1] and row[0].partition(".")[0] == name)
        csv.writer(text).writerows([head, *own, *taken])
        write_text(target.path / "history.csv", text.getvalue())
    with new_folder(target.path / step) as folder:
        _link_files(source.path / step, folder)
    return source.facts(step) | {"taken_from": str(source.path)}


def _history(folder: RunFolder) -> tuple[list[str], list[list[str]]]:
    """The columns of a run's learning curves and their rows, that of pre-training ``NAME.body``."""
    file = folder.path / "history.csv"
    if not file.exists():
        return [], []
    head, *rows = csv.reader(file.read_text("utf-8").splitlines())
    return head, rows


def take_signals(source: RunFolder, target: RunFolder, name: str) -> None:
    """Take over what another run of the same model has made of it: signals, and a ``.tflite``.

    Each folder of signals is named by all that it depends on, so one that does not fit is never
    read. A ``.tflite`` of another length is converted again by the benchmark.
    """
    for folder in sorted((source.path / "cache").glob("*")):
        taken = target.path / folder.relative_to(source.path)
        if folder.is_dir() and not taken.exists() and not folder.name.endswith(".partial"):
            with new_folder(taken) as partial:
                _link_files(folder, partial)
    timed, taken = (of.path / "benchmark" / f"{name}.tflite" for of in (source, target))
    if timed.exists() and not taken.exists():
        taken.parent.mkdir(exist_ok=True)
        with new_file(taken, ".tflite") as partial:
            partial.unlink(missing_ok=True)
            _link(str(timed), str(partial))


def _link_files(source: Path, target: Path) -> None:
    """Copy a folder; nothing of a run is changed in place, so two names for one file are safe."""
    shutil.copytree(source, target, copy_function=_link, dirs_exist_ok=True)


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)
    return target
