"""A run opened: its folder, its sentences, its models."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tfdistil.changed_data import LABELLED, refuse_changed_data
from tfdistil.console import Screen
from tfdistil.corpus import Corpus, load_corpus
from tfdistil.distill.rows import encode_rows
from tfdistil.errors import RunError
from tfdistil.model_factory import Student, Teacher, load_student, load_teacher
from tfdistil.recipe import Recipe
from tfdistil.run_folder import RunFolder
from tfdistil.tasks import Task, task_from_json
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

    def teacher(self) -> Teacher:
        """The fine-tuned teacher.

        Raises:
            RunError: it is not there yet.
        """
        if not self.folder.is_done("teacher"):
            raise RunError(f"{self.folder.path}: the teacher is not trained yet; run the recipe")
        spec = self.recipe.teacher_spec()
        return load_teacher(self.folder.path / "teacher", self.corpus.task, spec.max_length)

    def student_names(self) -> tuple[str, ...]:
        """``student``, those it goes on from, and ``twin`` where the recipe has one."""
        return (*self.recipe.lineage("student"), *(["twin"] if self.recipe.twin else []))

    def student(self, name: str = "student") -> Student:
        """A trained student, one of `student_names`.

        Raises:
            RunError: there is none of that name, or not yet.
        """
        if name not in self.student_names():
            names = ", ".join(self.student_names())
            raise RunError(f"{self.folder.path}: no student {name!r}; there are {names}")
        step = "twin" if name == "twin" else "student"
        folder = self.folder.path / step / ("" if name == step else name)
        if not self.folder.is_done(step) or not folder.is_dir():
            raise RunError(f"{self.folder.path}: the {name} is not trained yet; run the recipe")
        return load_student(folder)

    def head(self, name: str) -> str:
        """Whose logits count as a model's answers.

        The twin has learnt one head, the one that was exported when it was trained.
        """
        if name == "teacher":
            return "logits"
        own = self.folder.facts("twin").get("head") if name == "twin" else None
        return own or self.recipe.export.head

    def export_length(self) -> int:
        """Pieces per call: as the recipe says, or what holds 99 % of dev, in steps of 8."""
        if self.recipe.export.length is not None:
            return self.recipe.export.length
        featurizer = self.student().featurizer
        lengths = encode_rows(self.corpus.dev, featurizer, None).lengths
        length = int(-(-np.quantile(lengths, 0.99) // 8) * 8)
        return max(16, min(length, featurizer.max_length))


def open_run(path: str | Path, screen: Screen | None = None, *, labelled_only: bool = False) -> Run:
    """Open an existing run folder, with its corpus read again.

    Args:
        path: the folder.
        screen: where progress is shown.
        labelled_only: read no transfer text and make no augmentation anew.

    Raises:
        RunError: not a run folder, or the data it was made of has changed.
    """
    folder = RunFolder(path)
    base = Path(folder.manifest.get("base", "."))
    recipe = folder.recipe
    refuse_changed_data(folder, base, LABELLED if labelled_only else None)
    if labelled_only:
        data = recipe.data.model_copy(update={"augment": [], "transfer": []})
        recipe = recipe.model_copy(update={"data": data})
    corpus = load_corpus(recipe, base)
    if folder.is_done("teacher"):
        corpus = replace(corpus, task=_trained_task(folder))
    return Run(folder, corpus, screen or Screen())


def open_models(path: str | Path, screen: Screen | None = None) -> Run:
    """Open an existing run folder for its models: its corpus has the task and no sentences.

    No data of the run is read, so it does not matter what has become of it.

    Raises:
        RunError: not a run folder, or nothing is trained in it.
    """
    folder = RunFolder(path)
    if not folder.is_done("teacher"):
        raise RunError(f"{folder.path}: nothing is trained yet; run the recipe")
    splitter = WordSplitter(folder.recipe.data.splitter)
    corpus = Corpus(_trained_task(folder), (), (), (), (), (), (), {}, splitter, {})
    return Run(folder, corpus, screen or Screen())


def _trained_task(folder: RunFolder) -> Task:
    """The task as the models of a run have learnt it, whatever its data says now."""
    return task_from_json(json.loads((folder.path / "teacher" / "task.json").read_text("utf-8")))
