"""What a task is: outputs with labels, a codec, a decoder, a metric. Numpy only."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, overload

import numpy as np

from tfdistil.data.example import Example

if TYPE_CHECKING:  # the runtime decodes only, and starts without the metrics
    from tfdistil.metrics.bootstrap import Statistics
    from tfdistil.tasks.decoders import Decoder

Level = Literal["word", "sequence"]

IGNORE = -1
"""The id of what has no label, or one that the task does not have: nothing is learnt from it."""


@dataclass(frozen=True, slots=True)
class Output:
    """One set of logits a model makes for a task.

    Attributes:
        name: ``tags``, ``slots``, ``intent``, ``class``.
        level: ``word`` (one row of logits per word) or ``sequence`` (one per text).
        labels: the labels in the order of the logits.
    """

    name: str
    level: Level
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Words ``start`` (inclusive) to ``end`` (exclusive) carry ``label``.

    ``score`` is the geometric mean of the probabilities of its words' tags, in (0, 1].
    """

    start: int
    end: int
    label: str
    score: float = 1.0


class LazyScores(Sequence[float]):
    """Numbers that are computed when the first one is read.

    The marginals of a CRF take longer than its best path, and a text without entities, or one whose
    tags are only counted, never needs them.

    Args:
        compute: gives them.
    """

    def __init__(self, compute: Callable[[], Iterable[float]]):
        self._compute = compute

    @cached_property
    def _scores(self) -> tuple[float, ...]:
        return tuple(self._compute())

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[float, ...]: ...
    def __getitem__(self, index: int | slice) -> float | tuple[float, ...]:
        return self._scores[index]

    def __len__(self) -> int:
        return len(self._scores)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._scores == tuple(other)

    def __hash__(self) -> int:
        return hash(self._scores)


class TagPath(NamedTuple):
    """A sequence of tags, one per word, and its probability among all sequences."""

    tags: tuple[str, ...]
    probability: float


MOST_PATHS = 1000
"""Of `Task.k_best`: its tables have a column for each path."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model says of one text.

    Attributes:
        tags: legal IOB2 tags, one per word, or None if the task has none.
        tag_scores: the probability of each chosen tag.
        tag_bits: -log2 of these, of a task whose probabilities may be smaller than any float; empty
            where ``tag_scores`` says it.
        label: intent or class, or None; ``label_score`` is its softmax probability.
    """

    tags: tuple[str, ...] | None = None
    tag_scores: Sequence[float] = ()
    label: str | None = None
    label_score: float = 1.0
    tag_bits: Sequence[float] = ()

    @property
    def bits(self) -> Sequence[float]:
        """-log2 of the probability of each chosen tag; of none at all, that of the least float."""
        if self.tag_bits:
            return self.tag_bits
        return [-math.log2(max(score, sys.float_info.min)) for score in self.tag_scores]


NO_PATHS: Mapping[str, np.ndarray] = MappingProxyType({})
"""For `Task.decode`: nobody has decoded yet."""


class Task(ABC):
    """Labels to ids, logits to legal labels, predictions to scores."""

    kind: ClassVar[str]
    metric: ClassVar[str]
    """The key of `score` that model selection, retention and export checks use."""

    learns_from: ClassVar[tuple[str, ...]] = ()
    """The attributes that every labelled `Example` must have, beside its words."""

    keeps_scores: ClassVar[bool] = False
    """Whether `score` reads ``tag_scores``, so that stored predictions must have them."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[Output, ...]:
        """The outputs in a fixed order."""

    @property
    def reads(self) -> frozenset[str]:
        """What a head must score for a model to answer: the outputs."""
        return frozenset(output.name for output in self.outputs)

    @abstractmethod
    def targets(self, example: Example) -> dict[str, np.ndarray]:
        """Output name to int32 ids: ``[words]`` at word level, a scalar at sequence level.

        An output the example has no label for is left out. A label that is not in the output's set
        is `IGNORE`, and so are all words of a span that has such a tag: labels unseen in train make
        no loss, and `score` counts them as misses.
        """

    decoders: Mapping[str, Decoder] = MappingProxyType({})
    """Output to how its scores become labels; one that is not there has a linear head."""

    def with_decoders(self, decoders: Mapping[str, Decoder]) -> Task:
        """The same task, decoding what heads of other kinds give.

        Args:
            decoders: output to decoder, as `tfdistil.tasks.decoders.read_decoders` gives them.
        """
        task = copy(self)
        task.decoders = decoders
        return task

    @abstractmethod
    def decode(
        self,
        logits: Mapping[str, np.ndarray],
        paths: Mapping[str, np.ndarray] = NO_PATHS,
    ) -> Prediction:
        """Float logits of one text (``[words, labels]`` or ``[labels]``) to legal labels.

        Args:
            logits: by output.
            paths: by output, label ids ``[words]`` that somebody has found already; those that are
                not legal are found again.
        """

    def k_best(self, logits: Mapping[str, np.ndarray], k: int) -> tuple[TagPath, ...]:
        """The k best tag sequences of one text, best first, with exact probabilities.

        Args:
            logits: as of `decode`.
            k: from 1 to `MOST_PATHS`; there are fewer sequences where fewer are legal.

        Raises:
            ValueError: a task without tags, a head that gives no probabilities of sequences, or
                another k.
        """
        del logits, k
        raise ValueError(f"a model for {self.kind!r} has no sequences of tags; leave out k")

    @abstractmethod
    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> dict[str, float]:
        """Named scores in percent; always contains `metric`."""

    @abstractmethod
    def statistics(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> Statistics:
        """What each example adds to `metric`, for the bootstrap."""

    def constant(self, examples: Sequence[Example]) -> list[Prediction]:
        """One answer for every text: the most frequent label of these very examples, and no tag.

        Args:
            examples: labelled.
        """
        labels = Counter(example.label for example in examples)
        label = max(labels, key=lambda name: (labels[name], str(name))) if labels else None
        return [
            Prediction(
                tags=None if example.tags is None else ("O",) * len(example.words), label=label
            )
            for example in examples
        ]

    @abstractmethod
    def label_scores(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> dict[str, dict[str, float]]:
        """Precision, recall, F1 and support of each label in gold or predictions."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """All that `task_from_json` needs, as plain JSON data."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: Mapping[str, Any]) -> Task:
        """The task `to_json` wrote.

        Raises:
            KeyError: a field is missing.
            ValueError: a field of another form.
        """

    @classmethod
    @abstractmethod
    def from_examples(cls, examples: Iterable[Example]) -> Task:
        """Collect the labels (sorted, ``O`` first) from labelled examples."""


MOST_LABELS = 10_000
"""Of an output; a table of which may follow which has the square of it."""


def labels_in(data: Mapping[str, Any], key: str) -> list[str]:
    """The labels that a file names.

    Raises:
        KeyError: none.
        ValueError: no list of different texts.
    """
    labels = data[key]
    if not isinstance(labels, list) or not labels or not all(isinstance(t, str) for t in labels):
        raise ValueError(f"{key!r} is {labels!r:.40}; expected a list of texts")
    if len({*labels}) < len(labels):
        raise ValueError(f"{key!r} has a label twice")
    if len(labels) > MOST_LABELS:
        raise ValueError(f"{key!r} has {len(labels):,} labels; at most {MOST_LABELS:,}")
    return labels
