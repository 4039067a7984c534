"""What the gold spans of examples became, for any task whose words have labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfdistil.data.example import Example
from tfdistil.metrics.span_errors import Seen, span_errors
from tfdistil.metrics.spans import strict_spans
from tfdistil.tasks import Prediction, Task

SpanErrors = dict[str, dict[str, int]]


def seen_in(task: Task, train: Iterable[Example]) -> Seen | None:
    """Words and spans of labelled examples; None for a task without labels of words."""
    if not _labels_words(task):
        return None
    return Seen.of((example.words, strict_spans(example.tags or ())) for example in train)


def span_errors_of(
    task: Task, examples: Sequence[Example], predictions: Sequence[Prediction], seen: Seen | None
) -> SpanErrors:
    """See `tfdistil.metrics.span_errors.span_errors`; empty for a task without labels of words."""
    if not _labels_words(task):
        return {}
    return span_errors(
        (
            (example.words, strict_spans(example.tags or ()), strict_spans(guess.tags or ()))
            for example, guess in zip(examples, predictions, strict=True)
        ),
        seen,
    )


def _labels_words(task: Task) -> bool:
    return any(output.level == "word" for output in task.outputs)
