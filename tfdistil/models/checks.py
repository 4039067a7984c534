"""What can be told of a recipe's models before anything slow is done."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.corpus.loading import Corpus
from tfdistil.data.example import Example
from tfdistil.errors import RecipeError
from tfdistil.models.graph import Models
from tfdistil.models.inputs import check_pieces, check_table
from tfdistil.models.origins import checked_heads, hashed_arguments, resolved
from tfdistil.models.record import ModelRecord
from tfdistil.models.word_tables import check_words
from tfdistil.printable import listed
from tfdistil.recipe.recipe import Recipe
from tfdistil.recipe.schema.models import EmbeddingSpec, EncoderSpec, ScratchSpec, StudentSpec
from tfdistil.students import STUDENTS, student_class
from tfdistil.tasks import TASKS
from tfdistil.text.words import WordSplitter


def check_models(recipe: Recipe, base: Path) -> None:
    """Make every student of a recipe once, small, before any data is read, and check all heads.

    Labels, vocabulary and teacher are toys, so what depends on them is found later, by
    `tfdistil.pipeline.run.check_stages`.

    Raises:
        RecipeError: arguments that do not fit the kind of student, or a head that is none.
    """
    example = Example(("a",), tags=("B-a",), label="a", second=("a",))
    task = TASKS[recipe.task.kind].from_examples([example], **recipe.task.options)
    for name, spec in recipe.models.items():
        if isinstance(spec, EncoderSpec):
            hashed_arguments(name, spec, checked_heads(name, spec, task))
    corpus = Corpus(task, (example,), (), (), (), (), (), {}, WordSplitter("whitespace"), {})
    toy = ScratchSpec(layers=1, hidden_dim=2, heads=1, intermediate_dim=2, vocabulary=100)
    small = plain_students(recipe)
    students = [n for n in recipe.named if isinstance(recipe.root_spec(n), StudentSpec)]
    toys = {
        name: EncoderSpec(scratch=toy, max_length=8)
        for name in recipe.models
        if name not in students
    }
    small = small.model_copy(update={"models": {**small.models, **toys}})
    models = Models(small, corpus, base)
    for name in students:
        _check_length(recipe, name, models[name].model)


def _check_length(recipe: Recipe, name: str, model: Any) -> None:
    """A file that is asked for has rows that the model can read."""
    spec = recipe.deliveries.get(name)
    length = recipe.export_of(name).length
    if spec is None or spec.tflite is False or length is None:
        return
    try:
        model.input_specs(length, 1)
    except ValueError as error:
        raise RecipeError(f"export.length is {length}, for models.{name}: {error}") from None


def check_int8(recipe: Recipe, name: str, model: Any) -> None:
    """Refuse to deliver in int8 what it cannot hold, before anything is trained.

    Raises:
        RecipeError: a mean of probabilities, whose scores are logarithms.
    """
    spec, asked = recipe.deliveries.get(name), recipe.export_of(name)
    if spec is None or spec.tflite is False or asked.quantize != "int8":
        return
    if unfit := model.unfit_for_int8(recipe.head_of(name)):
        raise RecipeError(f"models.{name} has {unfit}")


def check_tables(
    recipe: Recipe, models: Mapping[str, ModelRecord], corpus: Corpus, base: Path
) -> None:
    """Find out whether word embeddings can begin as the recipe says, before anything is trained.

    Raises:
        RecipeError: a width that does not go with the encoder's table or with the file of vectors,
            or fewer pieces than the text needs.
        DataError: a file of vectors that cannot be read.
    """
    for name, spec in recipe.models.items():
        if isinstance(spec, StudentSpec) and student_class(spec.kind).reads == "pieces":
            encoder: Any = models[spec.encoder]
            _, width = np.shape(encoder.model.word_embeddings)
            try:
                check_pieces(spec, encoder.featurizer.subwords, corpus)
                found = resolved(spec, base)
                check_table(found.embedding, width)
                if found.words is not None:
                    check_words(found.words, encoder.model.config.hidden_dim)
            except ValueError as error:
                raise RecipeError(f"models.{name}: {error}") from None


def check_taught(
    recipe: Recipe, name: str, models: Mapping[str, ModelRecord], read: Collection[str]
) -> None:
    """Refuse a teacher whose heads are new and never trained.

    Args:
        recipe: says what is trained.
        name: of the teacher.
        models: as they are before training.
        read: signals of it that students learn from.

    Raises:
        RecipeError: what students would learn from are random weights.
    """
    line = recipe.lineage(name)
    entries = [recipe.entries[one] for one in line]
    report = getattr(models[line[-1]].model, "load_report", None)
    tuned = any(getattr(entry, "fine_tune", False) is not False for entry in entries)
    if report is None or tuned or any(map(recipe.stages_of, line)):
        return
    fresh = [
        part
        for scores, part in report.fresh_heads.items()
        if any(signal == scores or signal.startswith(f"{scores}/") for signal in read)
    ]
    if fresh:
        raise RecipeError(
            f"models.{name}: {report.source} has no trained {listed(fresh)}, and nothing here "
            "trains it; fine-tune it, add a stage that trains it, or give the heads the kind that "
            "they were saved with"
        )


def plain_students(recipe: Recipe) -> Recipe:
    """The same students, layers and signals, without what takes time to make."""
    plain = {
        name: _plain(spec) if isinstance(spec, StudentSpec) else spec
        for name, spec in recipe.models.items()
    }
    return recipe.model_copy(update={"models": plain})


def _plain(spec: StudentSpec) -> StudentSpec:
    quick: dict[str, Any] = {"tokenizer": None, "prune_vocabulary": False}
    if spec.kind in STUDENTS and STUDENTS[spec.kind].reads == "pieces":
        quick["embedding"] = EmbeddingSpec(dim=spec.embedding.dim, init="random")
    if spec.words is not None:
        plain = {"init": "random", "vectors": None, "rows": 256}
        quick["words"] = spec.words.model_copy(update=plain)
    return spec.model_copy(update=quick)
