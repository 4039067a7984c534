"""Where models come from: a checkpoint, nothing, a registered kind of student, another model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfdistil.encoders import load_encoder, load_tokenizer, scratch_encoder, word_embeddings
from tfdistil.encoders.checkpoint_info import resolve_checkpoint
from tfdistil.errors import CheckpointError, DataError, RecipeError
from tfdistil.files import beside
from tfdistil.heads.kinds import HEADS, specs_of
from tfdistil.heads.spec import HeadKinds, check_heads, check_outputs
from tfdistil.models.inputs import READS, alignment, features_of, projection_of, wordpieces_of
from tfdistil.models.record import ENCODER, ModelRecord, copy_of, labels_of, mean_of, outputs_of
from tfdistil.models.transforms import apply_transform
from tfdistil.printable import listed
from tfdistil.recipe.renamed import RENAMED
from tfdistil.recipe.schema.derived import BaselineSpec, DerivedSpec, MeanSpec
from tfdistil.recipe.schema.models import EncoderSpec, HeadPart, StudentSpec, kinds_of
from tfdistil.students import build_student, own_keys, student_class
from tfdistil.tasks import Task
from tfdistil.tasks.iob2 import CONTINUATION
from tfdistil.text.hashed_subwords import PROJECTION, HashedSubwordFeaturizer
from tfdistil.text.pretrained import special_token_names
from tfdistil.text.projection.spec import ProjectionSpec
from tfdistil.text.subwords import SubwordFeaturizer

if TYPE_CHECKING:
    from tfdistil.models.graph import Models


def from_checkpoint(name: str, spec: EncoderSpec, models: Models) -> ModelRecord:
    """A Hugging Face folder or hub id, with the heads of the task."""
    assert spec.checkpoint is not None
    task = models.corpus.task
    heads = checked_heads(name, spec, task)
    source = beside(models.base, spec.checkpoint)
    seed = models.recipe.seed_of(name)
    hashed = hashed_arguments(name, spec, heads)
    if hashed:
        _check_hashing(name, spec, resolve_checkpoint(source))
    model = load_encoder(
        source,
        outputs_of(task),
        heads=heads,
        labels=labels_of(task),
        attention=spec.attention,
        embedding_dropout=spec.embedding_dropout,
        head_dropout=spec.head_dropout,
        pooling=spec.pooling,
        **hashed,
        seed=seed,
    )
    names = special_token_names(resolve_checkpoint(source))
    return _encoder(model, load_tokenizer(source), names, spec, models)


def from_scratch(name: str, spec: EncoderSpec, models: Models) -> ModelRecord:
    """A BERT with random weights and a tokenizer made of train, transfer and the corpus."""
    assert spec.scratch is not None
    corpus, sizes = models.corpus, spec.scratch
    read = (corpus.train, corpus.transfer, corpus.unlabelled)
    tokenizer = wordpieces_of(sizes.vocabulary, sizes.lowercase, *read)
    heads = checked_heads(name, spec, corpus.task)
    model = scratch_encoder(
        vocabulary=tokenizer.get_vocab_size(),
        hidden_dim=sizes.hidden_dim,
        layers=sizes.layers,
        attention_heads=sizes.heads,
        intermediate_dim=sizes.intermediate_dim,
        max_positions=spec.max_length,
        outputs=outputs_of(corpus.task),
        heads=heads,
        attention=spec.attention,
        embedding_dropout=spec.embedding_dropout,
        head_dropout=spec.head_dropout,
        pooling=spec.pooling or "cls",
        **hashed_arguments(name, spec, heads),
        seed=models.recipe.seed_of(name),
    )
    return _encoder(model, tokenizer, {}, spec, models)


def task_heads(heads: list[str] | Mapping[str, HeadPart], task: Task) -> HeadKinds:
    """The heads of an entry, with the labels of the task's words for kinds that read them.

    Raises:
        ValueError: labels that are no words' labels.
    """
    found = {name: dict(given) for name, given in check_heads(kinds_of(heads)).items()}
    for output in task.outputs:
        for name, given in found.items():
            kind = HEADS.get(given["kind"])
            if output.level != "word" or kind is None or not kind.reads_labels:
                continue
            if CONTINUATION in output.labels:
                raise ValueError(
                    f"head {name!r}: the paths of a {given['kind']} are over words; set "
                    "task.continuation: false"
                )
            given["labels"] = list(output.labels)
    return found


def checked_heads(name: str, spec: EncoderSpec, task: Task) -> HeadKinds:
    """The heads of an encoder, found to be such as an encoder can have.

    Raises:
        RecipeError: an unknown kind of head, options that it does not have, or fine-tuning without
            a head for the task.
    """
    try:
        heads = task_heads(spec.heads, task)
        specs = specs_of(heads, check_outputs(outputs_of(task)), vocabulary=1)
    except ValueError as error:
        raise RecipeError(f"models.{name}.heads: {error}") from None
    _check_pooling(name, spec, task, [one.level for one in specs.values()])
    if spec.fine_tune and all(one.level == "subword" for one in specs.values()):
        raise RecipeError(
            f"models.{name}.fine_tune: none of the heads {', '.join(heads)} scores the task; add a "
            "linear one, or set fine_tune: false"
        )
    return heads


def _check_pooling(name: str, spec: EncoderSpec, task: Task, levels: Sequence[str]) -> None:
    if spec.pooling is not None and "sequence" not in levels:
        raise RecipeError(
            f"models.{name}.pooling: {spec.pooling} is for labels of whole texts, and none of its "
            "heads gives them; leave it out"
        )
    if spec.pooling == "compare" and task.kind != "pair":
        raise RecipeError(
            f"models.{name}.pooling: compare is for pairs of texts, and the task is {task.kind}; "
            "use mean, or leave it out"
        )


def hashed_arguments(name: str, spec: EncoderSpec, heads: HeadKinds) -> dict[str, Any]:
    """What the constructor of an encoder has to know of the hashes that it reads.

    Raises:
        RecipeError: a head that scores masked pieces, which the hashes of their words would tell,
            or hashes that there are not.
    """
    if spec.hashed_dim is None:
        return {}
    if masked := [head for head, given in heads.items() if given["kind"] == "mlm"]:
        raise RecipeError(
            f"models.{name}: hashed_dim does not go with the masked-language head "
            f"{masked[0]}, since the hashes of a word tell which pieces of it are masked"
        )
    try:
        return {"hashed_dim": spec.hashed_dim, **features_of(projection_of(spec.hashing))}
    except ValueError as error:
        raise RecipeError(f"models.{name}: {error}") from None


def _check_hashing(name: str, spec: EncoderSpec, folder: Path) -> None:
    """Weights that were trained on other hashes would read noise.

    Raises:
        RecipeError: the checkpoint has such weights.
    """
    if (file := folder / PROJECTION).is_file():
        theirs, own = ProjectionSpec.from_bytes(file.read_bytes()), projection_of(spec.hashing)
        if theirs != own:
            raise RecipeError(
                f"models.{name}.hashing: {own.to_json()}, but the checkpoint was trained with "
                f"{theirs.to_json()} ({file.name} in its folder)"
            )


def _encoder(
    model: Any, tokenizer: Any, names: dict[str, str], spec: EncoderSpec, models: Models
) -> ModelRecord:
    featurizer: Any = SubwordFeaturizer.from_tokenizer(
        tokenizer,
        min(spec.max_length, model.config.max_length),
        names=names,
        alignment=alignment(models.corpus.task),
        token_types=model.config.type_vocabulary > 1,
    )
    if spec.hashed_dim is not None:
        featurizer = HashedSubwordFeaturizer(featurizer, projection_of(spec.hashing))
    return ModelRecord(model, featurizer, {"kind": ENCODER})


def from_kind(name: str, spec: StudentSpec, models: Models) -> ModelRecord:
    """A registered student with fresh weights, that reads and begins with what the recipe says.

    Raises:
        RecipeError: arguments that do not fit the kind of student.
    """
    try:
        return _student(name, resolved(spec, models.base), models)
    except (TypeError, ValueError, MemoryError) as error:
        raise RecipeError(f"models.{name}: {error}") from error


def _student(name: str, spec: StudentSpec, models: Models) -> ModelRecord:
    corpus = models.corpus
    _check_options(spec)
    read = READS[student_class(spec.kind).reads]
    encoder, vectors = partial(_encoder_of, spec, models), partial(_vectors, spec, models)
    # All students of a run read alike, whatever their seeds, so that they have a mean.
    inputs = read(spec, encoder, vectors, corpus, models.recipe.seed)
    arguments = {
        "kind": spec.kind,
        "outputs": outputs_of(corpus.task),
        "heads": task_heads(spec.heads, corpus.task),
        "seed": models.recipe.seed_of(name),
        **inputs.arguments,
        **spec.options,
    }
    if spec.projection:
        arguments |= {
            "projection": _encoder_of(spec, models).model.config.hidden_dim,
            "projection_activation": spec.projection_activation,
            "head_input": spec.head_input,
        }
    model = build_student(**arguments)
    longest = getattr(model, "max_positions", spec.max_length)
    if longest < spec.max_length:
        raise ValueError(
            f"max_length is {spec.max_length}, but the student reads {longest} positions; set its "
            "max_positions"
        )
    if inputs.table is not None:
        model.set_embedding(inputs.table)
    facts = dict(inputs.facts)
    if inputs.words is not None:
        facts["words_with_vectors"] = model.word_vectors.assign(*inputs.words)
    return ModelRecord(model, inputs.featurizer, arguments, facts)


def _encoder_of(spec: StudentSpec, models: Models) -> ModelRecord:
    """The encoder whose pieces, vectors and width a student takes.

    Raises:
        ValueError: there is none.
    """
    if spec.encoder not in models.recipe.models:
        raise ValueError(
            f"it reads the word pieces of models.{spec.encoder}, which there is not; name an "
            "encoder with encoder:, or choose a kind that reads hashed words"
        )
    if isinstance(models.recipe.root_spec(spec.encoder), StudentSpec):
        raise ValueError(
            f"it reads the word pieces of models.{spec.encoder}, which is no encoder; name one "
            "with encoder:"
        )
    return models[spec.encoder]


def _vectors(spec: StudentSpec, models: Models) -> np.ndarray:
    """The word embeddings ``[V, D]`` that a student may begin with: tuned, or the checkpoint's."""
    if spec.embedding.of == "pretrained":
        encoder: Any = models.recipe.models[spec.encoder]
        return word_embeddings(beside(models.base, encoder.checkpoint))
    return np.asarray(_encoder_of(spec, models).model.word_embeddings)


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
            + "".join(f"; {key}: {RENAMED[key]}" for key in unknown if key in RENAMED)
        )


