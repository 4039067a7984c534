"""What a finished run delivers: the file, the scores of every system, the timings, the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfdistil.comparison import compare, system_name, write_predictions
from tfdistil.evaluation import predictions_of
from tfdistil.files import write_json, write_text
from tfdistil.runs import Run


def deliver(work: Run) -> dict[str, Any]:
    """Export, evaluate, benchmark and report; each is done once.

    Returns:
        The content of ``metrics.json``.
    """
    folder = work.folder
    folder.once("export", lambda: export_step(work))
    folder.once("evaluate", lambda: evaluate_step(work, trained_systems(work)))
    folder.once("evaluate_file", lambda: evaluate_step(work, ["tflite"]))
    folder.once("benchmark", lambda: benchmark_step(work))
    metrics = compare(work)
    write_json(folder.path / "metrics.json", metrics)

    from tfdistil.report import write_report

    work.screen.line("report")
    write_report(metrics, folder.path / "history.csv", folder.path)
    return metrics


def export_step(work: Run) -> dict[str, Any]:
    """Make ``student.tflite`` and check it against Keras."""
    from tfdistil.export.exporter import export_student

    work.screen.line("export")
    student, corpus, spec = work.model("student"), work.corpus, work.recipe.export
    length = work.export_length()
    result = export_student(
        student.model,
        corpus.task,
        student.featurizer,
        corpus.splitter,
        examples=corpus.dev,
        out=work.folder.path / "student.tflite",
        quantize=spec.quantize,
        length=length,
        batch=spec.batch,
        head=spec.head,
        max_drop=spec.max_drop,
        languages=corpus.languages,
    )
    if result.warning is not None:
        work.screen.line(f"  {result.warning}")
    return result.to_json()


def trained_systems(work: Run) -> list[str]:
    """The models that are scored in Keras; the file is made of one of them."""
    return ["teacher", *(["twin"] if work.recipe.twin else []), "student"]


def evaluate_step(work: Run, systems: Sequence[str]) -> dict[str, Any]:
    """Keep the predictions of some systems on dev and test."""
    work.screen.line("evaluate")
    sets = {name: examples for name, examples in work.corpus.sets().items() if examples}
    for system in systems:
        for name in ("dev", "test"):
            if name in sets:
                found = predictions_of(work, system, sets[name])
                path = work.folder.path / "predictions" / f"{system}.{name}.jsonl"
                write_text(path, write_predictions(found))
        work.screen.line(f"  {system_name(system, work.recipe)}")
    return {"systems": list(systems)}


def benchmark_step(work: Run) -> dict[str, Any]:
    """Time the file, the run's own teacher and the reference in the same runtime, in one run."""
    from tfdistil.benchmarks.run import benchmark_run

    work.screen.line("benchmark")
    return benchmark_run(
        work.folder.path / "student.tflite",
        work.model("teacher").model,
        queries=work.recipe.benchmark.queries,
        reference=work.recipe.benchmark.reference,
        folder=work.folder.path / "benchmark",
        screen=work.screen.line,
    )
