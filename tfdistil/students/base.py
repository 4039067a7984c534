"""What all students have in common: heads, projection, named signals, layer groups, export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
from keras import ops

from tfdistil.heads.model import HeadedModel, check_heads, check_outputs
from tfdistil.students.arguments import check_rates, check_sizes

MOST_ROWS = 10**7
"""Of an embedding table."""

PROJECTIONS = {"gelu": "gelu", "linear": None}
"""The Keras activation of a projection by its name. GELU is bounded below, by -0.17: the softmax of
`hidden_kl` does not mind, the squared error of `hidden_mse` does."""


class Student(HeadedModel, keras.Model):
    """A body with a projection and a linear head per task output on top of it.

    A subclass sets the attribute ``embedding`` and the other layers of its body, calls
    `_add_top`, then `build`; and it defines `body_signals`, `_build_body`, `_body`, `body_groups`
    and `word_embeddings`.

    Args:
        vocabulary: V, rows of the embedding table.
        embedding: E, its width.
        outputs: task output to ``(level, size)``, such as ``{"tags": ("word", 9)}``.
        heads: names of the heads; each has logits for every output.
        dropout: rate in front of projection and heads.
        projection: the teacher's width; adds the signal ``projection`` = ``f(W h + b)``. None: no
            projection.
        projection_activation: f, a key of `PROJECTIONS`: ``gelu`` (XtremeDistil, equation 5) or
            ``linear``.
        head_input: what the heads read: ``hidden`` or ``projection``.
        seed: makes initialization and dropout reproducible.

    Raises:
        ValueError: no sizes or rates, outputs, heads or ``head_input`` that do not fit together, or
            an unknown ``projection_activation``.
    """

    reads = "pieces"

    def __init__(
        self,
        vocabulary: int,
        embedding: int,
        outputs: Mapping[str, tuple[str, int]],
        heads: Sequence[str],
        dropout: float,
        projection: int | None,
        projection_activation: str,
        head_input: str,
        seed: int | None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_sizes(MOST_ROWS, vocabulary=vocabulary)
        check_sizes(embedding=embedding)
        check_rates(dropout=dropout)
        self.outputs_spec = check_outputs(outputs)
        self.head_names = check_heads(heads)
        if projection_activation not in PROJECTIONS:
            known = ", ".join(PROJECTIONS)
            raise ValueError(f"projection_activation is {projection_activation!r}; it is {known}")
        if head_input not in ("hidden", "projection"):
            raise ValueError(f"head_input is 'hidden' or 'projection', got {head_input!r}")
        if head_input == "projection" and projection is None:
            raise ValueError("head_input 'projection' needs a projection width, got None")
        self.vocabulary, self.embedding_width = vocabulary, embedding
        self.dropout, self.projection_width = dropout, projection
        self.projection_activation = projection_activation
        self.head_input, self.seed = head_input, seed

    @property
    def body_signals(self) -> tuple[str, ...]:
        """The names `_body` returns, in order."""
        raise NotImplementedError

    def _build_body(self) -> int:
        """Create the body's weights; returns the width of ``hidden`` and ``sentence``."""
        raise NotImplementedError

    def _body(self, ids: Any, mask: Any, training: bool | None, exporting: bool) -> dict[str, Any]:
        """Signals below the heads; ``hidden [B, T, width]`` and ``sentence [B, width]`` among them.

        Args:
            ids, mask: int ``[B, T]``.
            training: whether dropout is on.
            exporting: whether this is the graph for the converter.
        """
        raise NotImplementedError

    def body_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The layer groups below the projection, top to bottom."""
        raise NotImplementedError

    @property
    def word_embeddings(self) -> keras.Variable:
        """The embedding table ``[V, E]``."""
        raise NotImplementedError

    def _seed(self, part: int) -> int | None:
        return None if self.seed is None else self.seed + part

    def _dense(self, units: int, part: int, name: str, **options: Any) -> keras.layers.Dense:
        start = keras.initializers.GlorotUniform(self._seed(part))
        options.setdefault("dtype", self.dtype_policy)
        return keras.layers.Dense(units, kernel_initializer=start, name=name, **options)

    def _add_top(self, part: int) -> None:
        """Make dropout, projection and heads; ``part`` and all after it are their seeds."""
        self.hidden_dropout = keras.layers.Dropout(
            self.dropout, seed=self._seed(part), dtype=self.dtype_policy
        )
        self.projection = (
            self._dense(
                self.projection_width,
                part + 1,
                "projection",
                activation=PROJECTIONS[self.projection_activation],
            )
            if self.projection_width
            else None
        )
        self.head_layers = {
            f"{head}/{output}": self._dense(
                spec.size, part + 2 + n, f"{head}_{output}", dtype="float32"
            )
            for n, (head, output, spec) in enumerate(
                (head, output, spec)
                for head in self.head_names
                for output, spec in self.outputs_spec.items()
            )
        }

    def build(self, input_shape: Any = None) -> None:
        """Create all weights; done by the constructor."""
        del input_shape
        if self.embedding.built:
            return
        features = self._build_body()
        if self.projection is not None and self.projection_width is not None:
            self.projection.build((None, None, features))
            if self.head_input == "projection":
                features = self.projection_width
        for layer in self.head_layers.values():
            layer.build((None, None, features))

    def call(self, inputs: Mapping[str, Any], training: bool | None = None) -> dict[str, Any]:
        """All signals by name, see the class.

        Args:
            inputs: ``input_ids`` int ``[B, T]``, padded on the right; ``attention_mask`` int
                ``[B, T]`` (1 = real; default all real). Other entries are not looked at.
            training: whether dropout is on.
        """
        return self._signals(inputs, training)

    def _signals(
        self, inputs: Mapping[str, Any], training: bool | None, exporting: bool = False
    ) -> dict[str, Any]:
        ids = inputs["input_ids"]
        mask = inputs.get("attention_mask")
        mask = ops.ones_like(ids) if mask is None else mask
        signals = self._body(ids, mask, training, exporting)
        features = {
            "word": self.hidden_dropout(signals["hidden"], training=training),
            "sequence": self.hidden_dropout(signals["sentence"], training=training),
        }
        if self.projection is not None:
            projected = {level: self.projection(x) for level, x in features.items()}
            signals["projection"] = projected["word"]
            signals["sentence_projection"] = projected["sequence"]
            if self.head_input == "projection":
                features = projected
        for head in self.head_names:
            for output, spec in self.outputs_spec.items():
                name = f"{head}/{output}"
                signals[name] = self.head_layers[name](features[spec.level])
        return signals

    def signals(self) -> tuple[str, ...]:
        """The names `call` returns, in order."""
        names = self.body_signals
        if self.projection is not None:
            names = (*names, "projection", "sentence_projection")
        return (*names, *self.head_layers)

    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """``heads``, ``projection`` (where there is one), then those of the body, to the embedding.

        Every weight is in exactly one group.
        """
        groups = [("heads", [w for layer in self.head_layers.values() for w in layer.weights])]
        if self.projection is not None:
            groups.append(("projection", self.projection.weights))
        return [*groups, *self.body_groups()]

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
                "teacher's vocabulary and an embedding width equal to the table's"
            )
        self.word_embeddings.assign(table)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "vocabulary": self.vocabulary,
            "embedding": self.embedding_width,
            "outputs": {name: list(spec) for name, spec in self.outputs_spec.items()},
            "heads": list(self.head_names),
            "dropout": self.dropout,
            "projection": self.projection_width,
            "projection_activation": self.projection_activation,
            "head_input": self.head_input,
            "seed": self.seed,
        }