def resolved(spec: StudentSpec, base: Path) -> StudentSpec:
    """The same with the paths of its files of vectors relative to the working directory."""
    files = {
        key: part.model_copy(update={"vectors": str(base / part.vectors)})
        for key, part in (("embedding", spec.embedding), ("words", spec.words))
        if part is not None and part.vectors is not None
    }
    return spec.model_copy(update=files)


def from_model(name: str, spec: DerivedSpec, models: Models) -> ModelRecord:
    """Another model as it is now, changed by the transforms in order.

    Raises:
        RecipeError: an unknown transform, options that it does not have, or a model that it cannot
            change.
    """
    before = models[spec.from_]
    record = before
    for number, change in enumerate(spec.apply):
        try:
            record = apply_transform(change.kind, record, models.corpus, change.options)
        except (TypeError, ValueError, CheckpointError, DataError) as error:
            raise RecipeError(f"models.{name}.apply.{number}: {error}") from error
    return copy_of(record) if record is before else record


def from_beginning(name: str, spec: BaselineSpec, models: Models) -> ModelRecord:
    """A model as it is before any training, its own and that of what it begins as."""
    del name
    return models.fresh(models.recipe.lineage(spec.baseline_of)[-1])


def from_several(name: str, spec: MeanSpec, models: Models) -> ModelRecord:
    """Several models as one.

    Raises:
        RecipeError: models that read other pieces than the first, or score in another way.
    """
    try:
        return mean_of({one: models[one] for one in spec.mean_of}, spec.mean)
    except ValueError as error:
        raise RecipeError(f"models.{name}.mean_of: {error}") from None


ORIGINS: dict[str, Callable[..., ModelRecord]] = {
    "checkpoint": from_checkpoint,
    "scratch": from_scratch,
    "kind": from_kind,
    "from": from_model,
    "baseline_of": from_beginning,
    "mean_of": from_several,
}
"""``(name, spec, models)`` to a model, by the key of its entry in ``models``."""
