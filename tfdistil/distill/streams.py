"""Streams: what a stage draws its batches from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any, Protocol, cast

import keras
import numpy as np

from tfdistil.distill.rows import Rows, TextRows, bucketed_batches
from tfdistil.distill.signals import TeacherSignals
from tfdistil.distill.worth import draw_weighted
from tfdistil.padding import MULTIPLE
from tfdistil.tasks import Output

Batch = dict[str, np.ndarray]
Transform = Callable[[Batch, Sequence[Sequence[str]], np.random.Generator], Batch]
"""A batch, the words that each of its rows owns and a generator to a changed batch."""


class Stream(Protocol):
    """What `StreamBatches` draws from: rows by their number, padded into batches."""

    @property
    def lengths(self) -> np.ndarray:
        """Pieces in each row, int64 ``[rows]``; rows of like length come together."""

    def epoch_rows(self, generator: np.random.Generator) -> np.ndarray:
        """The rows of one pass, as many as there are, see `TextRows.epoch_rows`."""
        ...

    def inputs(self, chosen: Sequence[int] | np.ndarray) -> Batch:
        """The padded inputs of some rows, without noise."""
        ...

    def batch(self, chosen: Sequence[int] | np.ndarray, generator: np.random.Generator) -> Batch:
        """Those inputs, changed by noise, with ``target/<output>`` and ``teacher/<signal>``."""
        ...


@dataclass(frozen=True)
class Inputs:
    """A stream without its targets, signals and noise."""

    stream: Stream

    @property
    def lengths(self) -> np.ndarray:
        """See `Stream.lengths`."""
        return self.stream.lengths

    def epoch_rows(self, generator: np.random.Generator) -> np.ndarray:
        """See `Stream.epoch_rows`."""
        return self.stream.epoch_rows(generator)

    def inputs(self, chosen: Sequence[int] | np.ndarray) -> Batch:
        """See `Stream.inputs`."""
        return self.stream.inputs(chosen)

    def batch(self, chosen: Sequence[int] | np.ndarray, generator: np.random.Generator) -> Batch:
        """The inputs alone."""
        del generator
        return self.stream.inputs(chosen)


@dataclass(frozen=True)
class RowStream:
    """Rows with targets, teacher signals and noise.

    Attributes:
        rows: encoded for the student.
        outputs: outputs of the task whose targets go into the batch.
        signals: teacher signals for the rows, or None where no term needs them.
        noise: changes a batch afresh each time it is drawn, one after the other. ``signals`` are
            those of the text as it was; a teacher in the step sees what the student sees.
        weights: how often each row is drawn, see `draw_weighted`; None: as the rows have it.
        multiple: of which the lengths of batches are, see `Rows.inputs`.
    """

    rows: TextRows
    outputs: tuple[Output, ...] = ()
    signals: TeacherSignals | None = None
    noise: tuple[Transform, ...] = ()
    weights: np.ndarray | None = None
    multiple: int = MULTIPLE

    @property
    def lengths(self) -> np.ndarray:
        """See `Stream.lengths`."""
        return self.rows.lengths

    def epoch_rows(self, generator: np.random.Generator) -> np.ndarray:
        """See `Stream.epoch_rows`."""
        if self.weights is None:
            return self.rows.epoch_rows(generator)
        return draw_weighted(self.weights, generator)

    def inputs(self, chosen: Sequence[int] | np.ndarray) -> Batch:
        """See `Stream.inputs`."""
        return self.rows.inputs(chosen, self.multiple)

    def batch(self, chosen: Sequence[int] | np.ndarray, generator: np.random.Generator) -> Batch:
        """See `Stream.batch`."""
        batch = self.inputs(chosen)
        tokens = batch["tokens"].shape[1]
        for output in self.outputs:
            batch[f"target/{output.name}"] = self.rows.target(
                output.name, output.level, chosen, tokens
            )
        for transform in self.noise:
            batch = transform(batch, self.rows.words(chosen), generator)
        if self.signals is not None:
            for name, array in self.signals.batch(self.rows, chosen, batch).items():
                batch[f"teacher/{name}"] = array
        return batch


def concatenate_rows(parts: Sequence[TextRows]) -> TextRows:
    """Several sets as one, in order; more than one are `Rows` in memory."""
    return parts[0] if len(parts) == 1 else _concatenate(cast(Sequence[Rows], parts))


def _concatenate(parts: Sequence[Rows]) -> Rows:
    examples = np.concatenate([[0], np.cumsum([len(p.targets) for p in parts])])
    return Rows(
        tuple(window for p in parts for window in p.windows),
        np.concatenate([p.example + start for p, start in zip(parts, examples, strict=False)]),
        np.concatenate([p.first_token for p in parts]),
        tuple(target for p in parts for target in p.targets),
        np.concatenate([p.token_counts for p in parts]),
        parts[0].padding,
        tuple(text for p in parts for text in p.texts),
        parts[0].longest,
    )


_WHOLE = keras.backend.backend() != "tensorflow"
"""Whether the smaller batch at the end of a pass goes to the next one: JAX would compile another
program for it, and for each pair of it and another stream's batches."""

