"""``tfdistil evaluate``: score any run, teacher or file on any labelled data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfdistil.data.example import Example
from tfdistil.data.source import Source, load
from tfdistil.errors import RecipeError, RunError
from tfdistil.printable import one_line
from tfdistil.runtime import Runtime
from tfdistil.systems import SystemId, files_of, models_of
from tfdistil.tasks import Prediction, Task, describe_unknown, unknown_labels
from tfdistil.text.words import WordSplitter

if TYPE_CHECKING:
    from tfdistil.runs import Run

Evaluation = dict[str, dict[str, Any]]
"""Set name to ``examples``, ``scores``, ``labels`` (per label), ``unknown_labels``, ``errors``."""


def _read(
    path: Path, format: str | None, language: str | None, splitter: WordSplitter
) -> tuple[Example, ...]:
    from tfdistil.data.suggest import suggest

    source = (
        Source(path, format, language=language)
        if format
        else Source(path, suggest(path).format, language=language, options=suggest(path).options)
    )
    return load([source], split=splitter.split).examples


def _evaluate(
    task: Task, examples: Sequence[Example], predictions: Sequence[Prediction], limit: int
) -> dict[str, Any]:
    return {
        "examples": len(examples),
        "scores": task.score(examples, predictions),
        "labels": task.label_scores(examples, predictions),
        "unknown_labels": unknown_labels(task, examples),
        "errors": errors(examples, predictions, limit),
    }


def errors(
    examples: Sequence[Example], predictions: Sequence[Prediction], limit: int = 50
) -> list[dict[str, Any]]:
    """The first examples that are not all right: text, gold and predicted labels."""
    found: list[dict[str, Any]] = []
    for example, prediction in zip(examples, predictions, strict=True):
        if len(found) >= limit:
            break
        if example.tags == prediction.tags and example.label == prediction.label:
            continue
        if prediction.label is None and example.tags == prediction.tags:
            continue
        if prediction.tags is None and example.label == prediction.label:
            continue
        gold = [*(example.tags or ())] + ([example.label] if example.label else [])
        guess = [*(prediction.tags or ())] + ([prediction.label] if prediction.label else [])
        found.append(
            {
                "text": " ".join(example.words),
                "words": list(example.words),
                "language": example.language,
                "gold": gold,
                "predicted": guess,
            }
        )
    return found


def runtime_predictions(runtime: Runtime, examples: Sequence[Example]) -> list[Prediction]:
    """What an exported file says of examples, by their own words."""
    logits = runtime.logits([(e.words, e.second) for e in examples])
    return [runtime.task.decode(one) for one in logits]


def evaluate_file(
    model: Path, data: Path | None, format: str | None, language: str | None, limit: int = 10
) -> Evaluation:
    """Score an exported file; needs no training stack.

    Raises:
        RecipeError: no data.
        ModelFileError: the file cannot be used.
    """
    runtime = Runtime(model)
    if data is None:
        raise RecipeError("give --data: a .tflite file has no data of its own")
    examples = _read(data, format, language, runtime.splitter)
    found = _evaluate(runtime.task, examples, runtime_predictions(runtime, examples), limit)
    return {data.name: found}


def evaluate_run(
    folder: Path,
    model: str | None,
    data: Path | None,
    format: str | None,
    language: str | None,
    limit: int = 10,
) -> Evaluation:
    """Score a system of a run: a model by its name, or its file, as in ``student.tflite``.

    The model that is delivered is scored if none is named.

    Raises:
        RunError: not a run folder, no such model, it is not trained yet, or without other data: the
            run's own has changed.
        DataError: data that cannot be read, or has labels that the run's recipe makes an error.
    """
    from tfdistil.corpus import refuse_unknown_labels
    from tfdistil.runs import open_models, open_run

    work = open_run(folder, labelled_only=True) if data is None else open_models(folder)
    system = SystemId.parse(model or work.recipe.main)
    known = (*models_of(work.recipe), *files_of(work.recipe))
    if system not in known:
        raise RunError(f"{folder}: no model {model!r}; there are {', '.join(map(str, known))}")
    sets = work.corpus.score_sets()
    if data is not None:
        sets = {data.name: _read(data, format, language, work.corpus.splitter)}
        if work.recipe.data.unknown_labels == "error":
            refuse_unknown_labels(work.corpus.task, sets[data.name])
    return {
        name: _evaluate(work.corpus.task, examples, predictions_of(work, system, examples), limit)
        for name, examples in sets.items()
    }


def predictions_of(work: Run, system: SystemId, examples: Sequence[Example]) -> list[Prediction]:
    """What a system of a run says of examples."""
    from tfdistil.distill.evaluate import Predictor
    from tfdistil.distill.rows import encode_rows

    if system.is_file:
        return runtime_predictions(Runtime(work.file_of(system)), examples)
    record = work.model(system.model)
    predictor = Predictor(record.model, work.corpus.task, work.head(system.model))
    return predictor.predict(encode_rows(examples, record.featurizer, None))


def print_evaluation(found: Evaluation, as_json: bool) -> None:
    """Write an evaluation to standard output."""
    if as_json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return
    for name, part in found.items():
        scores = ", ".join(f"{key} {value:.2f}" for key, value in part["scores"].items())
        print(f"{name}: {part['examples']} examples, {scores}")
        if part["unknown_labels"]:
            listed = describe_unknown(part["unknown_labels"])
            print(f"  labels the model does not have, each counted as a miss: {listed}")
        width = max((len(label) for label in part["labels"]), default=0)
        for label, row in part["labels"].items():
            columns = "  ".join(f"{key} {row[key]:6.2f}" for key in ("precision", "recall", "f1"))
            print(f"  {one_line(label):<{width}}  {columns}  support {row['support']:g}")
        for error in part["errors"]:
            print(f"  - {one_line(error['text'])}")
            print(f"    gold      {one_line(' '.join(error['gold']))}")
            print(f"    predicted {one_line(' '.join(error['predicted']))}")
