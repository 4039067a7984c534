"""Predictions and scores of any model on any examples."""

from __future__ import annotations

from collections.abc import Sequence

from tfdistil.data.example import Example
from tfdistil.distill.forward import SignalModel, example_signals
from tfdistil.distill.rows import Rows
from tfdistil.tasks import Prediction, Task


def predict(
    model: SignalModel, rows: Rows, task: Task, head: str, batch_size: int = 64
) -> list[Prediction]:
    """Decode a model's logits for every example.

    Args:
        model: a teacher (``head="logits"``) or a student.
        rows: encoded with the model's featurizer.
        task: decodes logits to legal labels.
        head: prefix of the signals, ``<head>/<output>``.

    Returns:
        One prediction per example, in order; each word has its tag, also in texts that were
        windowed.
    """
    names = {f"{head}/{output.name}": output for output in task.outputs}
    starts = [rows.word_starts(parts) for parts in rows.rows_of()]
    predictions: dict[int, Prediction] = {}
    for example, signals in example_signals(model, rows, list(names), batch_size):
        logits = {
            output.name: signals[name][starts[example]] if output.level == "word" else signals[name]
            for name, output in names.items()
        }
        predictions[example] = task.decode(logits)
    return [predictions[i] for i in range(len(rows.targets))]


def score(
    model: SignalModel, rows: Rows, examples: Sequence[Example], task: Task, head: str
) -> dict[str, float]:
    """The task's scores of a model on labelled examples, in percent."""
    return task.score(examples, predict(model, rows, task, head))
