"""What students of word pieces have in common: a table of embeddings, and words beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
from keras import ops

from tfdistil.arguments import check_rates, check_sizes
from tfdistil.encoders.hashed_words import HashedWords
from tfdistil.heads.spec import Level
from tfdistil.students.base import Student
from tfdistil.students.product_embedding import ProductEmbedding
from tfdistil.students.word_vectors import WordVectors, check_first_byte

MOST_ROWS = 10**7
"""Of an embedding table."""
_SEED_OF_HASHES, _SEED_OF_WORDS = 5000, 6000
"""Far from those of the parts of any student."""


class PieceStudent(Student):
    """A student with a row of a table for each word piece, and the hashes of its word if it likes.

    A subclass defines `_read`, and what `Student` asks for beside `_body` and `input_specs`. It
    makes its table with `_add_table`, or has one of its own and `word_embeddings`.

    Args:
        vocabulary: V, rows of the embedding table.
        embedding: E, its width.
        hashed_dim: width of the hashed features of a piece's word, which stand behind its
            embedding; None: pieces alone.
        features: N, of `HashedWords`; where there is ``hashed_dim`` or ``words``, and only there.
        ternary_map: of `HashedWords`.
        words: arguments of `WordVectors`, whose vectors of words stand behind both; None: none.
        outputs, heads, dropout, projection, projection_activation, head_input,
            intent_condition, seed: as of `Student`.

    Raises:
        ValueError: no sizes, one of ``hashed_dim`` and ``features`` without the other, or what
            `Student` and `HashedWords` raise.
    """

    reads = "pieces"

    def __init__(
        self,
        vocabulary: int,
        embedding: int,
        outputs: Mapping[str, tuple[Level, int]],
        heads: Sequence[str] | Mapping[str, str | Mapping[str, Any]],
        dropout: float,
        projection: int | None,
        projection_activation: str,
        head_input: str,
        intent_condition: bool,
        seed: int | None,
        hashed_dim: int | None,
        features: int | None,
        ternary_map: str,
        words: Mapping[str, int] | None,
        **kwargs: Any,
    ):
        check_sizes(MOST_ROWS, vocabulary=vocabulary)
        check_sizes(embedding=embedding)
        super().__init__(
            outputs,
            heads,
            dropout,
            projection,
            projection_activation,
            head_input,
            intent_condition,
            seed,
            **kwargs,
        )
        self.vocabulary, self.embedding_width = vocabulary, embedding
        if words is None and (hashed_dim is None) != (features is None):
            raise ValueError(
                f"hashed_dim and features go together; got {hashed_dim} and {features}"
            )
        if words is not None and features is None:
            raise ValueError("words are found by features of their hashes; got features None")
        self.hashed_dim, self.features, self.ternary_map = hashed_dim, features, ternary_map
        self.hashed_words = (
            None
            if hashed_dim is None or features is None
            else HashedWords(
                hashed_dim,
                features,
                ternary_map,
                self._seed(_SEED_OF_HASHES),
                dtype=self.dtype_policy,
                name="hashed_words",
            )
        )

        self.words = None if words is None else dict(words)
        if words is not None and features is not None:
            check_first_byte(words.get("first_byte", 0), features)
        self.word_vectors = (
            None
            if words is None
            else WordVectors(
                **words,
                seed=self._seed(_SEED_OF_WORDS),
                dtype=self.dtype_policy,
                name="word_vectors",
            )
        )

    @property
    def _readers(self) -> list[tuple[keras.layers.Layer, int]]:
        """What reads the fingerprint of a piece's word, and how wide each is."""
        hashes, vectors = self.hashed_words, self.word_vectors
        readers: list[tuple[keras.layers.Layer, int]] = []
        if hashes is not None:
            readers.append((hashes, hashes.units))
        if vectors is not None:
            readers.append((vectors, vectors.dim))
        return readers

    @property
    def read_width(self) -> int:
        """Of embedding, hashed features and vectors of words together."""
        return self.embedding_width + sum(width for _, width in self._readers)

    def _build_readers(self) -> list[int]:
        """Create the weights of what reads words; returns how wide each is."""
        for reader, _ in self._readers:
            reader.build()
        return [width for _, width in self._readers]

    def _add_table(self, codes: int | None, dropout: float | None) -> None:
        """Make ``embedding`` and ``embedding_dropout``.

        Args:
            codes: bytes for a word piece, which divide E: the table is then a product of that many
                codebooks. None: E numbers.
            dropout: rate after it; None: that in front of the heads.

        Raises:
            ValueError: no rate, or codes that do not divide E.
        """
        dropout = self.dropout if dropout is None else dropout
        check_rates(embedding_dropout=dropout)
        rows, width = self.vocabulary, self.embedding_width
        options = {"dtype": self.dtype_policy, "name": "embedding"}
        self.embedding_codes = codes
        if codes is not None:
            self.embedding = ProductEmbedding(rows, width, codes, self._seed(0), **options)
        else:
            start = keras.initializers.RandomNormal(stddev=width**-0.5, seed=self._seed(0))
            self.embedding = keras.layers.Embedding(
                rows, width, embeddings_initializer=start, **options
            )
        self.embedding_dropout = keras.layers.Dropout(
            dropout, seed=self._seed(1), dtype=self.dtype_policy
        )

    @property
    def word_embeddings(self) -> Any:
        """What takes an embedding table ``[V, E]`` by ``assign``, such as a variable."""
        coded = isinstance(self.embedding, ProductEmbedding)
        return self.embedding if coded else self.embedding.embeddings

    def _read(
        self, ids: Any, beside: list[Any], mask: Any, training: bool | None, exporting: bool
    ) -> dict[str, Any]:
        """`_body` of ids and mask, int ``[B, T]``; ``beside`` is what is read of words."""
        raise NotImplementedError

    @staticmethod
    def _beside(embedding: Any, beside: list[Any]) -> Any:
        """Embeddings ``[B, T, E]`` with what is read of words behind them."""
        if not beside:
            return embedding
        others = [ops.cast(one, embedding.dtype) for one in beside]
        return ops.concatenate([embedding, *others], axis=-1)

    def _tables(self, *layers: keras.layers.Layer) -> list[keras.Variable]:
        """The weights of these layers, and the table of words where there is one."""
        tables = [*layers] if self.word_vectors is None else [*layers, self.word_vectors]
        return [weight for layer in tables for weight in layer.weights]

    def _hashed_weights(self) -> list[keras.Variable]:
        return [] if self.hashed_words is None else self.hashed_words.weights

    def _body(
        self, inputs: Mapping[str, Any], training: bool | None, exporting: bool
    ) -> dict[str, Any]:
        """See `Student._body`.

        Args:
            inputs: ``input_ids`` int ``[B, T]``, padded on the right; ``attention_mask`` int
                ``[B, T]`` (1 = real; default all real); with ``hashed_dim`` or ``words``
                also ``fingerprint`` uint8 ``[B, T, N / 4]``.
            training: whether dropout is on.
            exporting: whether this is the graph for the converter.
        """
        ids, mask = inputs["input_ids"], inputs.get("attention_mask")
        beside = [reader(inputs["fingerprint"]) for reader, _ in self._readers]
        mask = ops.ones_like(ids) if mask is None else mask
        return self._read(ids, beside, mask, training, exporting)

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        """What a device feeds: ``input_ids``, ``attention_mask``, of words ``fingerprint``."""
        shape = (batch, length)
        names = ("input_ids", "attention_mask")
        specs = [keras.InputSpec(shape=shape, dtype="int32", name=name) for name in names]
        if self.features is not None:
            size = (*shape, self.features // 4)
            specs.append(keras.InputSpec(shape=size, dtype="uint8", name="fingerprint"))
        return specs

    def set_embedding(self, table: Any) -> None:
        """Start the word embeddings from a table.

        Args:
            table: ``[V, E]``, such as `tfdistil.students.embeddings.svd_embedding` gives.

        Raises:
            ValueError: a table of another shape.
        """
        expected = (self.vocabulary, self.embedding_width)
        if tuple(table.shape) != expected:
            raise ValueError(
                f"the student's embedding table is {expected}, got {tuple(table.shape)}; use the "
                "teacher's vocabulary and an embedding dimension equal to the table's"
            )
        self.word_embeddings.assign(table)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "vocabulary": self.vocabulary,
            "embedding": self.embedding_width,
            "hashed_dim": self.hashed_dim,
            "features": self.features,
            "ternary_map": self.ternary_map,
            "words": self.words,
        }
