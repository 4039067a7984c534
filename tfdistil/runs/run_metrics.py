"""``metrics.json``: all that a run has measured, written and read by one class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tfdistil.errors import DataError, RunError
from tfdistil.files import read_json, write_json
from tfdistil.metrics.bootstrap import BootstrapResult

FILE_NAME = "metrics.json"
SET_ORDER = ("dev", "test", "test_unseen")
_MOST_PROBLEMS = 5

Role = Literal["teacher", "assistant", "baseline", "student", "file"]
"""What a system is in its run: the first teacher; a teacher that had one itself; a student trained
without a teacher; any other model; the file made of a model."""
ROLES: tuple[Role, ...] = get_args(Role)
"""In the order of tables."""
Scores = dict[str, float]
Times = dict[str, int | float]
"""Milliseconds, and counts of calls and rows."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Latency(_Record):
    """Times of one file, in milliseconds.

    Attributes:
        online_ms: one text per call: ``p50``, ``p90``, ``p99`` and how it was measured.
        batch_ms: one batch per call, the same keys; None if the file has one signature.
        queries_per_second: texts per second in batches.
        peak_rss_bytes: memory at the most.
    """

    online_ms: Times
    batch_ms: Times | None
    queries_per_second: float | None
    peak_rss_bytes: float | None

    @field_validator("online_ms")
    @classmethod
    def _has_quantiles(cls, value: Times) -> Times:
        if missing := {"p50", "p90", "p99"} - value.keys():
            raise ValueError(f"no {', '.join(sorted(missing))}")
        return value


class Reference(_Record):
    """A shape with random weights that was timed too."""

    name: str
    parameters: int
    bytes: int
    latency: Latency


class Ratio(_Record):
    """How many times slower and larger another file is: medians with intervals."""

    online: Scores
    batch: Scores | None
    bytes: float


class Phase(_Record):
    """How a phase of a stage ended, see `tfdistil.distill.stage.PhaseResult`."""

    name: str
    best: float
    updates: int
    waited: int = 0
    score: float | None = None
    parameters: Scores = {}
    kept: int | None = None


