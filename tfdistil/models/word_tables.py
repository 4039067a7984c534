"""What a student's table of whole words begins with: which words, and the vector of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfdistil.data.example import Example
from tfdistil.distill.forward import SignalReader
from tfdistil.distill.rows import encode_rows
from tfdistil.models.record import ModelRecord
from tfdistil.recipe.schema.models import WordsSpec
from tfdistil.students.embeddings import read_vectors, svd_embedding, width_of_vectors
from tfdistil.students.word_vectors import KEY_BYTES, places
from tfdistil.text.projection import ProjectionSpec, fingerprints

_FAMILY = "murmur"
_LEAST_FEATURES = 32
"""Of `_FAMILY`: the bytes of a key, and the last byte, which `capitalization` may change."""
_BATCH = 256


class WordTable(NamedTuple):
    """Words with vectors, those that matter most first.

    Attributes:
        keys: six bytes of each word's fingerprint, uint8 ``[words, KEY_BYTES]``.
        vectors: float32 ``[words, E]``.
    """

    keys: np.ndarray
    vectors: np.ndarray


def word_arguments(spec: WordsSpec, projection: ProjectionSpec) -> dict[str, int]:
    """What the constructor of `tfdistil.students.word_vectors.WordVectors` is to be told.

    Raises:
        ValueError: hashes of which no word could be told.
    """
    before = 0
    for family, features in projection.families:
        if family == _FAMILY and features >= _LEAST_FEATURES:
            sizes = {"rows": spec.rows, "dim": spec.dim, "codes": spec.codes}
            return {**sizes, "first_byte": before // 4}
        before += features
    found = ", ".join(f"{family}: {features}" for family, features in projection.families)
    raise ValueError(
        f"words are found by {_LEAST_FEATURES} features or more of the hash family {_FAMILY!r}; "
        f"hashing.families has {found}"
    )


def word_table(
    spec: WordsSpec,
    projection: ProjectionSpec,
    words: Mapping[str, int],
    encoder: ModelRecord,
    seed: int,
) -> WordTable:
    """The words of a text, frequent ones first, then those of a file, each with its vector.

    Args:
        spec: where the vectors come from.
        projection: what fingerprints are.
        words: of the text, and how often each occurs.
        encoder: whose states are the vectors, unless they come from a file.
        seed: of random vectors.

    Raises:
        ValueError: vectors that are narrower than ``dim``, or none at all.
        DataError: a file of vectors that cannot be read.
    """
    often = sorted(filter(str.strip, words), key=lambda word: (-words[word], word))
    known: dict[str, np.ndarray] = {}
    if spec.init == "vectors":
        assert spec.vectors is not None
        spelled = {*often, *map(str.lower, often)}
        found = read_vectors(spec.vectors, spelled, first=spec.rows)
        vector_of = {word: found.get(word, found.get(word.lower())) for word in often}
        known = {word: vector for word, vector in vector_of.items() if vector is not None}
        known |= {word: vector for word, vector in found.items() if word not in known}
        often = [*known]
    first = word_arguments(spec, projection)["first_byte"]
    keys = fingerprints(often, projection)[:, first : first + KEY_BYTES]
    # Of a large text most words find no row: only the others need vectors.
    placed = places(keys, spec.rows) >= 0
    keys, often = keys[placed], [*compress(often, placed)]
    if not often:
        raise ValueError("words: there is no word to begin with in train, transfer and file")
    if spec.init == "random":
        normal = np.random.default_rng(seed).normal(size=(len(often), spec.dim))
        return WordTable(keys, normal.astype(np.float32))
    if spec.init == "teacher":
        vectors = states_of_words(encoder, often)
    else:
        vectors = np.stack([known[word] for word in often])
    return WordTable(keys, svd_embedding(vectors - vectors.mean(axis=0), spec.dim))


def states_of_words(encoder: ModelRecord, words: Sequence[str]) -> np.ndarray:
    """What an encoder's last layer says of each word by itself, where it is scored.

    That is its first piece; the mean over all where the task has a label for the others, too.

    Args:
        encoder: reads word pieces.
        words: zeros are the states of one without pieces.

    Returns:
        float32 ``[words, D]``.
    """
    rows = encode_rows([Example((word,)) for word in words], encoder.featurizer, None)
    found = np.zeros((len(words), encoder.model.config.hidden_dim), np.float32)
    for at, signals in SignalReader(encoder.model, ["hidden"]).examples(rows, _BATCH):
        if len(states := signals["hidden"]):
            found[at] = states.mean(axis=0)
    return found


def check_words(spec: WordsSpec, hidden_dim: int) -> None:
    """Find out whether a table of words can begin as a recipe says.

    Args:
        spec: with the path of a file as it is to be opened.
        hidden_dim: D, of the encoder.

    Raises:
        ValueError: vectors that are narrower than ``dim``.
        DataError: a file of vectors that cannot be read.
    """
    if spec.init == "random":
        return
    width = hidden_dim if spec.vectors is None else width_of_vectors(Path(spec.vectors))
    if width < spec.dim:
        raise ValueError(f"words.dim is {spec.dim}, but the vectors have {width} columns")
