"""Models of a recipe: made from their specs, with the featurizers that feed them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.corpus import Corpus
from tfdistil.distill.masking import mask_pieces
from tfdistil.distill.streams import Transform
from tfdistil.distill.weights import save_weights
from tfdistil.encoders import (
    Encoder,
    load_encoder,
    load_tokenizer,
    save_encoder,
    scratch_encoder,
    word_embeddings,
)
from tfdistil.errors import CheckpointError, RecipeError
from tfdistil.files import beside, read_json, write_json
from tfdistil.printable import listed
from tfdistil.recipe import Recipe
from tfdistil.schema.models import QuantizedSpec, StudentSpec, TeacherSpec
from tfdistil.student_inputs import READS, alignment, sentences
from tfdistil.students import STUDENTS, build_student, own_keys, student_class
from tfdistil.tasks import Task
from tfdistil.text.featurizer import Featurizer
from tfdistil.text.registry import featurizer_from_assets
from tfdistil.text.subwords import SubwordFeaturizer
from tfdistil.text.train_tokenizer import train_wordpiece


@dataclass(frozen=True)
class Teacher:
    """A fine-tuned or fresh encoder and its featurizer."""

    model: Any
    featurizer: SubwordFeaturizer


@dataclass(frozen=True)
class Student:
    """A student, its featurizer, the arguments it was built with, and facts about its inputs."""

    model: Any
    featurizer: Featurizer
    arguments: dict[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)


def make_teacher(spec: TeacherSpec, corpus: Corpus, seed: int) -> Teacher:
    """A teacher before fine-tuning: from a checkpoint, or from nothing with its own tokenizer."""
    task = corpus.task
    if spec.scratch is not None:
        scratch = spec.scratch
        texts = (" ".join(words) for words in sentences(corpus))
        tokenizer = train_wordpiece(texts, scratch.vocabulary, lowercase=scratch.lowercase)
        model = scratch_encoder(
            vocabulary=tokenizer.get_vocab_size(),
            width=scratch.width,
            layers=scratch.layers,
            attention_heads=scratch.heads,
            inner=scratch.inner,
            max_positions=spec.max_length,
            heads=_heads(task),
            seed=seed,
        )
    else:
        assert spec.checkpoint is not None
        model = load_encoder(spec.checkpoint, _heads(task), labels=_labels(task), seed=seed)
        tokenizer = load_tokenizer(spec.checkpoint)
    return Teacher(model, _featurizer(tokenizer, model, spec.max_length, task))


def _heads(task: Task) -> dict[str, tuple[Any, int]]:
    return {o.name: (o.level, len(o.labels)) for o in task.outputs}


def _labels(task: Task) -> dict[str, tuple[str, ...]]:
    return {o.name: o.labels for o in task.outputs}


def _featurizer(tokenizer: Any, model: Any, max_length: int, task: Task) -> SubwordFeaturizer:
    return SubwordFeaturizer.from_tokenizer(
        tokenizer,
        min(max_length, model.config.max_length),
        alignment=alignment(task),
        token_types=model.config.type_vocabulary > 1,
    )


def with_mlm_head(teacher: Teacher, seed: int) -> Encoder:
    """An encoder like the teacher's, with a masked-language head instead of the task's."""
    encoder = Encoder(teacher.model.config, mlm=True, seed=seed)
    copy_body(teacher.model, encoder)
    return encoder


def copy_body(source: Encoder, target: Encoder) -> None:
    """Copy all weights but those of the heads."""
    weights = dict(source.layer_groups())
    for name, group in target.layer_groups():
        if name != "heads":
            for mine, theirs in zip(group, weights[name], strict=True):
                mine.assign(theirs)


def masking_for(teacher: Teacher, probability: float) -> Transform:
    """Masking with the teacher's own special pieces."""
    featurizer = teacher.featurizer
    mask = featurizer.tokenizer.token_to_id("[MASK]")
    if mask is None:
        raise CheckpointError("pre-training needs a tokenizer with the piece [MASK]")
    special = (featurizer.cls, featurizer.sep, featurizer.pad, featurizer.unk)
    return mask_pieces(
        mask,
        teacher.model.config.vocabulary,
        frozenset(special),
        probability,
    )


def save_teacher(teacher: Teacher, task: Task, folder: Path) -> None:
    """Write a teacher as a Hugging Face folder with its task beside it."""
    save_encoder(
        teacher.model,
        folder,
        labels=_labels(task),
        tokenizer=teacher.featurizer.tokenizer,
    )
    write_json(folder / "task.json", task.to_json())


def load_teacher(folder: Path, task: Task, max_length: int) -> Teacher:
    """Read what `save_teacher` wrote."""
    model = load_encoder(folder, _heads(task), labels=_labels(task))
    return Teacher(model, _featurizer(load_tokenizer(folder), model, max_length, task))