class Export(_Record):
    """A file beside its model in Keras, see `tfdistil.exporting.exporter.ExportResult`."""

    path: str
    bytes: int
    model_bytes: int
    parameters: int
    quantize: str
    min_runtime: str | None
    signatures: dict[str, dict[str, int]]
    ops: dict[str, dict[str, int]]
    flex: int
    custom: int
    float_ops: int
    float_operators: dict[str, dict[str, int]]
    constants: dict[str, int]
    parts: dict[str, int] = {}
    agreement: float
    drift: dict[str, Scores]
    probes: dict[str, dict[str, Scores]]
    paths: dict[str, dict[str, float]] = {}
    metric: str
    scores: dict[str, Scores]
    drop: float
    drop_low: float
    drop_high: float
    examples: int
    windowed: int
    seconds: float

    @field_validator("ops")
    @classmethod
    def _counts_online(cls, value: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
        if "online" not in value:
            raise ValueError("no online")
        return value


class Mistake(_Record):
    """An example that is not all right: tags of its words, then the label of the text."""

    text: str
    words: tuple[str, ...]
    language: str | None
    gold: tuple[str, ...]
    predicted: tuple[str, ...]


class System(_Record):
    """A model of the run, or a file made of one, with all that is known of it.

    Attributes:
        id: of its predictions: the model's name, with ``.tflite`` if it is a file.
        name: in tables.
        role: what it is in the run.
        model: its entry in the recipe's ``models``.
        teacher: id of its first teacher; None if it had none.
        parameters: numbers in its weights.
        bytes: of the file, where there is one.
        scores: by set, in percent.
        retention: its score in percent of its teacher's, by set.
        languages: the task's metric by language, on the main set.
        labels: precision, recall, f1 and support by label, on the main set.
        spans: what gold spans became by kind, on the main set: `tfdistil.metrics.span_errors`.
        gain: over the same model trained without a teacher, by set.
        latency: None where it was not timed.
        ratios: ``teacher`` and ``reference`` to it, as they were timed.
        export: of a file.
    """

    id: str
    name: str
    role: Role
    model: str
    teacher: str | None = None
    parameters: int
    bytes: Annotated[int | None, Field(ge=0)] = None
    scores: dict[str, Scores]
    retention: Scores = {}
    languages: Scores = {}
    labels: dict[str, Scores] = {}
    spans: dict[str, dict[str, int]] = {}
    gain: dict[str, BootstrapResult] = {}
    latency: Latency | None = None
    ratios: dict[str, Ratio] = {}
    export: Export | None = None

    @property
    def online(self) -> float | None:
        """Median time for one text, in milliseconds."""
        return self.latency.online_ms.get("p50") if self.latency else None


class AnchorScores(_Record):
    """What needs no teacher, trained on the labels of train.

    Attributes:
        name: as the recipe has it.
        title: what it is.
        bytes: of it, where it has weights.
        seconds: that its training and its answers took.
        scores: by set, in percent.
        gain: of what is delivered over it, by set.
    """

    name: str
    title: str
    bytes: int | None = None
    seconds: float
    scores: dict[str, Scores]
    gain: dict[str, BootstrapResult]


class Metrics(_Record):
    """A run in numbers.

    Attributes:
        name, task, metric, seed: of the recipe.
        main: id of what the run delivers first, which the answers are about.
        systems: all that was scored.
        reference: None where no reference shape was timed.
        anchor: None where the recipe asks for none.
        concerns: what must be read before the scores are believed (`tfdistil.evaluation.concerns`).
        examples: texts to ask the file about.
        errors: examples of the main set that the main system has wrong.
        data: sentences by set, and other counts.
        drawn: transfer file to its ``sentences`` and those ``drawn``, where ``data.transfer_limit``
            draws some of all.
        corpus: model to language to what there is of its text and how often it was drawn, see
            `tfdistil.shards.reading.ShardedRows.language_counts`; without models that read none.
        unknown_labels: set to output to label to how often train lacks it.
        phases: of each model.
        monitors: stage to ``metric`` or ``loss``, which chose its best weights.
        languages: BCP 47 codes.
        wall_clock_s: seconds by step.
        environment: processor and versions.
        command: that repeats the run.
    """

    name: str
    task: str
    metric: str
    seed: int
    main: str
    systems: tuple[System, ...]
    reference: Reference | None = None
    anchor: AnchorScores | None = None
    concerns: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    errors: tuple[Mistake, ...] = ()
    data: dict[str, Any] = {}
    drawn: dict[str, dict[str, int]] = {}
    corpus: dict[str, dict[str, Times]] = {}
    unknown_labels: dict[str, dict[str, dict[str, int]]] = {}
    phases: dict[str, tuple[Phase, ...]] = {}
    monitors: dict[str, str] = {}
    languages: tuple[str, ...] = ()
    wall_clock_s: Scores = {}
    environment: dict[str, str | int | float | None] = {}
    command: str = ""

    @model_validator(mode="after")
    def _knows_its_systems(self) -> Metrics:
        ids = {system.id for system in self.systems}
        for name in (self.main, self.main.removesuffix(".tflite")):
            if name not in ids:
                raise ValueError(f"{name!r} is not among the systems {sorted(ids)}")
        return self

    @classmethod
    def from_json(cls, data: Any, where: str = FILE_NAME) -> Metrics:
        """Plain JSON data as metrics.

        Raises:
            DataError: keys that are missing, unknown or of another kind, each by name.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as problems:
            found = problems.errors()
            lines = [
                f"  {'.'.join(map(str, error['loc'])) or 'all'}: {error['msg']}"
                for error in found[:_MOST_PROBLEMS]
            ]
            raise DataError(
                f"{where} is not what this version of tfdistil writes:\n" + "\n".join(lines)
            ) from None

    @classmethod
    def load(cls, folder: Path) -> Metrics:
        """The metrics of a finished run.

        Raises:
            DataError: see `from_json`.
            FileNotFoundError: the run is not finished.
        """
        return cls.from_json(read_json(folder / FILE_NAME), str(folder / FILE_NAME))

    def save(self, folder: Path) -> None:
        """Write ``metrics.json``, whole or not at all."""
        write_json(folder / FILE_NAME, self.model_dump(mode="json"))

    def system(self, id: str | None) -> System | None:
        """The system of that id."""
        return next((system for system in self.systems if system.id == id), None)

    @property
    def delivered(self) -> System:
        """What the run delivers first."""
        return self._known(self.main)

    @property
    def keras(self) -> System:
        """The same model before it became a file."""
        return self._known(self.main.removesuffix(".tflite"))

    def _known(self, id: str) -> System:
        return next(system for system in self.systems if system.id == id)

    @property
    def teacher(self) -> System | None:
        """The first teacher of what is delivered."""
        return self.system(self.delivered.teacher)

    @property
    def baseline(self) -> System | None:
        """What is delivered, trained without a teacher."""
        return next((system for system in self.systems if system.role == "baseline"), None)

    @property
    def sets(self) -> list[str]:
        """Sets with a score, the usual ones first."""
        found = {name for system in self.systems for name in system.scores}
        return [s for s in SET_ORDER if s in found] + sorted(found.difference(SET_ORDER))

    @property
    def main_set(self) -> str:
        """Where the answer is taken: ``test`` where there is one, else ``dev``."""
        return "test" if "test" in self.sets else "dev"

    @property
    def timed(self) -> list[System | Reference]:
        """All that has a latency, the reference shape last."""
        timed: list[System | Reference] = [s for s in self.systems if s.latency is not None]
        return [*timed, *([self.reference] if self.reference else [])]

    def score(self, system: System | AnchorScores | None, name: str) -> float | None:
        """The task's metric of a system on a set."""
        return None if system is None else system.scores.get(name, {}).get(self.metric)


def smaller(system: System, than: System | Reference | None) -> float | None:
    """How many times a system's file fits into another one."""
    if than is None or not system.bytes or not than.bytes:
        return None
    return than.bytes / system.bytes


def faster(system: System, than: System | Reference | None) -> float | None:
    """Ratio of the median times for one text."""
    if than is None or than.latency is None or not system.online:
        return None
    return than.latency.online_ms["p50"] / system.online


def set_name(name: str) -> str:
    """A set as it is written in tables."""
    return {"test_unseen": "test, unseen"}.get(name, name.replace("_", " "))


def metric_name(name: str) -> str:
    """``span_f1`` as ``span F1``."""
    names = {"conll_f1": "span F1 (conlleval)", "macro_f1": "macro F1"}
    return names.get(name, name.replace("_", " ").replace("f1", "F1"))


def finished_metrics(folder: Path) -> Metrics:
    """The metrics of a folder that is given as that of a finished run.

    Raises:
        DataError: see `Metrics.load`.
        RunError: it is not finished, or no run.
    """
    try:
        return Metrics.load(folder)
    except FileNotFoundError:
        raise RunError(f"{folder}: no metrics.json; give folders of finished runs") from None
