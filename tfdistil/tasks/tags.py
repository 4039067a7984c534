"""Sequence tagging: NER and other IOB2 labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfdistil.data.example import Example
from tfdistil.data.schemes import from_iob2, labels_of, marks, scheme_of, to_iob2
from tfdistil.errors import DataError
from tfdistil.tasks.base import (
    IGNORE,
    MOST_PATHS,
    NO_PATHS,
    LazyScores,
    Output,
    Prediction,
    TagPath,
    Task,
    labels_in,
)
from tfdistil.tasks.decoders import Decoder
from tfdistil.tasks.iob2 import (
    CONTINUATION,
    allowed_transitions,
    is_legal,
    spans,
)

if TYPE_CHECKING:
    from tfdistil.metrics.bootstrap import Statistics


class TagCodec:
    """IOB2 tags to ids of labels, and logits to the best legal path, in IOB2.

    Args:
        labels: what is scored, ``O`` first, in IOB2 or another scheme (`tfdistil.data.schemes`).
        continuation: whether non-first pieces of a word have the label ``X`` (the last id).
    """

    def __init__(self, labels: Sequence[str], continuation: bool = False):
        self.tags = tuple(labels)
        self.scheme = scheme_of(labels)
        self.continuation = continuation
        self.labels = (*self.tags, CONTINUATION) if continuation else self.tags
        self._ids = {tag: i for i, tag in enumerate(self.tags)}
        self._in_iob2 = to_iob2(self.labels)
        self._start, self._follow = allowed_transitions(self.labels)

    @classmethod
    def from_examples(
        cls, examples: Iterable[Example], continuation: bool = False, scheme: str = "iob2"
    ) -> TagCodec:
        """Collect the entity types; every label of the scheme for each.

        Raises:
            DataError: a span of several words, of which the scheme ``words`` has none.
        """
        types: set[str] = set()
        for example in examples:
            types.update(tag[2:] for tag in example.tags or () if tag != "O")
            if scheme == "words" and any(tag[:2] == "I-" for tag in example.tags or ()):
                raise DataError(
                    "task.scheme: words has labels of single words, but here a span has several; "
                    f"leave it out ({example.source})"
                )
        return cls(labels_of(sorted(types), scheme), continuation)

    def encode(self, example: Example) -> np.ndarray | None:
        """Ids of the example's tags, int32 ``[words]``; None if it has none.

        All words of a span with an unknown tag are `IGNORE`, the known ``I-x`` after an unknown
        ``B-x`` too: no legal path has them.
        """
        if example.tags is None:
            return None
        tags = from_iob2(example.tags, self.scheme)
        ids = np.array([self._ids.get(tag, IGNORE) for tag in tags], dtype=np.int32)
        if (ids == IGNORE).any():
            for span in spans(example.tags):
                if (ids[span.start : span.end] == IGNORE).any():
                    ids[span.start : span.end] = IGNORE
        return ids

    def decode(
        self,
        logits: np.ndarray,
        decoder: Decoder | None = None,
        path: np.ndarray | None = None,
    ) -> tuple[tuple[str, ...], Sequence[float]]:
        """Legal IOB2 tags of a text's words and their probabilities.

        Args:
            logits: ``[words, labels]``.
            decoder: None: of a linear head.
            path: label ids ``[words]`` that somebody has found already; found again if illegal.
        """
        decoder = decoder or Decoder(len(self.labels))
        if path is None or not is_legal(path, self._start, self._follow):
            path = decoder.words(logits, self._start, self._follow)
        return self.tags_of(path), LazyScores(
            partial(decoder.probabilities, logits, self._start, self._follow, path)
        )

    def k_best(self, logits: np.ndarray, decoder: Decoder | None, k: int) -> tuple[TagPath, ...]:
        """See `Task.k_best`; logits are ``[words, labels]``."""
        if type(k) is not int or not 1 <= k <= MOST_PATHS:
            raise ValueError(f"k is {k!r:.40}; expected 1 to {MOST_PATHS}")
        decoder = decoder or Decoder(len(self.labels))
        paths, shares = decoder.k_best(logits, self._start, self._follow, k)
        return tuple(map(TagPath, map(self.tags_of, paths), shares.tolist()))

    def tags_of(self, path: np.ndarray) -> tuple[str, ...]:
        """Ids of labels, int ``[words]``, to the IOB2 tags that they mean."""
        return tuple([self._in_iob2[i] for i in path.tolist()])


def tags_in(data: Mapping[str, Any], key: str) -> tuple[list[str], bool]:
    """The tags that a file names, and whether there is a label of continuations.

    Raises:
        KeyError: a field is missing.
        ValueError: no tags of one scheme with ``O`` among them, or a continuation that is not true
            or false.
    """
    tags, continuation = labels_in(data, key), data["continuation"]
    known = [f"{mark}-" for mark in marks(scheme_of(tags))]
    if "O" not in tags or not all(tag == "O" or tag[:2] in known for tag in tags):
        raise ValueError(f"{key!r} are no IOB2 tags: O, and others that begin with B- or I-")
    if not isinstance(continuation, bool):
        raise ValueError(f"continuation is {continuation!r:.40}; expected true or false")
    return tags, continuation


class Tags(Task):
    """One IOB2 tag per word; the metric is strict span F1.

    Args:
        labels: what is scored, ``O`` first, in IOB2 or another scheme (`tfdistil.data.schemes`).
        continuation: whether non-first pieces of a word have the label ``X`` (the last id).
    """

    kind = "tags"
    metric = "span_f1"
    learns_from = ("tags",)

    def __init__(self, labels: Sequence[str], continuation: bool = False):
        self.codec = TagCodec(labels, continuation)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """One word-level output, ``tags``."""
        return (Output("tags", "word", self.codec.labels),)

    def targets(self, example: Example) -> dict[str, np.ndarray]:
        """See `Task.targets`."""
        ids = self.codec.encode(example)
        return {} if ids is None else {"tags": ids}

    def decode(
        self,
        logits: Mapping[str, np.ndarray],
        paths: Mapping[str, np.ndarray] = NO_PATHS,
    ) -> Prediction:
        """See `Task.decode`."""
        decoder = self.decoders.get("tags")
        tags, scores = self.codec.decode(logits["tags"], decoder, paths.get("tags"))
        return Prediction(tags=tags, tag_scores=scores)

    def k_best(self, logits: Mapping[str, np.ndarray], k: int) -> tuple[TagPath, ...]:
        """See `Task.k_best`."""
        return self.codec.k_best(logits["tags"], self.decoders.get("tags"), k)

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> dict[str, float]:
        """Strict span precision, recall, F1, and F1 by conlleval's rules."""
        from tfdistil.metrics.spans import span_scores

        gold = [e.tags or () for e in examples]
        predicted = [p.tags or () for p in predictions]
        strict = span_scores(gold, predicted, "strict")
        return {
            "span_f1": strict.f1,
            "span_precision": strict.precision,
            "span_recall": strict.recall,
            "conll_f1": span_scores(gold, predicted, "conll").f1,
        }

    def statistics(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> Statistics:
        """See `Task.statistics`."""
        from tfdistil.metrics.bootstrap import Statistics

        return Statistics.of_spans(
            [e.tags or () for e in examples], [p.tags or () for p in predictions]
        )

    def label_scores(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> dict[str, dict[str, float]]:
        """See `Task.label_scores`."""
        from tfdistil.metrics.spans import span_scores
        from tfdistil.metrics.tables import label_table

        return label_table(
            span_scores([e.tags or () for e in examples], [p.tags or () for p in predictions])
        )

    def to_json(self) -> dict[str, Any]:
        """See `Task.to_json`."""
        return {
            "kind": self.kind,
            "tags": list(self.codec.tags),
            "continuation": self.codec.continuation,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tags:
        """See `Task.from_json`."""
        return cls(*tags_in(data, "tags"))

    @classmethod
    def from_examples(
        cls, examples: Iterable[Example], continuation: bool = False, scheme: str = "iob2"
    ) -> Tags:
        """See `Task.from_examples`."""
        return cls(TagCodec.from_examples(examples, continuation, scheme).tags, continuation)
