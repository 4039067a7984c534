"""The benchmark of a run: its files, their own teacher and a reference shape in one go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tfdistil.benchmarks.environment import environment
from tfdistil.benchmarks.latency import Protocol, measure
from tfdistil.benchmarks.model import open_interpreter, shapes
from tfdistil.benchmarks.shapes import reference_file
from tfdistil.files import write_bytes

REFERENCE = "reference shape"
"""Its name among the files, which no model's is: it has a space."""


def benchmark_run(
    files: Mapping[str, Path],
    teachers: Mapping[str, tuple[Any, str]],
    *,
    queries: int = 1000,
    reference: str | None = None,
    folder: Path,
    threads: int = 1,
    screen: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Time exported files beside their teacher, at the shapes of the first one.

    Args:
        files: model files by name, at least one.
        teachers: the teacher in Keras by its name, with the head whose logits it answers by, or
            nothing; converted to float32 as any model that is exported.
        queries: timed calls of each model.
        reference: a key of `tfdistil.benchmarks.shapes.REFERENCES`, or None; all runs share its
            file, see `tfdistil.benchmarks.cache.cache_folder`.
        folder: where the converted teacher is kept; one of the same shapes that lies there is used.
        threads: of the interpreter.
        screen: told what is going on.

    Returns:
        ``models``, all that was timed by name (see
        `tfdistil.benchmarks.latency.Measurement.to_json`), ``reference`` (``name``, ``bytes``,
        ``parameters``, ``latency``; or None), ``ratios`` (by file, of ``teacher`` and
        ``reference`` to it) and ``environment``.

    Raises:
        ModelFileError: a file cannot be used.
        ExportError: the teacher cannot be converted.
    """
    from tfdistil.exporting.convert import convert, entries_of

    largest = [shapes(open_interpreter(path, threads), path)[-1] for path in files.values()]
    length, batch = largest[0].length, max(shape.batch for shape in largest)
    timed, roles = dict(files), {}
    for name, (teacher, head) in teachers.items():
        timed[name], roles["teacher"] = folder / f"{name}.tflite", name
        if not _has_shape(timed[name], length, batch):
            screen(f"  {name} as a float .tflite")
            entries = entries_of(teacher, length, batch, head)
            write_bytes(timed[name], convert(teacher, entries, "none"))
    if reference is not None:
        roles["reference"] = REFERENCE
        timed[REFERENCE] = reference_file(
            reference, length=length, batch=batch, screen=lambda s: screen(f"  {s}")
        )
    benchmark = measure(timed, Protocol(queries=queries, threads=threads), screen=screen)
    models = {model.name: model.to_json() for model in benchmark.models}
    beside = models.get(REFERENCE)
    return {
        "models": models,
        "reference": None
        if beside is None
        else {
            "name": reference,
            "bytes": beside["bytes"],
            "parameters": beside["parameters"],
            "latency": beside,
        },
        "ratios": {
            file: {role: benchmark.ratio(name, file) for role, name in roles.items()}
            for file in files
        },
        "environment": environment(),
    }


def _has_shape(path: Path, length: int, batch: int) -> bool:
    if not path.exists():
        return False
    largest = shapes(open_interpreter(path), path)[-1]
    return (largest.length, largest.batch) == (length, batch)
