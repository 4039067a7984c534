"""A trained model to one verified model file."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.console.native_notes import without_notes
from tfdistil.data.example import Example
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.rows import Rows, encode_rows
from tfdistil.errors import ExportError, TfdistilError
from tfdistil.exporting.convert import convert, entries_of
from tfdistil.exporting.inspect import Inspection, inspect_model
from tfdistil.exporting.pack import config_bytes, pack
from tfdistil.exporting.probes import longer, measure_probes
from tfdistil.exporting.verify import (
    Drift,
    PathAgreement,
    check_drop,
    check_operators,
    check_probes,
    labels_of,
    measure_drift,
    measure_paths,
    summary,
)
from tfdistil.files import write_bytes
from tfdistil.metrics.bootstrap import BootstrapResult, paired_bootstrap
from tfdistil.runtime.model_file import FORMAT
from tfdistil.runtime.runtime import Runtime
from tfdistil.tasks import Task
from tfdistil.text.featurizer import WORD_MASK, Featurizer
from tfdistil.text.registry import featurizer_from_assets
from tfdistil.versions import versions_of

CALIBRATION_ROWS = 512
"""Windows that int8 ranges are taken from; more cost time and change little."""


@dataclass(frozen=True)
class ExportResult:
    """What was written, and how it compares with the model in Keras.

    Attributes:
        path: the file.
        bytes: its size, assets included.
        quantize: how it is quantized.
        signatures: signature to ``{"batch": ..., "length": ...}``.
        inspection: the graph's operators and constants.
        drift: per task output, on the dev examples.
        probes: the same on texts ``shorter`` and ``longer`` than the file's rows.
        paths: per output that the graph decodes, whether its labels are Keras' and the runtime's.
        metric: the task's metric.
        scores: all scores on the dev examples, of ``keras`` and of the ``file``.
        lost: of the metric, Keras (second) over the file (first).
        max_drop: points that it may lose.
        examples: how many dev examples were scored.
        windowed: how many of them are longer than a window of the file.
        seconds: what the export took.
    """

    path: Path
    bytes: int
    quantize: str
    signatures: dict[str, dict[str, int]]
    inspection: Inspection
    drift: dict[str, Drift]
    probes: dict[str, dict[str, Drift]]
    paths: dict[str, PathAgreement]
    metric: str
    scores: dict[str, dict[str, float]]
    lost: BootstrapResult
    max_drop: float
    examples: int
    windowed: int
    seconds: float

    @property
    def drop(self) -> float:
        """Points of the metric that the file has less than Keras."""
        return self.lost.difference

    @property
    def warning(self) -> str | None:
        """What to say of a drop that is too large, but may be the luck of the dev examples."""
        if self.drop <= self.max_drop:
            return None
        return (
            f"{self.quantize} costs {self.drop:.2f} points of {self.metric} on dev, more than "
            f"max_drop {self.max_drop:g}; with {self.examples} examples that may be chance "
            f"({self.lost.confidence:.0f} % interval {self.lost.low:.2f} to {self.lost.high:.2f})"
        )

    def to_json(self) -> dict[str, Any]:
        """As plain JSON data."""
        graph = self.inspection.to_json()
        return {
            **graph,
            **summary(self.drift),
            "probes": {kind: summary(drifts)["drift"] for kind, drifts in self.probes.items()},
            "paths": {output: one.to_json() for output, one in self.paths.items()},
            "model_bytes": graph["bytes"],
            "bytes": self.bytes,
            "path": self.path.name,
            "quantize": self.quantize,
            "signatures": self.signatures,
            "metric": self.metric,
            "scores": self.scores,
            "drop": self.drop,
            "drop_low": self.lost.low,
            "drop_high": self.lost.high,
            "examples": self.examples,
            "windowed": self.windowed,
            "seconds": self.seconds,
        }


def export_student(
    student: Any,
    task: Task,
    featurizer: Featurizer,
    splitter: Any,
    *,
    examples: Sequence[Example],
    out: Path,
    quantize: str = "int8",
    length: int = 32,
    batch: int = 32,
    head: str = "labels",
    max_drop: float = 0.5,
    tags_in_graph: bool = False,
    languages: Sequence[str] = (),
    calibration: Sequence[Example] | None = None,
) -> ExportResult:
    """Convert a student or an encoder, pack all that prediction needs into the file, and check it.

    The file is written under its name only when every check has passed. It is checked as a user
    will run it: by `tfdistil.runtime.Runtime` in the stock interpreter.

    Args:
        student: has ``export_function`` and the rest of `tfdistil.heads.model.HeadedModel`.
        task: what its outputs mean.
        featurizer: what it was trained with; the file's windows have ``length`` positions.
        splitter: the `tfdistil.text.words.WordSplitter` of raw text.
        examples: labelled dev examples for the check.
        out: the file.
        quantize: one of `tfdistil.exporting.quantize.QUANTIZE`.
        length: positions per call; longer texts are windowed.
        batch: rows of the signature ``batch``, 1 for none; the signature ``online`` has one.
        head: whose logits the file gives; an encoder's is ``logits``.
        max_drop: points of the task's metric the file may have less than Keras, beyond what the
            luck of the examples explains, see `check_drop`.
        tags_in_graph: also return the tags of the best path, found in the graph; of a CRF.
        languages: BCP 47 codes, for people.
        calibration: examples for int8 ranges, labelled or not; by default those of the check, and
            texts of several of them, which fill a row.

    Raises:
        ExportError: no labelled examples, no such head, tags from a graph that cannot decode, a
            failed conversion, int8 for the logarithms of a mean, operators the stock runtime
            lacks, too large a drop, labels that change with a text's padding, or tags of the graph
            that are not the best ones.
    """
    start = time.perf_counter()
    out = Path(out)
    if batch < 1:
        raise ExportError(f"the signature 'batch' needs at least one row, got {batch}")
    if not max_drop >= 0:
        raise ExportError(f"max_drop is points of the metric, 0 or more, got {max_drop:g}")
    names = {output.name for output in task.outputs}
    labelled = [e for e in examples if names <= task.targets(e).keys()]
    if not labelled:
        raise ExportError(
            f"none of the {len(examples)} dev examples has labels for {', '.join(sorted(names))}; "
            "the check of the file needs some"
        )
    short = featurizer_at_length(featurizer, length)
    rows = encode_rows(labelled, short, None)
    if calibration is None:
        # Reversed, so that these are other texts than those of `measure_probes`.
        calibration = [*labelled, *longer(labelled[::-1], length)]
    word_mask = short.word_mask if tags_in_graph else None
    entries = entries_of(student, length, batch, head, word_mask)
    if missing := names.difference(student.outputs_of(head)):
        raise ExportError(
            f"the head {head!r} has no {', '.join(sorted(missing))}, which the task needs; it has "
            f"{', '.join(student.outputs_of(head))}"
        )
    if quantize == "int8" and (unfit := student.unfit_for_int8(head)):
        raise ExportError(f"the model has {unfit}")
    paths = student.path_outputs(head) if tags_in_graph else {}
    if tags_in_graph and not paths:
        raise ExportError(
            f"tags_in_graph is for a head of the kind crf, and {head!r} is none; leave it out"
        )
    signatures = {name: {"batch": e.batch, "length": length} for name, e in entries.items()}
    inputs = [spec.name for spec in entries["online"].specs]
    ranges = calibration_rows(encode_rows(calibration, short, None), inputs, length)
    model = convert(student, entries, quantize, ranges)
    inspection = inspect_model(model)
    check_operators(inspection)

    config = {
        "format": FORMAT,
        "task": task.to_json(),
        "featurizer": short.to_json(),
        "splitter": splitter.to_json(),
        "signatures": signatures,
        "outputs": {output.name: output.name for output in task.outputs},
        "min_runtime": inspection.min_runtime,
        "quantize": quantize,
        "languages": list(languages),
        "created_with": versions_of("tfdistil", "tensorflow", "keras", "ai-edge-litert"),
        "thresholds": {},
    }
    if decoding := student.decoding(head):
        config["heads"] = decoding
    if paths:
        config["paths"] = paths
    assets = {
        "tfdistil.json": config_bytes(config),
        **label_files(task),
        **short.to_assets(),
    }
    packed = pack(model, assets)
    with tempfile.TemporaryDirectory(prefix="tfdistil-export-") as folder:
        trial = Path(folder) / "trial.tflite"
        trial.write_bytes(packed)
        with without_notes():
            runtime = Runtime(trial)
        predictor = Predictor(student, task, head)
        found = runtime.answers([(e.words, e.second) for e in labelled])
        probes = measure_probes(runtime, predictor, short, labelled)
    expected = predictor.logits(rows)
    same_windows = predictor.decode(expected)
    # Keras is scored on its own windows: what shorter ones lose is a loss of the export.
    answers = {
        "keras": predictor.predict(encode_rows(labelled, featurizer, None)),
        "file": [runtime.task.decode(*one) for one in found],
    }
    labels = labels_of(task, same_windows), labels_of(task, answers["file"])
    drift = measure_drift(expected, [one.logits for one in found], labels)
    agreement = measure_paths(runtime.task, found, same_windows)
    lost = paired_bootstrap(
        task.statistics(labelled, answers["file"]), task.statistics(labelled, answers["keras"])
    )
    check_drop(task.metric, lost, max_drop)
    check_probes(drift, probes, max_drop)
    write_bytes(out, packed)
    return ExportResult(
        path=out,
        bytes=len(packed),
        quantize=quantize,
        signatures=signatures,
        inspection=inspection,
        drift=drift,
        probes=probes,
        paths=agreement,
        metric=task.metric,
        scores={who: task.score(labelled, given) for who, given in answers.items()},
        lost=lost,
        max_drop=max_drop,
        examples=len(labelled),
        windowed=sum(len(parts) > 1 for parts in rows.rows_of()),
        seconds=time.perf_counter() - start,
    )


def featurizer_at_length(featurizer: Featurizer, length: int) -> Featurizer:
    """The same featurizer with windows of another length.

    Raises:
        ExportError: a length that leaves no room for words.
    """
    before = featurizer.to_json()
    settings = before | {"max_length": length}
    if settings.get("overlap") is not None and length < before["max_length"]:
        settings["overlap"] = min(settings["overlap"], max(0, length - 2) // 4)
    try:
        return featurizer_from_assets(settings, featurizer.to_assets())
    except TfdistilError as error:
        raise ExportError(f"windows of {length} positions are not possible: {error}") from error


def calibration_rows(rows: Rows, names: Sequence[str], length: int) -> dict[str, np.ndarray]:
    """At most `CALIBRATION_ROWS` windows, spread over all of them, padded to ``[N, length]``."""
    count = min(len(rows), CALIBRATION_ROWS)
    chosen = np.unique(np.linspace(0, len(rows) - 1, count).astype(np.int64))
    inputs = rows.inputs(chosen.tolist(), multiple=length)
    words = np.zeros((len(chosen), length), np.int32)
    for row, window in zip(words, (rows.windows[n] for n in chosen), strict=True):
        row[: window.length] = window.input(WORD_MASK)
    return {name: words if name == WORD_MASK else inputs[name] for name in names}


def label_files(task: Task) -> dict[str, bytes]:
    """One label per line: ``labels.txt``, or ``labels_<output>.txt`` each where there are several.

    They are for other tools; `tfdistil.runtime.Runtime` reads the labels from ``tfdistil.json``.
    """
    single = len(task.outputs) == 1
    return {
        "labels.txt" if single else f"labels_{output.name}.txt": "".join(
            f"{label}\n" for label in output.labels
        ).encode()
        for output in task.outputs
    }
