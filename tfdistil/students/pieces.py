"""What students that read word pieces have in common: a table of embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
from keras import ops

from tfdistil.heads.spec import Level
from tfdistil.students.arguments import check_sizes
from tfdistil.students.base import Student

MOST_ROWS = 10**7
"""Of an embedding table."""


class PieceStudent(Student):
    """A student with a row of a table for each word piece.

    A subclass defines `word_embeddings`, `_read`, and what `Student` asks for beside `_body` and
    `input_specs`.

    Args:
        vocabulary: V, rows of the embedding table.
        embedding: E, its width.
        outputs, heads, dropout, projection, projection_activation, head_input, seed: as of
            `Student`.

    Raises:
        ValueError: no sizes, or what `Student` raises.
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
        seed: int | None,
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
            seed,
            **kwargs,
        )
        self.vocabulary, self.embedding_width = vocabulary, embedding

    @property
    def word_embeddings(self) -> keras.Variable:
        """The embedding table ``[V, E]``."""
        raise NotImplementedError

    def _read(self, ids: Any, mask: Any, training: bool | None, exporting: bool) -> dict[str, Any]:
        """`_body` of ids and mask, int ``[B, T]``."""
        raise NotImplementedError

    def _body(
        self, inputs: Mapping[str, Any], training: bool | None, exporting: bool
    ) -> dict[str, Any]:
        """See `Student._body`.

        Args:
            inputs: ``input_ids`` int ``[B, T]``, padded on the right; ``attention_mask`` int
                ``[B, T]`` (1 = real; default all real).
            training: whether dropout is on.
            exporting: whether this is the graph for the converter.
        """
        ids, mask = inputs["input_ids"], inputs.get("attention_mask")
        return self._read(ids, ops.ones_like(ids) if mask is None else mask, training, exporting)

    def input_specs(self, length: int, batch: int) -> list[keras.InputSpec]:
        """What a device feeds: ``input_ids`` and ``attention_mask``, int32 ``[B, T]``."""
        names = ("input_ids", "attention_mask")
        return [keras.InputSpec(shape=(batch, length), dtype="int32", name=name) for name in names]

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
        }
