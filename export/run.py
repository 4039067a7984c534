"""A model of a run to a file: a run's own export, `tfdistil.export` and its command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfdistil.console.silence import import_tensorflow
from tfdistil.errors import ExportError
from tfdistil.exporting.quantize import QUANTIZE

if TYPE_CHECKING:
    from tfdistil.exporting.exporter import ExportResult
    from tfdistil.runs.run import Run


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
    tags_in_graph: bool | None = None,
) -> ExportResult:
    """Convert a model of a run again and check it on the run's dev examples.

    Args:
        run: a run folder.
        out: the file; written only when every check has passed.
        model: by its name; None: the one that is delivered.
        quantize: one of `tfdistil.exporting.quantize.QUANTIZE`.
        length: positions per call; longer texts are windowed.
        batch: rows of the batched signature; 1: none.
        head: the head that is kept.
        max_drop: points of the dev metric that the file may lose.
        tags_in_graph: whether the graph of a CRF also returns the tags of the best path.

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
    from tfdistil.runs.run import open_run

    work = open_run(run, labelled_only=True)
    given = {
        "quantize": quantize,
        "length": length,
        "batch": batch,
        "head": head,
        "max_drop": max_drop,
        "tags_in_graph": tags_in_graph,
    }
    return export_model(work, model or work.recipe.main, out, given)


def export_model(
    work: Run, name: str, out: Path, given: Mapping[str, Any] | None = None
) -> ExportResult:
    """Convert a trained model of an open run, and check it on the run's dev examples.

    Args:
        work: the run.
        name: of the model.
        out: the file.
        given: values of `ExportSpec`'s keys that are not as the recipe says; None counts as not
            given.

    Raises:
        ExportError: see `tfdistil.exporting.export_student`; or Keras is not on TensorFlow.
    """
    import keras

    if (backend := keras.backend.backend()) != "tensorflow":
        raise ExportError(
            f"{out.name} is made on TensorFlow, and Keras is on {backend}, where models are only "
            f"trained and scored: give the same command again without KERAS_BACKEND={backend}"
        )
    from tfdistil.exporting.exporter import export_student

    record, spec = work.model(name), work.recipe.export_of(name)
    chosen = {
        "quantize": spec.quantize,
        "batch": spec.batch,
        "max_drop": spec.max_drop,
        "tags_in_graph": spec.tags_in_graph,
        **{key: value for key, value in (given or {}).items() if value is not None},
    }
    chosen.setdefault("head", work.head(name))
    if "length" not in chosen:  # it may have to be measured
        chosen["length"] = work.export_length(name)
    return export_student(
        record.model,
        work.corpus.task,
        record.featurizer,
        work.corpus.splitter,
        examples=work.corpus.dev,
        out=out,
        languages=work.corpus.languages,
        **chosen,
    )
