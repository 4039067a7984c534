"""What the runtime says of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from tfdistil.tasks.base import Prediction, TagPath
from tfdistil.tasks.iob2 import spans


# Tuples: a text has many of them, and a frozen dataclass takes twice as long to make.
class Word(NamedTuple):
    """``result.text[start:end] == text``; offsets count code points."""

    text: str
    start: int
    end: int


class TextSpan(NamedTuple):
    """A labelled stretch of the text.

    Attributes:
        label: entity or slot.
        start: first code point.
        end: code point after the last.
        text: ``result.text[start:end]``.
        score: geometric mean of the probabilities of its words' tags, in (0, 1].
    """

    label: str
    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Result:
    """The answer for one text.

    Attributes:
        text: the text; for words given without one, the words joined by spaces.
        words: the words with their places in the text.
        tags: legal IOB2 tags, one per word; None if the model gives none.
        spans: the entities that the tags make, in order.
        label: intent or class; None if the model gives none.
        label_score: softmax probability of the label; over windows, if the text is longer than
            the model, of the mean of their logits. None without a label.
        second: the second text of a pair.
        k_best: the k most probable sequences of tags, best first, if k was asked for; fewer where
            fewer are legal. The first one is ``tags``.
    """

    text: str
    words: tuple[Word, ...]
    tags: tuple[str, ...] | None = None
    spans: tuple[TextSpan, ...] = ()
    label: str | None = None
    label_score: float | None = None
    second: str | None = None
    k_best: tuple[TagPath, ...] | None = None

    @classmethod
    def build(
        cls,
        text: str,
        words: Sequence[tuple[str, int, int]],
        prediction: Prediction,
        second: str | None = None,
        k_best: tuple[TagPath, ...] | None = None,
    ) -> Result:
        """Put a prediction over words into terms of the text."""
        found = []
        for span in spans(prediction.tags or (), prediction.tag_scores):
            start, end = words[span.start][1], words[span.end - 1][2]
            found.append(TextSpan(span.label, start, end, text[start:end], span.score))
        return cls(
            text,
            tuple(map(Word._make, words)),
            prediction.tags,
            tuple(found),
            prediction.label,
            None if prediction.label is None else prediction.label_score,
            second,
            k_best,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; what the model does not give is left out."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["words"] = tuple(word._asdict() for word in self.words)
        data["spans"] = tuple(span._asdict() for span in self.spans)
        if self.tags is None:
            del data["spans"]
        if self.k_best is not None:
            data["k_best"] = tuple(path._asdict() for path in self.k_best)
        return {key: value for key, value in data.items() if value is not None}
