"""What a run delivers: files, checkpoints, the scores of all systems, timings, the report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from tfdistil.errors import ExportError
from tfdistil.evaluation.comparison import compare, store_predictions
from tfdistil.evaluation.evaluate import predictor_of
from tfdistil.files import new_folder
from tfdistil.recipe.systems import SystemId, files_of, main_of, models_of, name_of, teacher_of
from tfdistil.runs.folder import BENCHMARK, EVALUATIONS, checkpoint_step, export_step
from tfdistil.runs.run import Run
from tfdistil.runs.run_metrics import Metrics

_SAME = 1e-4
"""Logits of a checkpoint that was read back may differ by so much."""


def deliver(work: Run) -> Metrics:
    """Export, evaluate, benchmark and report; each is done once."""
    folder, recipe = work.folder, work.recipe
    models = [one for one in models_of(recipe) if work.answers(one.model)]
    of_models, of_files = EVALUATIONS
    folder.once(of_models, partial(evaluate, work, models))
    for name, spec in recipe.deliveries.items():
        if spec.checkpoint:
            folder.once(checkpoint_step(name), partial(checkpoint, work, name))
        if spec.tflite is not False:
            folder.once(export_step(name), partial(export, work, name))
    folder.once(of_files, partial(evaluate, work, files_of(recipe)))
    folder.once(BENCHMARK, partial(benchmark, work))
    metrics = compare(work)
    metrics.save(folder.path)

    from tfdistil.report import write_report

    work.screen.line("report")
    write_report(metrics, folder.path / "history.csv", folder.path)
    return metrics


def export(work: Run, name: str) -> dict[str, Any]:
    """Make a model's ``.tflite`` and check it against Keras."""
    from tfdistil.exporting.run import export_model

    work.screen.line(f"export {name}")
    result = export_model(work, name, work.file_of(SystemId(name, is_file=True)))
    if result.warning is not None:
        work.screen.line(f"  {result.warning}")
    return result.to_json()


def checkpoint(work: Run, name: str) -> dict[str, Any]:
    """Write an encoder as a Hugging Face folder, and read it back.

    Raises:
        ExportError: what was read back answers otherwise.
    """
    from tfdistil.distill.rows import encode_rows
    from tfdistil.encoders import load_encoder
    from tfdistil.models.record import (
        encoder_arguments,
        labels_of,
        outputs_of,
        save_checkpoint,
    )

    work.screen.line(f"checkpoint of {name}")
    record, corpus, step = work.model(name), work.corpus, checkpoint_step(name)
    labels, kinds = labels_of(corpus.task), record.model.head_kinds
    with new_folder(work.folder.path / step) as target:
        save_checkpoint(record, corpus.task, target)
        again = load_encoder(
            target,
            outputs_of(corpus.task),
            heads=kinds,
            labels=labels,
            **encoder_arguments(record.model),
        )
        # A few texts: a masked-language head has logits for the vocabulary at every piece.
        texts = chain(corpus.dev, corpus.train, corpus.transfer, corpus.unlabelled)
        rows = encode_rows(list(islice(texts, 8)), record.featurizer, None)
        batch = rows.inputs(range(len(rows)))
        before, after = record.model(batch), again(batch)
        for signal in record.model.head_specs:
            if not np.allclose(before[signal], after[signal], atol=_SAME):
                raise ExportError(f"{target}: the {signal} of the checkpoint are others")
        size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    return {"path": step, "bytes": size}


def evaluate(work: Run, systems: Sequence[SystemId]) -> dict[str, Any]:
    """Keep the predictions of some systems on dev and test."""
    if systems:
        work.screen.line("evaluate")
    for system in systems:
        store_predictions(work, system, predictor_of(work, system))
        work.screen.line(f"  {name_of(system, work.recipe)}")
    return {"systems": list(map(str, systems))}


def benchmark(work: Run) -> dict[str, Any]:
    """Time the files, their teacher and the reference in the same runtime, in one run."""
    files = files_of(work.recipe)
    if not files:
        return {"models": {}, "ratios": {}, "reference": None}
    from tfdistil.benchmarks.run import benchmark_run

    work.screen.line("benchmark")
    teacher = teacher_of(main_of(work.recipe), work.recipe)
    return benchmark_run(
        {str(system): work.file_of(system) for system in files},
        {} if teacher is None else {teacher: (work.model(teacher).model, work.head(teacher))},
        queries=work.recipe.benchmark.queries,
        reference=work.recipe.benchmark.reference,
        folder=work.folder.path / "benchmark",
        screen=work.screen.line,
    )