def make_student(
    spec: StudentSpec,
    teacher: Teacher,
    corpus: Corpus,
    seed: int,
    vectors: np.ndarray | None = None,
) -> Student:
    """A student with fresh weights; what it reads and begins with as the recipe says.

    ``vectors`` are the word embeddings ``[V, D]`` it may begin with; None: the teacher's.
    """
    if vectors is None:
        vectors = np.asarray(teacher.model.word_embeddings)
    _check_options(spec)
    read = READS[student_class(spec.kind).reads]
    inputs = read(spec, teacher.featurizer, vectors, corpus, seed)
    arguments = {
        "kind": spec.kind,
        "outputs": _heads(corpus.task),
        "heads": tuple(spec.heads),
        "seed": seed,
        **inputs.arguments,
        **spec.options,
    }
    if spec.projection:
        width = teacher.model.config.width
        arguments |= {"projection": width, "head_input": spec.head_input}
    model = build_student(**arguments)
    longest = getattr(model, "max_positions", spec.max_length)
    if longest < spec.max_length:
        raise ValueError(
            f"max_length is {spec.max_length}, but the student reads {longest} positions; set its "
            "max_positions"
        )
    if inputs.table is not None:
        model.set_embedding(inputs.table)
    return Student(model, inputs.featurizer, arguments, inputs.facts)


def _check_options(spec: StudentSpec) -> None:
    """The keys of a student are those of its constructor that nothing else in the recipe gives.

    Raises:
        ValueError: other keys.
    """
    known = own_keys(student_class(spec.kind))
    unknown = sorted(spec.options.keys() - known)
    if unknown:
        raise ValueError(
            f"unknown key {listed(map(repr, unknown))}; besides those of every student a "
            f"{spec.kind} has {', '.join(known)}"
        )


def resolved(spec: StudentSpec, base: Path) -> StudentSpec:
    """The same with the path of its file of vectors relative to the working directory."""
    if spec.embedding.vectors is None:
        return spec
    file = str(base / spec.embedding.vectors)
    embedding = spec.embedding.model_copy(update={"vectors": file})
    return spec.model_copy(update={"embedding": embedding})


def quantized_student(student: Student, engine: str) -> Student:
    """A student with the same weights that rounds as its int8 file will.

    Raises:
        RecipeError: a kind of student that cannot be trained quantized, or an unknown engine.
    """
    if not hasattr(student.model, "quantized"):
        kinds = [name for name, kind in STUDENTS.items() if hasattr(kind, "quantized")]
        raise RecipeError(
            f"a {student.arguments['kind']} cannot be trained quantized; {', '.join(kinds)} can. "
            "export: {quantize: int8} quantizes any student after training"
        )
    try:
        model = student.model.quantized(engine)
    except ValueError as error:
        raise RecipeError(f"engine {engine!r}: {error}") from error
    arguments = student.arguments | {"quantize": engine}
    return Student(model, student.featurizer, arguments, student.facts)


class Models(dict[str, Any]):
    """The models of a recipe by name; each student is made when it is first looked up.

    By then what it goes on from has been trained.

    Args:
        recipe: its ``models`` and ``seed``.
        corpus: for vocabularies and labels.
        teacher: the fine-tuned teacher.
        base: folder that paths in the recipe are relative to.
    """

    def __init__(self, recipe: Recipe, corpus: Corpus, teacher: Teacher, base: Path):
        super().__init__(teacher=teacher)
        self.recipe, self.corpus, self.base = recipe, corpus, base

    def __missing__(self, name: str) -> Student:
        spec = self.recipe.models[name]
        if isinstance(spec, QuantizedSpec):
            made = quantized_student(self[spec.quantized], spec.engine)
        else:
            made = self.fresh(name)
        self[name] = made
        return made

    def fresh(self, name: str) -> Student:
        """A new student of that name, or of the one it goes on from, as it is before training.

        Raises:
            RecipeError: arguments that do not fit the kind of student.
        """
        spec = resolved(self.recipe.student_spec(name), self.base)
        pretrained = self._pretrained() if spec.embedding.of == "pretrained" else None
        try:
            return make_student(spec, self["teacher"], self.corpus, self.recipe.seed, pretrained)
        except (TypeError, ValueError, MemoryError) as error:
            raise RecipeError(f"models.{name}: {error}") from error

    def _pretrained(self) -> np.ndarray:
        """The word embeddings of the teacher's checkpoint."""
        checkpoint = self.recipe.teacher_spec().checkpoint
        assert checkpoint is not None, "the recipe was checked"
        return word_embeddings(beside(self.base, checkpoint))


def save_student(student: Student, folder: Path) -> None:
    """Write a student's weights, arguments and featurizer."""
    folder.mkdir(parents=True, exist_ok=True)
    save_weights(student.model, folder / "model.weights.h5")
    for name, data in student.featurizer.to_assets().items():
        (folder / name).write_bytes(data)
    # The order of the outputs is that of the heads' weights, and JSON files have sorted keys here.
    outputs = [[name, *spec] for name, spec in student.arguments["outputs"].items()]
    write_json(folder / "student.json", {**student.arguments, "outputs": outputs})
    write_json(folder / "featurizer.json", student.featurizer.to_json())


def load_student(folder: Path) -> Student:
    """Read what `save_student` wrote."""
    arguments = read_json(folder / "student.json")
    settings = read_json(folder / "featurizer.json")
    assets = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    featurizer = featurizer_from_assets(settings, assets)
    arguments["outputs"] = {name: (level, size) for name, level, size in arguments["outputs"]}
    arguments["heads"] = tuple(arguments["heads"])
    model = build_student(**arguments)
    model.load_weights(folder / "model.weights.h5")
    return Student(model, featurizer, arguments)
