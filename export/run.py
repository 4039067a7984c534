"""A model of a run to a file: `tfdistil.export` and its command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfdistil.errors import ExportError
from tfdistil.exporting.quantize import QUANTIZE
from tfdistil.quiet import import_tensorflow

if TYPE_CHECKING:
    from tfdistil.exporting.exporter import ExportResult


def export(
    run: str | Path,
    out: str | Path,
    *,
    model: str | None = None,
    quantize: str | None = None,
    length: int | None = None,
    batch: int | None = None,
    head: str | None = None,
    max_drop: float | None = None,
) -> ExportResult:
    """Convert a model of a run again and check it on the run's dev examples.

    Args:
        run: a run folder.
        out: the file; written only when every check has passed.
        model: by its name; None: the one that is delivered.
        quantize: one of `tfdistil.exporting.quantize.QUANTIZE`.
        length: positions per call; longer texts are windowed.
        batch: rows of the batched signature.
        head: the head that is kept.
        max_drop: points of the dev metric that the file may lose.

    What is None is as the recipe says.

    Raises:
        RunError: not a run folder, no such model, it is not trained yet, or the run's data has
            changed.
        ExportError: see `tfdistil.exporting.export_student`.
    """
    out = Path(out)
    if out.is_dir():
        raise ExportError(f"{out} is a folder; give the name of a file")
    if quantize not in (None, *QUANTIZE):
        raise ExportError(f"quantize is {quantize!r}, expected one of {', '.join(QUANTIZE)}")
    import_tensorflow()
    from tfdistil.exporting.exporter import export_student
    from tfdistil.runs import open_run

    work = open_run(run, labelled_only=True)
    name = model or work.recipe.main
    record, spec = work.model(name), work.recipe.export_of(name)

    def chosen(given: Any, key: str) -> Any:
        return getattr(spec, key) if given is None else given

    return export_student(
        record.model,
        work.corpus.task,
        record.featurizer,
        work.corpus.splitter,
        examples=work.corpus.dev,
        out=out,
        quantize=chosen(quantize, "quantize"),
        length=work.export_length(name) if length is None else length,
        batch=chosen(batch, "batch"),
        head=head or work.head(name),
        max_drop=chosen(max_drop, "max_drop"),
        languages=work.corpus.languages,
    )
