"""A run opened: its folder, its sentences, its models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import Corpus, load_corpus
from tfdistil.distill.rows import encode_rows
from tfdistil.errors import RunError
from tfdistil.models.record import ModelRecord, load_model, load_task
from tfdistil.recipe.recipe import Recipe
from tfdistil.recipe.systems import SystemId
from tfdistil.runs.changed_data import LABELLED, refuse_changed_data
from tfdistil.runs.folder import RunFolder, model_step
from tfdistil.tasks import Task
from tfdistil.text.words import WordSplitter


@dataclass(frozen=True)
class Run:
    """A run folder with its corpus read and its models loaded.

    Attributes:
        folder: recipe, manifest, artefacts.
        corpus: all sentences and the task.
        screen: where progress is shown.
    """

    folder: RunFolder
    corpus: Corpus
    screen: Screen

    @property
    def recipe(self) -> Recipe:
        """The recipe of the folder."""
        return self.folder.recipe

    @property
    def base(self) -> Path:
        """What relative paths in the recipe are relative to."""
        return Path(self.folder.manifest.get("base", "."))

    def model(self, name: str) -> ModelRecord:
        """A trained model of the recipe's plan.

        Raises:
            RunError: there is none of that name, or not yet.
        """
        if name not in self.recipe.plan():
            names = ", ".join(self.recipe.plan())
            raise RunError(f"{self.folder.path}: no model {name!r}; there are {names}")
        if not self.is_trained(name):
            raise RunError(f"{self.folder.path}: {name} is not trained yet; run the recipe")
        return load_model(self.folder.path / model_step(name), self.recipe.seed_of(name))

    def is_trained(self, name: str) -> bool:
        """Whether a model is finished."""
        return self.folder.is_done(model_step(name))

    def answers(self, name: str) -> bool:
        """Whether a finished model scores the task.

        A masked language model does not, nor does an assistant that learns inner states alone.
        """
        return self.folder.facts(model_step(name))["answers"]

    def phases(self, name: str) -> list[dict[str, Any]]:
        """How the phases of a model's training ended, those of what it began as first."""
        steps = [self.folder.facts(model_step(one)) for one in self.recipe.lineage(name)[::-1]]
        return [phase for facts in steps for phase in facts["phases"]]

    def head(self, name: str) -> str:
        """Whose logits count as a model's answers.

        A baseline has learnt one head, the one that was delivered when it was trained.
        """
        learnt = self.folder.facts(model_step(name)).get("head") if self.is_trained(name) else None
        return learnt or self.recipe.head_of(name)

    def file_of(self, system: SystemId) -> Path:
        """Where the file of a model is, or will be."""
        return self.folder.path / str(system)

    def export_length(self, name: str) -> int:
        """Pieces per call: as the recipe says, or what holds 99 % of dev, in steps of 8."""
        asked = self.recipe.export_of(name).length
        if asked is not None:
            return asked
        featurizer = self.model(name).featurizer
        lengths = encode_rows(self.corpus.dev, featurizer, None).lengths
        length = int(-(-np.quantile(lengths, 0.99) // 8) * 8)
        return max(16, min(length, featurizer.max_length))


def open_run(path: str | Path, screen: Screen | None = None, *, labelled_only: bool = False) -> Run:
    """Open an existing run folder, with its corpus read again.

    Args:
        path: the folder.
        screen: where progress is shown.
        labelled_only: read what models are scored on and no other text, and make no augmentation
            anew. Text without labels is scored on a part of its corpus.

    Raises:
        RunError: not a run folder, or the data it was made of has changed.
    """
    folder = RunFolder(path)
    base = Path(folder.manifest.get("base", "."))
    recipe = folder.recipe
    scored = LABELLED if recipe.task.is_labelled else (*LABELLED, "corpus")
    refuse_changed_data(folder, base, scored if labelled_only else None)
    if labelled_only:
        left_out: dict[str, Any] = {"augment": [], "transfer": []}
        left_out |= {"corpus": None} if recipe.task.is_labelled else {}
        data = recipe.data.model_copy(update=left_out)
        recipe = recipe.model_copy(update={"data": data})
    corpus = load_corpus(recipe, base)
    trained = _trained_task(folder)
    return Run(
        folder, corpus if trained is None else replace(corpus, task=trained), screen or Screen()
    )


def open_models(path: str | Path, screen: Screen | None = None) -> Run:
    """Open an existing run folder for its models: its corpus has the task and no sentences.

    No data of the run is read, so it does not matter what has become of it.

    Raises:
        RunError: not a run folder, or nothing is trained in it.
    """
    folder = RunFolder(path)
    task = _trained_task(folder)
    if task is None:
        raise RunError(f"{folder.path}: nothing is trained yet; run the recipe")
    splitter = WordSplitter(folder.recipe.data.splitter)
    corpus = Corpus(task, (), (), (), (), (), (), {}, splitter, {})
    return Run(folder, corpus, screen or Screen())


def _trained_task(folder: RunFolder) -> Task | None:
    """The task as the models of a run have learnt it, whatever its data says now."""
    steps = map(model_step, folder.recipe.plan())
    return next((load_task(folder.path / step) for step in steps if folder.is_done(step)), None)
