"""A language of eight words whose tags can be learnt, two tokenizers for it, and tiny models."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import pytest

from tfdistil.data.example import Example
from tfdistil.distill.bound_stage import BoundStage, bind_stage
from tfdistil.distill.rows import encode_rows
from tfdistil.encoders import scratch_encoder
from tfdistil.recipe.schema.stages import StageSpec
from tfdistil.students.bilstm import BiLSTMStudent
from tfdistil.tasks import Tags
from tfdistil.text.pretrained import bert_tokenizer
from tfdistil.text.subwords import SubwordFeaturizer

TAG_OF = {
    "berlin": "B-LOC",
    "paris": "B-LOC",
    "anna": "B-PER",
    "otto": "B-PER",
    "sees": "O",
    "in": "O",
    "the": "O",
    "sun": "O",
}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PIECES = {
    "words": (*SPECIAL, *TAG_OF),
    "pieces": (
        *SPECIAL,
        *[
            "ber",
            "##lin",
            "par",
            "##is",
            "an",
            "##na",
            "ot",
            "##to",
            "see",
            "##s",
            "in",
            "the",
            "s",
            "##u",
            "##n",
        ],
    ),
}
"""Vocabularies: a piece per word, and up to three of them."""


@dataclass(frozen=True)
class Model:
    """A model with its featurizer, as a schedule wants it."""

    model: Any
    featurizer: SubwordFeaturizer


class Tagger(keras.Model):
    """The cheapest student: embedding, normalization with running statistics, two dense layers."""

    def __init__(self, vocabulary: int, labels: int, seed: int, dropout: float = 0.0):
        super().__init__(name="tagger")

        def start(part: int) -> keras.Initializer:
            return keras.initializers.GlorotUniform(seed + part)

        self.embedding = keras.layers.Embedding(vocabulary, 6, embeddings_initializer=start(0))
        self.norm = keras.layers.BatchNormalization(momentum=0.5)
        self.inner = keras.layers.Dense(8, "tanh", kernel_initializer=start(1))
        self.dropout = keras.layers.Dropout(dropout, seed=seed + 2)
        self.head = keras.layers.Dense(labels, kernel_initializer=start(3), name="head")
        self({"input_ids": np.zeros((1, 1), np.int32)})

    def call(self, inputs: Any, training: bool | None = None) -> dict[str, Any]:
        embedded = self.norm(self.embedding(inputs["input_ids"]), training=training)
        hidden = self.inner(embedded)
        return {
            "hidden": hidden,
            "labels/tags": self.head(self.dropout(hidden, training=training)),
        }

    def level(self, signal: str) -> str:
        return {"hidden": "subword", "labels/tags": "subword"}[signal]

    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        return [
            ("heads", self.head.weights),
            ("inner", self.inner.weights),
            ("norm", self.norm.weights),
            ("embedding", self.embedding.weights),
        ]


@pytest.fixture(scope="session")
def make_examples():
    """``(number, seed, longest=12)`` to labelled sentences, some of them empty."""

    def make(number: int, seed: int, longest: int = 12) -> list[Example]:
        draw = random.Random(seed)
        texts = [draw.choices(list(TAG_OF), k=draw.randint(0, longest)) for _ in range(number)]
        return [
            Example(tuple(words), tuple(TAG_OF[w] for w in words), source=f"toy:{i + 1}")
            for i, words in enumerate(texts)
        ]

    return make


@pytest.fixture(scope="session")
def make_featurizer():
    """``(kind, max_length, alignment, token_types)`` to a featurizer; the kind is of `PIECES`."""

    def make(
        kind: str, max_length: int = 48, alignment: Any = "first", token_types: bool = False
    ) -> SubwordFeaturizer:
        vocabulary = {piece: i for i, piece in enumerate(PIECES[kind])}
        tokenizer = bert_tokenizer(vocabulary, lowercase=True, strip_accents=False)
        return SubwordFeaturizer.from_tokenizer(
            tokenizer, max_length, alignment=alignment, token_types=token_types
        )

    return make


@pytest.fixture(scope="session")
def task(make_examples) -> Tags:
    return Tags.from_examples(make_examples(30, seed=0))


@pytest.fixture(scope="session")
def labels(task) -> int:
    return len(task.outputs[0].labels)


@pytest.fixture(scope="session")
def teacher(make_featurizer, labels) -> Model:
    """A one-layer encoder with random weights; sees whole words."""
    encoder = scratch_encoder(
        len(PIECES["words"]),
        hidden_dim=8,
        layers=1,
        max_positions=48,
        outputs={"tags": ("word", labels)},
        pooler=True,
        seed=1,
    )
    return Model(encoder, make_featurizer("words", token_types=True))


@pytest.fixture(scope="session")
def make_bilstm(make_featurizer, labels):
    """``(seed, **options)`` to a BiLSTM student of width 4 that sees word pieces."""

    def make(seed: int = 2, **options: Any) -> Model:
        outputs = {"tags": ("word", labels)}
        student = BiLSTMStudent(len(PIECES["pieces"]), 4, 4, outputs, seed=seed, **options)
        return Model(student, make_featurizer("pieces"))

    return make


@pytest.fixture(scope="session")
def make_tagger(make_featurizer, labels):
    """``(seed, dropout=0)`` to a `Tagger` that sees word pieces."""

    def make(seed: int = 2, dropout: float = 0.0) -> Model:
        return Model(
            Tagger(len(PIECES["pieces"]), labels, seed, dropout), make_featurizer("pieces")
        )

    return make


@pytest.fixture(scope="session")
def make_rows(make_featurizer, task):
    """``(examples, kind="pieces", max_length=48)`` to encoded rows."""

    def make(examples: list[Example], kind: str = "pieces", max_length: int = 48):
        return encode_rows(examples, make_featurizer(kind, max_length), task)

    return make


@pytest.fixture
def bind_with(make_examples, make_featurizer, task):
    """``(stage, student, teacher)`` to the stage bound to them; the student sees word pieces."""

    def run(stage: StageSpec, student: Any, teacher: Model | None) -> BoundStage:
        models = {stage.student: Model(student, make_featurizer("pieces"))}
        models |= {} if teacher is None else {"teacher": teacher}
        sets = {name: make_examples(4, seed=9) for name in ("train", "dev")}
        return bind_stage(stage, models, sets, task)

    return run


@pytest.fixture
def bind(bind_with):
    """``(stage, student)`` to a stage without a teacher."""
    return lambda stage, student: bind_with(stage, student, None)
