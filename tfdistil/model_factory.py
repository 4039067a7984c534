"""Models of a recipe: made from their specs, with the featurizers that feed them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tfdistil.corpus import Corpus
from tfdistil.distill.masking import mask_pieces
from tfdistil.distill.streams import Transform
from tfdistil.encoders import Encoder, load_encoder, load_tokenizer, save_encoder, scratch_encoder
from tfdistil.errors import CheckpointError
from tfdistil.files import write_json
from tfdistil.recipe import StudentSpec, TeacherSpec
from tfdistil.students import build_student
from tfdistil.students.embeddings import svd_embedding, vectors_of_pieces
from tfdistil.tasks import Task
from tfdistil.text.prune import occurring_pieces, prune_tokenizer
from tfdistil.text.subwords import SubwordFeaturizer
from tfdistil.text.train_tokenizer import train_wordpiece


@dataclass(frozen=True)
class Teacher:
    """A fine-tuned or fresh encoder and its featurizer."""

    model: Any
    featurizer: SubwordFeaturizer


@dataclass(frozen=True)
class Student:
    """A student, its featurizer, and the arguments it was built with."""

    model: Any
    featurizer: SubwordFeaturizer
    arguments: dict[str, Any]


def _alignment(task: Task) -> Literal["first", "x"]:
    return "x" if any(o.labels[-1:] == ("X",) for o in task.outputs) else "first"


def make_teacher(spec: TeacherSpec, corpus: Corpus, seed: int) -> Teacher:
    """A teacher before fine-tuning: from a checkpoint, or from nothing with its own tokenizer."""
    task = corpus.task
    if spec.scratch is not None:
        scratch = spec.scratch
        tokenizer = train_wordpiece(_texts(corpus), scratch.vocabulary, lowercase=scratch.lowercase)
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


def _texts(corpus: Corpus) -> Iterable[str]:
    for example in (*corpus.train, *corpus.transfer):
        yield " ".join(example.words)
        if example.second:
            yield " ".join(example.second)


def _words(corpus: Corpus) -> Iterable[str]:
    for example in (*corpus.train, *corpus.transfer):
        yield from example.words
        yield from example.second or ()


def _featurizer(tokenizer: Any, model: Any, max_length: int, task: Task) -> SubwordFeaturizer:
    return SubwordFeaturizer.from_tokenizer(
        tokenizer,
        min(max_length, model.config.max_length),
        alignment=_alignment(task),
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


def make_student(spec: StudentSpec, teacher: Teacher, corpus: Corpus, seed: int) -> Student:
    """A student with fresh weights; tokenizer and word embeddings as the recipe says."""
    config, task = teacher.model.config, corpus.task
    tokenizer, table = _vocabulary(spec, teacher, corpus)
    featurizer = SubwordFeaturizer.from_tokenizer(
        tokenizer,
        spec.max_length,
        alignment=_alignment(task),
        token_types=False,
    )
    arguments = {
        "kind": spec.kind,
        "vocabulary": len(table),
        "embedding": spec.embedding.width,
        "outputs": _heads(task),
        "heads": tuple(spec.heads),
        "projection": config.width if spec.projection else None,
        "head_input": spec.head_input,
        "seed": seed,
        **spec.options,
    }
    model = build_student(**arguments)
    if spec.embedding.init == "svd":
        model.set_embedding(svd_embedding(table, spec.embedding.width))
    return Student(model, featurizer, arguments)


def _vocabulary(spec: StudentSpec, teacher: Teacher, corpus: Corpus) -> tuple[Any, np.ndarray]:
    """The student's tokenizer, and the teacher's vectors of its pieces, ``[V, D]``."""
    tokenizer = teacher.featurizer.tokenizer
    table = np.asarray(teacher.model.embeddings.words)
    if spec.tokenizer is not None:
        own = train_wordpiece(
            _texts(corpus), spec.tokenizer.vocabulary, lowercase=spec.tokenizer.lowercase
        )
        return own, vectors_of_pieces(table, tokenizer, own)
    if spec.prune_vocabulary:
        pruned, old = prune_tokenizer(tokenizer, occurring_pieces(tokenizer, _words(corpus)))
        return pruned, table[old]
    return tokenizer, table


def save_student(student: Student, folder: Path) -> None:
    """Write a student's weights, arguments and featurizer."""
    folder.mkdir(parents=True, exist_ok=True)
    student.model.save_weights(folder / "model.weights.h5")
    for name, data in student.featurizer.to_assets().items():
        (folder / name).write_bytes(data)
    # The order of the outputs is that of the heads' weights, and JSON files have sorted keys here.
    outputs = [[name, *spec] for name, spec in student.arguments["outputs"].items()]
    write_json(folder / "student.json", {**student.arguments, "outputs": outputs})
    write_json(folder / "featurizer.json", student.featurizer.to_json())


def load_student(folder: Path) -> Student:
    """Read what `save_student` wrote."""
    arguments = json.loads((folder / "student.json").read_text("utf-8"))
    settings = json.loads((folder / "featurizer.json").read_text("utf-8"))
    assets = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    featurizer = SubwordFeaturizer.from_assets(settings, assets)
    arguments["outputs"] = {name: (level, size) for name, level, size in arguments["outputs"]}
    arguments["heads"] = tuple(arguments["heads"])
    model = build_student(**arguments)
    model.load_weights(folder / "model.weights.h5")
    return Student(model, featurizer, arguments)
