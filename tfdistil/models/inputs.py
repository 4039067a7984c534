"""What a student reads, as the recipe says: word pieces with vectors, hashed words, or both.

A kind of student names its reader in the attribute ``reads``; a new way to read is one function
here and one line in `READS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tokenizers import Tokenizer

from tfdistil.corpus.loading import Corpus
from tfdistil.data.example import Example
from tfdistil.errors import RecipeError
from tfdistil.models.word_tables import WordTable, word_arguments, word_table
from tfdistil.recipe.schema.models import EmbeddingSpec, HashingSpec, StudentSpec
from tfdistil.students.embeddings import (
    MARKS,
    pca_ppa_embedding,
    read_vectors,
    svd_embedding,
    vectors_for_vocabulary,
    width_of_vectors,
)
from tfdistil.students.own_pieces import fitted_to_words, vectors_of_pieces
from tfdistil.tasks import Task
from tfdistil.text.featurizer import Featurizer
from tfdistil.text.hashed_subwords import HashedSubwordFeaturizer
from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec
from tfdistil.text.prune import (
    most_frequent_pieces,
    needed_pieces,
    occurring_pieces,
    prune_tokenizer,
)
from tfdistil.text.subwords import SubwordFeaturizer
from tfdistil.text.train_tokenizer import fewest_pieces, train_wordpiece

HASHED = "hashed_dim"
"""The argument of students of word pieces that read the hashes of words beside them."""
Encoder = Callable[[], Any]
"""Gives the record of the encoder that a student takes its pieces from."""
Vectors = Callable[[], np.ndarray]


@dataclass(frozen=True)
class StudentInputs:
    """What feeds a student.

    Attributes:
        featurizer: makes its inputs.
        arguments: what its constructor has to know of them.
        table: word embeddings to begin with, ``[V, E]``; None for random ones, or none at all.
        words: what a table of whole words begins with, where there is one.
        facts: counts worth reporting.
    """

    featurizer: Featurizer
    arguments: dict[str, Any]
    table: np.ndarray | None = None
    words: WordTable | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def alignment(task: Task) -> Literal["first", "x"]:
    """Which pieces of a word are scored, by whether the task has the label ``X``."""
    return "x" if any(o.labels[-1:] == ("X",) for o in task.outputs) else "first"


def sentences(*sets: Iterable[Example]) -> Iterable[tuple[str, ...]]:
    """All sentences of some sets, both of each pair."""
    for example in chain(*sets):
        yield tuple(example.words)
        if example.second:
            yield tuple(example.second)


def wordpieces_of(vocabulary: int, lowercase: bool, *sets: Iterable[Example]) -> Tokenizer:
    """A WordPiece tokenizer made of all sentences of some sets, see `train_wordpiece`."""
    texts = (" ".join(words) for words in sentences(*sets))
    return train_wordpiece(texts, vocabulary, lowercase=lowercase)


def piece_inputs(
    spec: StudentSpec, encoder: Encoder, word_vectors: Vectors, corpus: Corpus, seed: int
) -> StudentInputs:
    """Word pieces: an encoder's, those of them that occur, or a vocabulary of the student's own.

    Args:
        spec: of the student.
        encoder: gives the encoder.
        word_vectors: gives its word embeddings, ``[V, D]``.
        corpus: what has to be spelled: train, transfer and augmented text.
        seed: of vectors for pieces and words that have none.
    """
    featurizer = encoder().featurizer.subwords
    tokenizer, vectors = featurizer.tokenizer, word_vectors()
    names = featurizer.special_names()
    read = (corpus.train, corpus.transfer, corpus.augmented)
    if spec.tokenizer is not None:
        kept = wordpieces_of(spec.tokenizer.vocabulary, spec.tokenizer.lowercase, *read)
        names = {}
    elif spec.prune_vocabulary:
        kept, old = _pruned(spec, featurizer, sentences(*read))
        vectors = vectors[old]
    else:
        kept = tokenizer
    own_featurizer = SubwordFeaturizer.from_tokenizer(
        kept,
        spec.max_length,
        names=names,
        alignment=alignment(corpus.task),
        token_types=False,
    )
    if spec.tokenizer is not None:
        guess = vectors_of_pieces(vectors, featurizer, own_featurizer)
        words = Counter(chain.from_iterable(sentences(*read)))
        vectors = fitted_to_words(guess, vectors, featurizer, own_featurizer, words)
    facts = {"pieces": len(vectors), "teacher_pieces": tokenizer.get_vocab_size()}
    table, overlap = _table(spec.embedding, vectors, kept, seed)
    if overlap is not None:
        facts["pieces_with_vectors"] = overlap
    arguments = {"vocabulary": len(vectors), "embedding": spec.embedding.dim}
    if spec.options.get(HASHED) is None and spec.words is None:
        if HASHED not in spec.options and spec.hashing != HashingSpec():
            raise ValueError(f"hashing needs {HASHED} or words, without which no hashes are read")
        return StudentInputs(own_featurizer, arguments, table, facts=facts)
    projection = projection_of(spec.hashing)
    both = HashedSubwordFeaturizer(own_featurizer, projection)
    hashed = features_of(projection)
    known = None
    if spec.words is not None:
        hashed["words"] = word_arguments(spec.words, projection)
        counts = Counter(chain.from_iterable(sentences(*read)))
        known = word_table(spec.words, projection, counts, encoder(), seed)
    return StudentInputs(both, arguments | hashed, table, known, facts)


def _pruned(
    spec: StudentSpec, featurizer: SubwordFeaturizer, text: Iterable[tuple[str, ...]]
) -> tuple[Tokenizer, np.ndarray]:
    """The tokenizer with the pieces that a text needs, and their old ids."""
    if spec.max_pieces is None:
        needed = occurring_pieces(featurizer, text, spec.min_sentences)
        return prune_tokenizer(featurizer.tokenizer, needed | {*featurizer.special_ids()})
    with _naming_the_limit():
        often, seen = most_frequent_pieces(featurizer, text, spec.max_pieces, spec.min_sentences)
    return prune_tokenizer(featurizer.tokenizer, often, seen)


@contextmanager
def _naming_the_limit() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"max_pieces: {error}") from None


def check_pieces(spec: StudentSpec, featurizer: SubwordFeaturizer, corpus: Corpus) -> None:
    """Find out whether a student's pieces are enough for its text, before its teacher is trained.

    Args:
        spec: of a student that reads the pieces of ``featurizer``.
        featurizer: of its encoder.
        corpus: what has to be spelled.

    Raises:
        ValueError: `max_pieces` or `tokenizer.vocabulary` is less than the characters and special
            pieces.
        DataError: there is no text to make pieces of.
    """
    text = sentences(corpus.train, corpus.transfer, corpus.augmented)
    if spec.tokenizer is not None:
        lines = (" ".join(words) for words in text)
        needed = fewest_pieces(lines, lowercase=spec.tokenizer.lowercase)
        if spec.tokenizer.vocabulary < needed:
            raise ValueError(
                f"tokenizer.vocabulary is {spec.tokenizer.vocabulary:,}, but special pieces and "
                f"characters alone are {needed:,}; give {needed:,} or more"
            )
    elif spec.max_pieces is not None:
        with _naming_the_limit():
            needed_pieces(featurizer, chain.from_iterable(text), spec.max_pieces)


def _table(
    spec: EmbeddingSpec, vectors: np.ndarray, tokenizer: Any, seed: int
) -> tuple[np.ndarray | None, int | None]:
    """Word embeddings to begin with, and how many pieces a file of vectors knows."""
    if spec.init == "svd":
        return svd_embedding(vectors, spec.dim), None
    if spec.init == "pca_ppa":
        return pca_ppa_embedding(vectors, spec.dim, spec.directions), None
    if spec.init == "teacher":
        return vectors, None
    if spec.init == "vectors":
        assert spec.vectors is not None
        pieces = [tokenizer.id_to_token(i) or "" for i in range(len(vectors))]
        spelled = {piece.removeprefix(mark) for piece in pieces for mark in ("", *MARKS)}
        wanted = spelled | {piece.lower() for piece in spelled}
        found = vectors_for_vocabulary(pieces, read_vectors(Path(spec.vectors), wanted), seed)
        return found.table, int(found.known.sum())
    return None, None


def check_table(spec: EmbeddingSpec, hidden_dim: int) -> None:
    """Find out whether embeddings can begin as a recipe says.

    Args:
        spec: with the path of a file as it is to be opened.
        hidden_dim: D, of the teacher's table.

    Raises:
        ValueError: a width that table or file do not have.
        DataError: a file of vectors that cannot be read.
    """
    if spec.vectors is not None:
        found = width_of_vectors(Path(spec.vectors))
    else:
        table, _ = _table(spec, np.eye(2, hidden_dim), None, 0)
        found = spec.dim if table is None else table.shape[1]
    if found != spec.dim:
        raise ValueError(f"embedding dimension is {spec.dim}, but the table's is {found}")


def projection_inputs(
    spec: StudentSpec, encoder: Encoder, word_vectors: Vectors, corpus: Corpus, seed: int
) -> StudentInputs:
    """Hashed words: nothing but the words themselves decides about the inputs."""
    del encoder, word_vectors, corpus, seed
    given = spec.drops_pieces or ("embedding" if spec.embedding != EmbeddingSpec() else None)
    given = given or ("words" if spec.words else None)
    if given:
        raise ValueError(f"{given} is of students that read word pieces")
    projection = projection_of(spec.hashing)
    return StudentInputs(ProjectionFeaturizer(projection, spec.max_length), features_of(projection))


def projection_of(keys: HashingSpec) -> ProjectionSpec:
    """What ``hashing`` of an entry says.

    Raises:
        ValueError: families or a map that there are not.
    """
    try:
        return ProjectionSpec(
            families=tuple(keys.families.items()),
            map=keys.map,
            normalization=keys.normalization,
            lowercase=keys.lowercase,
            capitalization=keys.capitalization,
            eos=keys.eos,
            shape=keys.shape,
        )
    except RecipeError as error:
        raise ValueError(f"hashing: {error}") from None


def features_of(projection: ProjectionSpec) -> dict[str, Any]:
    """What a constructor has to know of a projection."""
    return {"features": projection.features, "ternary_map": projection.map}


READS: dict[str, Callable[..., StudentInputs]] = {
    "pieces": piece_inputs,
    "hashes": projection_inputs,
}
"""By the word a kind of student has in ``reads``."""
