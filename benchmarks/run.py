"""The benchmark of a run: its file, its own teacher and a reference shape in one go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfdistil.benchmarks.latency import Protocol, environment, measure
from tfdistil.benchmarks.model import open_interpreter, shapes
from tfdistil.benchmarks.shapes import reference_file
from tfdistil.benchmarks.teacher import teacher_model
from tfdistil.files import write_bytes


def benchmark_run(
    student: Path,
    teacher: Any,
    *,
    queries: int = 1000,
    reference: str | None = None,
    folder: Path,
    threads: int = 1,
    screen: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Time an exported student beside its teacher, at the student's shapes.

    Args:
        student: the model file.
        teacher: the `tfdistil.encoders.encoder.Encoder`; converted to float32.
        queries: timed calls of each model.
        reference: a key of `tfdistil.benchmarks.shapes.REFERENCES`, or None; all runs share its
            file, see `tfdistil.benchmarks.shapes.cache_folder`.
        folder: where the converted teacher is kept; one of the same shapes that lies there is used.
        threads: of the interpreter.
        screen: told what is going on.

    Returns:
        ``student`` and ``teacher`` (see `tfdistil.benchmarks.latency.Measurement.to_json`),
        ``reference`` (``name``, ``bytes``, ``parameters``, ``latency``; or None), ``ratios``
        (``teacher`` and ``reference`` to the student) and ``environment``.

    Raises:
        ModelFileError: the student's file cannot be used.
        ExportError: the teacher cannot be converted.
    """
    known = shapes(open_interpreter(student, threads), student)
    length, batch = known[-1].length, known[-1].batch
    teacher_path = folder / "teacher.tflite"
    if not _has_shape(teacher_path, length, batch):
        screen("  the teacher as a float .tflite")
        write_bytes(teacher_path, teacher_model(teacher, length=length, batch=batch))
    files = {"student": student, "teacher": teacher_path}
    if reference is not None:
        files["reference"] = reference_file(
            reference, length=length, batch=batch, screen=lambda s: screen(f"  {s}")
        )
    benchmark = measure(files, Protocol(queries=queries, threads=threads), screen=screen)
    models = {model.name: model.to_json() for model in benchmark.models}
    beside = models.get("reference")
    return {
        "student": models["student"],
        "teacher": models["teacher"],
        "reference": None
        if beside is None
        else {
            "name": reference,
            "bytes": beside["bytes"],
            "parameters": beside["parameters"],
            "latency": beside,
        },
        "ratios": {name: benchmark.ratio(name, "student") for name in models if name != "student"},
        "environment": environment(),
    }


def _has_shape(path: Path, length: int, batch: int) -> bool:
    if not path.exists():
        return False
    largest = shapes(open_interpreter(path), path)[-1]
    return (largest.length, largest.batch) == (length, batch)
