"""The BiLSTM student of XtremeDistil (Mukherjee & Awadallah 2020, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

from tfdistil.students.heads import check_heads, check_outputs
from tfdistil.students.lstm import BiLSTM


@keras.saving.register_keras_serializable(package="tfdistil")
class BiLSTMStudent(keras.Model):
    """Embeddings, one bidirectional LSTM, and a linear head per task output.

    All weights exist once it is constructed.

    Args:
        vocabulary: V, rows of the embedding table.
        embedding: E, its width.
        width: H, the width of each direction.
        outputs: task output to ``(level, size)``, such as ``{"tags": ("word", 9)}``.
        heads: names of the heads; each has logits for every output. A schedule may train several,
            such as ``logits`` (towards the teacher's) before ``labels``.
        dropout: rate after the embeddings and after the LSTM (0.2 in the paper's table 12).
        projection: the teacher's width; adds the signal ``projection`` = ``gelu(W h + b)``
            (equation 5). None: no projection.
        head_input: what the heads read: ``hidden`` or ``projection``.
        seed: makes initialization and dropout reproducible.

    Raises:
        ValueError: outputs, heads or ``head_input`` that do not fit together.

    Signals of `call`:
        - ``embedding [B, T, E]``, ``hidden [B, T, 2H]``, ``sentence [B, 2H]``: the final states of
          both directions.
        - with a projection: ``projection [B, T, width]``, ``sentence_projection [B, width]``.
        - ``<head>/<output>``: ``[B, T, size]`` at word level, ``[B, size]`` at sequence level.
    """

    def __init__(
        self,
        vocabulary: int,
        embedding: int,
        width: int,
        outputs: Mapping[str, tuple[str, int]],
        heads: Sequence[str] = ("labels",),
        dropout: float = 0.2,
        projection: int | None = None,
        head_input: str = "hidden",
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.outputs_spec = check_outputs(outputs)
        self.head_names = check_heads(heads)
        if head_input not in ("hidden", "projection"):
            raise ValueError(f"head_input is 'hidden' or 'projection', got {head_input!r}")
        if head_input == "projection" and projection is None:
            raise ValueError("head_input 'projection' needs a projection width, got None")
        self.vocabulary, self.embedding_width, self.width = vocabulary, embedding, width
        self.dropout, self.projection_width = dropout, projection
        self.head_input, self.seed = head_input, seed

        policy = self.dtype_policy
        self.embedding = keras.layers.Embedding(
            vocabulary,
            embedding,
            embeddings_initializer=keras.initializers.RandomNormal(
                stddev=embedding**-0.5, seed=self._seed(0)
            ),
            dtype=policy,
            name="embedding",
        )
        self.embedding_dropout = keras.layers.Dropout(dropout, seed=self._seed(1), dtype=policy)
        self.encoder = BiLSTM(width, seed=self._seed(2), dtype=policy, name="encoder")
        self.hidden_dropout = keras.layers.Dropout(dropout, seed=self._seed(6), dtype=policy)
        self.projection = (
            self._dense(projection, 7, "projection", activation="gelu") if projection else None
        )
        self.head_layers = {
            f"{head}/{output}": self._dense(spec.size, 8 + n, f"{head}_{output}", dtype="float32")
            for n, (head, output, spec) in enumerate(
                (head, output, spec)
                for head in self.head_names
                for output, spec in self.outputs_spec.items()
            )
        }
        self.build()

    def _seed(self, part: int) -> int | None:
        return None if self.seed is None else self.seed + part

    def _dense(self, units: int, part: int, name: str, **options: Any) -> keras.layers.Dense:
        start = keras.initializers.GlorotUniform(self._seed(part))
        options.setdefault("dtype", self.dtype_policy)
        return keras.layers.Dense(units, kernel_initializer=start, name=name, **options)

    def build(self, input_shape: Any = None) -> None:
        """Create all weights; done by the constructor."""
        del input_shape
        if self.embedding.built:
            return
        self.embedding.build((None, None))
        self.encoder.build((None, None, self.embedding_width))
        features = 2 * self.width
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
        self, inputs: Mapping[str, Any], training: bool | None, unroll: bool | None = None
    ) -> dict[str, Any]:
        ids = inputs["input_ids"]
        mask = inputs.get("attention_mask")
        mask = ops.ones_like(ids) if mask is None else mask
        lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
        embedding = self.embedding(ids)
        hidden, sentence = self.encoder(
            self.embedding_dropout(embedding, training=training), lengths, unroll=unroll
        )
        signals = {"embedding": embedding, "hidden": hidden, "sentence": sentence}
        features = {
            "word": self.hidden_dropout(hidden, training=training),
            "sequence": self.hidden_dropout(sentence, training=training),
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
        names = ["embedding", "hidden", "sentence"]
        if self.projection is not None:
            names += ["projection", "sentence_projection"]
        return (*names, *self.head_layers)

    def level(self, signal: str) -> str:
        """``subword`` for a signal with a row per token, ``sequence`` for one per text.

        Raises:
            KeyError: the student has no such signal.
        """
        if signal not in self.signals():
            raise KeyError(f"no signal {signal!r}; this student gives {', '.join(self.signals())}")
        if signal in self.head_layers:
            spec = self.outputs_spec[signal.partition("/")[2]]
            return "sequence" if spec.level == "sequence" else "subword"
        return "sequence" if signal.startswith("sentence") else "subword"

    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """``heads``, ``projection`` (where there is one), ``encoder``, ``embedding``.

        Every weight is in exactly one group.
        """
        groups = [("heads", [w for layer in self.head_layers.values() for w in layer.weights])]
        if self.projection is not None:
            groups.append(("projection", self.projection.weights))
        return [
            *groups,
            ("encoder", self.encoder.weights),
            ("embedding", self.embedding.weights),
        ]

    def export_function(
        self, length: int, batch: int, head: str = "labels"
    ) -> tuple[Callable[..., dict[str, Any]], list[keras.InputSpec]]:
        """The graph to convert: static shapes, the recurrence unrolled, one head.

        Args:
            length: T.
            batch: B.
            head: whose logits the function returns.

        Returns:
            A function of ``input_ids`` and ``attention_mask`` (int32 ``[B, T]``) that returns
            logits by task output, and the specs of its inputs.

        Raises:
            ValueError: the student has no such head.
        """
        if head not in self.head_names:
            raise ValueError(f"no head {head!r}; this student has {', '.join(self.head_names)}")

        def logits(input_ids: Any, attention_mask: Any) -> dict[str, Any]:
            inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
            signals = self._signals(inputs, training=False, unroll=True)
            return {output: signals[f"{head}/{output}"] for output in self.outputs_spec}

        shape = (batch, length)
        names = ("input_ids", "attention_mask")
        return logits, [keras.InputSpec(shape=shape, dtype="int32", name=name) for name in names]

    @property
    def word_embeddings(self) -> keras.Variable:
        """The embedding table ``[V, E]``."""
        return self.embedding.embeddings

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
        self.embedding.embeddings.assign(table)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor, as plain data."""
        return super().get_config() | {
            "vocabulary": self.vocabulary,
            "embedding": self.embedding_width,
            "width": self.width,
            "outputs": {name: list(spec) for name, spec in self.outputs_spec.items()},
            "heads": list(self.head_names),
            "dropout": self.dropout,
            "projection": self.projection_width,
            "head_input": self.head_input,
            "seed": self.seed,
        }