_NOISE = 1
"""Keeps the generators of noise apart from those of the order: NumPy takes [a, b] as [a, b, 0]."""


@dataclass
class StreamBatches:
    """Endless batches from several streams at once; an epoch is one pass over the longest.

    The shorter streams cycle and are shuffled afresh whenever they start again. The order depends
    on nothing but ``seed``, and the noise of a batch on nothing but the seed and its number: so the
    batches from any number on are those that would have come, and none has to be made to get there.

    Attributes:
        streams: by the key the terms use.
        batch_size: rows of each stream in a batch.
        seed: of the order and of the noise.
        shuffle: False draws in order of length, for evaluation.
        first: number of the batch to begin with; those before it are passed over.
    """

    streams: Mapping[str, Stream]
    batch_size: int
    seed: int
    shuffle: bool = True
    first: int = 0
    steps: int = field(init=False)

    def __post_init__(self) -> None:
        self.steps = max(-(-len(s.lengths) // self.batch_size) for s in self.streams.values())

    def __iter__(self) -> Iterator[dict[str, Batch]]:
        cursors = {
            key: islice(
                self._cycle(stream, np.random.default_rng([self.seed, i])), self.first, None
            )
            for i, (key, stream) in enumerate(sorted(self.streams.items()))
        }
        for number in count(self.first):
            generator = np.random.default_rng([self.seed, number, _NOISE])
            yield {
                key: self.streams[key].batch(next(cursor), generator)
                for key, cursor in cursors.items()
            }

    def _cycle(self, stream: Stream, generator: np.random.Generator) -> Iterator[np.ndarray]:
        lengths = stream.lengths
        while not self.shuffle:
            yield from bucketed_batches(lengths, self.batch_size, None)
        rest = np.empty(0, np.int64)
        while True:
            rows = np.concatenate([rest, stream.epoch_rows(generator)])
            rest = rest[:0]
            for batch in bucketed_batches(lengths[rows], self.batch_size, generator):
                if _WHOLE and len(batch) < min(self.batch_size, len(lengths)):
                    rest = rows[batch]
                else:
                    yield rows[batch]

    def dataset(self) -> Any:
        """What ``model.fit`` takes, see `as_dataset`."""
        return as_dataset(self)


def as_dataset(batches: Iterable[dict[str, Batch]]) -> Any:
    """What ``model.fit`` takes: a ``tf.data.Dataset`` that prefetches, or a plain generator.

    The shapes are left open, so that TensorFlow traces the training step once.

    Args:
        batches: endless, the same whenever they are gone through.
    """
    if keras.backend.backend() != "tensorflow":
        return ((batch,) for batch in batches)
    import tensorflow as tf

    example = next(iter(batches))
    signature = {
        key: {
            name: tf.TensorSpec((None,) * min(a.ndim, 2) + a.shape[2:], a.dtype)
            for name, a in batch.items()
        }
        for key, batch in example.items()
    }
    generated = tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=signature)
    # Nothing here can be tuned, and who takes down an iterator waits for the thread that tunes:
    # it sleeps up to a minute and does not hear that it is over (TensorFlow 2.21).
    options = tf.data.Options()
    options.autotune.enabled = False
    return generated.prefetch(4).with_options(options)
