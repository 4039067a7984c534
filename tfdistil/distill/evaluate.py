"""Predictions and scores of any model on any examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tfdistil.data.example import Example
from tfdistil.distill.cloze import ClozePredictor
from tfdistil.distill.forward import SignalModel, SignalReader
from tfdistil.distill.rows import Rows
from tfdistil.distill.stage_checks import FeaturizedModel
from tfdistil.tasks import Prediction, Task, Text
from tfdistil.tasks.decoders import read_decoders


def predictor_of(made: FeaturizedModel, task: Task, head: str) -> Predictor | ClozePredictor:
    """What a model says of examples, by the head that answers.

    Args:
        made: a model and its featurizer.
        task: asks.
        head: prefix of the signals.
    """
    if isinstance(task, Text):
        return ClozePredictor(made.model, made.featurizer, task, head)
    return Predictor(made.model, task, head)


class Predictor:
    """Decodes a model's logits into legal labels.

    Args:
        model: a teacher (``head="logits"``) or a student.
        task: decodes.
        head: prefix of the signals, ``<head>/<output>``.
    """

    def __init__(self, model: SignalModel, task: Task, head: str):
        self.model, self.task, self.head = model, task, head
        self.outputs = {f"{head}/{output.name}": output for output in task.outputs}
        self.reader = SignalReader(model, list(self.outputs))

    def logits(self, rows: Rows) -> list[dict[str, np.ndarray]]:
        """Logits of every example in order: output name to ``[words, labels]`` or ``[labels]``."""
        starts = [rows.word_starts(parts) for parts in rows.rows_of()]
        found: list[dict[str, np.ndarray]] = [{} for _ in starts]
        for example, signals in self.reader.examples(rows):
            found[example] = {
                output.name: signals[name][starts[example]]
                if output.level == "word"
                else signals[name]
                for name, output in self.outputs.items()
            }
        return found

    def predict(self, rows: Rows) -> list[Prediction]:
        """One prediction per example; each word has its tag, also in texts that were windowed."""
        return self.decode(self.logits(rows))

    def decode(self, logits: Sequence[Mapping[str, np.ndarray]]) -> list[Prediction]:
        """One prediction for each of the examples that `logits` are of."""
        task = self.task
        if hasattr(self.model, "decoding"):
            # The constants of a head as they are now: training changes them.
            decoding = self.model.decoding(self.head)
            task = task.with_decoders(read_decoders(decoding, task.outputs))
        return [task.decode(one) for one in logits]

    def score(self, rows: Rows, examples: Sequence[Example]) -> dict[str, float]:
        """The task's scores on labelled examples, in percent."""
        return self.task.score(examples, self.predict(rows))
