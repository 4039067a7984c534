"""Score any run, teacher or file on any labelled data: `tfdistil.evaluate` and its command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from tfdistil.console.native_notes import without_notes
from tfdistil.console.silence import import_backend
from tfdistil.data.example import Example
from tfdistil.data.memory import Columns, Table, Tables, read_rows, rows_of
from tfdistil.data.source import Source, load, map_labels
from tfdistil.data.suggest import suggest
from tfdistil.errors import DataError, RecipeError, RunError
from tfdistil.evaluation.span_fates import SpanErrors, seen_in, span_errors_of
from tfdistil.metrics.bootstrap import interval
from tfdistil.metrics.span_errors import Seen
from tfdistil.printable import listed
from tfdistil.runtime import Runtime
from tfdistil.tasks import Output, Prediction, Task, unknown_labels
from tfdistil.tasks.iob2 import spans
from tfdistil.tasks.unknown import Unknown
from tfdistil.text.words import WordSplitter

if TYPE_CHECKING:
    from tfdistil.recipe.systems import SystemId
    from tfdistil.runs.run import Run


class WrongExample(TypedDict):
    """An example that is not all right: tags and label as they should be and as they came."""

    text: str
    words: tuple[str, ...]
    language: str
    gold: tuple[str, ...]
    predicted: tuple[str, ...]


@dataclass(frozen=True)
class Evaluation:
    """A model on a set of labelled examples.

    Attributes:
        model: the name of the model, or of its file.
        examples: how many there are.
        scores: metric to percent; the task's own metric is the first.
        interval: of the task's own metric, 95 %, by the bootstrap over examples: low and high.
        labels: label to ``precision``, ``recall`` and ``f1`` in percent, and ``support``.
        unknown_labels: those the model does not have, each counted as a miss.
        span_errors: what gold spans came to, see `tfdistil.metrics.span_errors`; their kinds by
            the training set are those of a run's own sets. Empty without spans.
        errors: the first examples that are not all right.
    """

    model: str
    examples: int
    scores: dict[str, float]
    interval: tuple[float, float]
    labels: dict[str, dict[str, float]]
    unknown_labels: Unknown
    span_errors: SpanErrors
    errors: list[WrongExample]


Labelled = str | Path | Table | Tables
"""A file, or data from memory, which may be several sets by name."""


def _read(
    data: Labelled,
    format: str | None,
    language: str | None,
    columns: Columns | None,
    splitter: WordSplitter,
) -> dict[str, tuple[Example, ...]]:
    if isinstance(data, str | Path):
        path = Path(data)
        found = suggest(path) if format is None else Source(path, format)
        return {path.name: load([replace(found, language=language)], split=splitter.split).examples}
    tables = data if isinstance(data, Mapping) else {"data": data}
    return {
        name: read_rows(name, rows_of(name, table, columns), splitter.split, language)
        for name, table in tables.items()
    }


@dataclass(frozen=True)
class How:
    """What `evaluate` is told beside models and data, see there."""

    errors: int
    label_map: Mapping[str, str]
    seen: Seen | None = None


def evaluation_of(
    model: str,
    task: Task,
    examples: Sequence[Example],
    predictions: Sequence[Prediction],
    how: How,
) -> Evaluation:
    """Scores of what a model of a task says of examples.

    Raises:
        DataError: an example without what the task predicts.
    """
    names = {output.name for output in task.outputs}
    for example in examples:
        if missing := names - task.targets(example).keys():
            lacks = listed(sorted(missing))
            raise DataError(f"{example.source}: nothing to score: no {lacks}, as the model gives")
    if how.label_map:
        examples, predictions = _mapped(examples, predictions, how.label_map)
        unknown = _out_of_reach(task, examples, how.label_map)
    else:
        unknown = unknown_labels(task, examples)
    return Evaluation(
        model=model,
        examples=len(examples),
        scores=task.score(examples, predictions),
        interval=interval(task.statistics(examples, predictions)),
        labels=task.label_scores(examples, predictions),
        unknown_labels=unknown,
        span_errors=span_errors_of(task, examples, predictions, how.seen),
        errors=errors(examples, predictions, how.errors),
    )


def _own_labels(output: Output) -> set[str]:
    """Labels of an output, or the types of its spans."""
    return {label if output.level == "sequence" else label[2:] for label in output.labels}


def check_map(task: Task, sets: Iterable[Sequence[Example]], label_map: Mapping[str, str]) -> None:
    """Make sure that a map of labels has something to rename.

    Raises:
        RecipeError: a task without labels.
        DataError: a label that neither the sets nor the task have.
    """
    if not label_map:
        return
    if not task.outputs:
        raise RecipeError(f"label_map is of labels, which a model of {task.kind!r} has not")
    known = set().union(*map(_own_labels, task.outputs))
    for examples in sets:
        known.update(map_labels(examples, label_map)[1])
    if idle := label_map.keys() - known:
        raise DataError(f"label_map has {listed(sorted(idle))}, which neither data nor model have")


def _mapped(
    examples: Sequence[Example], predictions: Sequence[Prediction], label_map: Mapping[str, str]
) -> tuple[list[Example], list[Prediction]]:
    """Examples and what is said of them, with what ``label_map`` makes of the labels of both."""
    said = [
        replace(example, tags=prediction.tags, label=prediction.label)
        for example, prediction in zip(examples, predictions, strict=True)
    ]
    gold, decided = (map_labels(side, label_map)[0] for side in (examples, said))
    return gold, [
        replace(prediction, tags=one.tags, label=one.label)
        for prediction, one in zip(predictions, decided, strict=True)
    ]


def _out_of_reach(task: Task, gold: Sequence[Example], label_map: Mapping[str, str]) -> Unknown:
    """Labels of renamed examples that no label of the task becomes, as `unknown_labels`."""
    found = {}
    for output in task.outputs:
        reached = {label_map.get(label, label) for label in _own_labels(output)}
        if output.level == "sequence":
            has = Counter(example.label for example in gold if example.label is not None)
        else:
            has = Counter(span.label for example in gold for span in spans(example.tags or ()))
        left = {label: n for label, n in has.most_common() if label not in reached}
        found.update({output.name: left} if left else {})
    return found


def errors(
    examples: Sequence[Example], predictions: Sequence[Prediction], limit: int = 50
) -> list[WrongExample]:
    """The first examples that are not all right: text, gold and predicted labels."""
    found: list[WrongExample] = []
    for example, prediction in zip(examples, predictions, strict=True):
        if len(found) >= limit:
            break
        if example.tags is None and example.label is None:
            continue  # text that nothing is predicted of
        if example.tags == prediction.tags and example.label == prediction.label:
            continue
        if prediction.label is None and example.tags == prediction.tags:
            continue
        if prediction.tags is None and example.label == prediction.label:
            continue
        gold = (*(example.tags or ()), *([example.label] if example.label else []))
        guess = (*(prediction.tags or ()), *([prediction.label] if prediction.label else []))
        found.append(
            {
                "text": " ".join(example.words),
                "words": example.words,
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


def evaluate(
    what: str | Path,
    data: Labelled | None = None,
    *,
    model: str | None = None,
    format: str | None = None,
    language: str | None = None,
    columns: Columns | None = None,
    errors: int = 10,
    label_map: Mapping[str, str] | None = None,
) -> dict[str, Evaluation]:
    """Score a model of a run, or an exported file, which needs no training stack.

    Args:
        what: a run folder or a ``.tflite`` file.
        data: a labelled file; or a list of `Example`, a pandas frame, a split of Hugging Face
            datasets, or several of these by name; None: the dev and test sets of the run.
        model: of a run: a model by its name, or its file, as in ``student.tflite``; None: the one
            that is delivered.
        format: the reader of a file; None guesses.
        language: BCP 47 code of ``data``; None: as the rows say.
        columns: of data from memory, as in `tfdistil.run`.
        errors: how many examples that are not all right are listed.
        label_map: entity type or label to what it is scored as, in the data and in what the model
            says, at once and not one after another: a model of three classes on data with two.
            Labels that remain unknown are told, whatever the recipe says of them.

    Returns:
        By the name of the set: ``dev``, ``test`` and, where test has sentences of train,
        ``test_unseen``; of other data the name of its file,
        its own names, or ``data``.

    Raises:
        RecipeError: a file, and no data, or fewer than no errors; a label map for a task without
            labels.
        RunError: not a run folder, no such model, it is not trained yet, or without other data: the
            run's own has changed.
        DataError: data that cannot be read, or has labels that the run's recipe makes an error; a
            label of ``label_map`` that occurs nowhere.
        ModelFileError: the file cannot be used.
    """
    what = Path(what)
    if errors < 0:
        raise RecipeError(f"errors to list are 0 or more, got {errors}")
    how = How(errors, dict(label_map or {}))

    def read(splitter: WordSplitter) -> dict[str, tuple[Example, ...]] | None:
        return None if data is None else _read(data, format, language, columns, splitter)

    if what.is_dir():
        return _evaluate_run(what, model, read, how)
    with without_notes():
        runtime = Runtime(what)
    sets = read(runtime.splitter)
    if sets is None:
        raise RecipeError("give --data: a .tflite file has no data of its own")
    check_map(runtime.task, sets.values(), how.label_map)
    return {
        name: evaluation_of(
            what.name, runtime.task, examples, runtime_predictions(runtime, examples), how
        )
        for name, examples in sets.items()
    }


Read = Callable[[WordSplitter], dict[str, tuple[Example, ...]] | None]
"""Other data than a run's own, None for none, with the words of a model's splitter."""


def _evaluate_run(folder: Path, model: str | None, read: Read, how: How) -> dict[str, Evaluation]:
    import_backend()
    from tfdistil.corpus.loading import refuse_unknown_labels
    from tfdistil.recipe.systems import SystemId, files_of, models_of
    from tfdistil.runs.run import open_models, open_run

    work = open_models(folder)
    system = SystemId.parse(model or work.recipe.main)
    known = (*models_of(work.recipe), *files_of(work.recipe))
    if system not in known:
        raise RunError(f"{folder}: no model {model!r}; there are {', '.join(map(str, known))}")
    if not system.is_file and work.is_trained(system.model) and not work.answers(system.model):
        raise RunError(f"{folder}: {model!r} has no head that was trained for the task")
    sets = read(work.corpus.splitter)
    if sets is None:
        work = open_run(folder, labelled_only=True)
        sets = work.corpus.score_sets()
        train = map_labels(work.corpus.train, how.label_map)[0]
        how = replace(how, seen=seen_in(work.corpus.task, train))
    elif work.recipe.data.unknown_labels == "error" and not how.label_map:
        for examples in sets.values():
            refuse_unknown_labels(work.corpus.task, examples)
    check_map(work.corpus.task, sets.values(), how.label_map)
    predict = predictor_of(work, system)
    return {
        name: evaluation_of(str(system), work.corpus.task, examples, predict(examples), how)
        for name, examples in sets.items()
    }


def predictor_of(work: Run, system: SystemId) -> Callable[[Sequence[Example]], list[Prediction]]:
    """What a system of a run says of examples; it is loaded once for all that are given."""
    if system.is_file:
        with without_notes():
            return partial(runtime_predictions, Runtime(work.file_of(system)))
    from tfdistil.distill.evaluate import predictor_of as keras_predictor
    from tfdistil.distill.rows import encode_rows

    record = work.model(system.model)
    predictor = keras_predictor(record, work.corpus.task, work.head(system.model))
    return lambda examples: predictor.predict(encode_rows(examples, record.featurizer, None))
