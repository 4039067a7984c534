"""What ``metrics.json`` says, with every optional part allowed to be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tfdistil.errors import DataError

SET_ORDER = ("dev", "test", "test_unseen")
_SET_NAMES = {"test_unseen": "test, unseen"}
_METRIC_NAMES = {"conll_f1": "span F1 (conlleval)", "macro_f1": "macro F1"}
DELIVERED_KINDS = ("tflite", "student")
"""What a run delivers: the last system of the first of these kinds that it has."""


def set_name(name: str) -> str:
    """A set as it is written in tables."""
    return _SET_NAMES.get(name, name.replace("_", " "))


def metric_name(name: str) -> str:
    """``span_f1`` as ``span F1``."""
    return _METRIC_NAMES.get(name, name.replace("_", " ").replace("f1", "F1"))


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    """The value as a mapping; None is an empty one.

    Raises:
        DataError: it is something else.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DataError(
            f"metrics: expected a mapping or nothing at `{where}`, got {type(value).__name__}"
        )
    return value


@dataclass(frozen=True)
class Latency:
    """Times of one model, in milliseconds.

    Attributes:
        online: one text per call; keys ``p50``, ``p90``, ``p99``.
        batch: one batch per call, same keys.
        queries_per_second: texts per second in batches.
        peak_rss: bytes of memory at the most.
    """

    online: Mapping[str, float]
    batch: Mapping[str, float]
    queries_per_second: float | None
    peak_rss: float | None

    @classmethod
    def from_json(cls, data: Any, where: str) -> Latency | None:
        """None where nothing was timed."""
        if data is None:
            return None
        found = mapping(data, where)
        return cls(
            mapping(found.get("online_ms"), f"{where}.online_ms"),
            mapping(found.get("batch_ms"), f"{where}.batch_ms"),
            found.get("queries_per_second"),
            found.get("peak_rss_bytes"),
        )


@dataclass(frozen=True)
class System:
    """A model with what is known of it; ``kind`` is teacher, twin, student, tflite or reference."""

    name: str
    kind: str
    parameters: int | None = None
    bytes: int | None = None
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    latency: Latency | None = None

    @property
    def online(self) -> float | None:
        """Median time for one text, in milliseconds."""
        return self.latency.online.get("p50") if self.latency else None


class Results:
    """A run in numbers.

    Args:
        metrics: the content of ``metrics.json``; ``metric`` and ``systems`` are required.

    Raises:
        DataError: a required part is missing, or a part is not of its kind.
    """

    def __init__(self, metrics: Mapping[str, Any]):
        self.data = mapping(metrics, "metrics.json")
        for key in ("metric", "systems"):
            if key not in self.data:
                raise DataError(f"metrics: the key `{key}` is missing; there are {sorted(metrics)}")
        self.metric = str(self.data["metric"])
        self.task = str(self.data.get("task") or "unknown")
        self.name = str(self.data.get("name") or "run")
        systems = self.data["systems"]
        if not isinstance(systems, list):
            raise DataError(f"metrics: expected a list at `systems`, got {type(systems).__name__}")
        self.systems = tuple(self._system(s, f"systems[{i}]") for i, s in enumerate(systems))
        self.reference = self._reference()

    @staticmethod
    def _system(entry: Any, where: str) -> System:
        found = mapping(entry, where)
        for key in ("name", "kind"):
            if key not in found:
                raise DataError(f"metrics: `{where}` has no `{key}`; it has {sorted(found)}")
        scores = mapping(found.get("scores"), f"{where}.scores")
        return System(
            str(found["name"]),
            str(found["kind"]),
            found.get("parameters"),
            found.get("bytes"),
            {name: mapping(values, f"{where}.scores.{name}") for name, values in scores.items()},
            Latency.from_json(found.get("latency"), f"{where}.latency"),
        )

    def _reference(self) -> System | None:
        if self.data.get("reference") is None:
            return None
        found = self.part("reference")
        return System(
            str(found.get("name") or "reference"),
            "reference",
            found.get("parameters"),
            found.get("bytes"),
            latency=Latency.from_json(found.get("latency"), "reference.latency"),
        )

    def part(self, *keys: str) -> Mapping[str, Any]:
        """A nested mapping, empty where it is missing."""
        value: Any = self.data
        for depth, key in enumerate(keys):
            value = mapping(value, ".".join(keys[:depth]) or "metrics.json").get(key)
        return mapping(value, ".".join(keys))

    def _first(self, kind: str) -> System | None:
        return next((system for system in self.systems if system.kind == kind), None)

    @property
    def teacher(self) -> System | None:
        """The model that was learnt from."""
        return self._first("teacher")

    @property
    def twin(self) -> System | None:
        """The student trained without the teacher."""
        return self._first("twin")

    @property
    def delivered(self) -> System | None:
        """What the run is for: the exported file, else the student."""
        for kind in DELIVERED_KINDS:
            found = [system for system in self.systems if system.kind == kind]
            if found:
                return found[-1]
        return None

    @property
    def student(self) -> System | None:
        """The last student in Keras."""
        return next((s for s in reversed(self.systems) if s.kind == "student"), None)

    @property
    def ops(self) -> dict[str, dict[str, int]]:
        """Signature of the exported file to its operators with counts.

        Counts without a signature belong to one called ``graph``.
        """
        given = self.part("export", "ops")
        if not any(isinstance(value, Mapping) for value in given.values()):
            given = {"graph": given} if given else {}
        return {
            name: {op: int(n) for op, n in mapping(counts, f"export.ops.{name}").items() if n}
            for name, counts in given.items()
        }

    @property
    def concerns(self) -> list[str]:
        """What must be read before the scores are believed (`tfdistil.concerns`)."""
        return [str(line) for line in self.data.get("concerns") or ()]

    @property
    def sets(self) -> list[str]:
        """Sets with a score, the usual ones first."""
        found = {name for system in self.systems for name in system.scores}
        return [s for s in SET_ORDER if s in found] + sorted(found.difference(SET_ORDER))

    @property
    def main_set(self) -> str | None:
        """Where the answer is taken: ``test`` where there is one."""
        return "test" if "test" in self.sets else next(iter(self.sets), None)

    def score(self, system: System | None, name: str | None) -> float | None:
        """The task's metric of a system on a set."""
        if system is None or name is None:
            return None
        return system.scores.get(name, {}).get(self.metric)

    def retention(self, system: System | None, name: str | None) -> float | None:
        """How much of the teacher's metric is left, in percent."""
        if system is None or name is None:
            return None
        given = self.part("retention", name).get(system.name)
        if given is not None:
            return float(given)
        own, teacher = self.score(system, name), self.score(self.teacher, name)
        return None if own is None or not teacher else 100 * own / teacher

    def smaller(self, than: System | None, system: System | None = None) -> float | None:
        """How many times the delivered (or given) model's file fits into the other's."""
        own = system or self.delivered
        if own is None or than is None or not own.bytes or not than.bytes:
            return None
        return than.bytes / own.bytes

    def faster(self, than: System | None, system: System | None = None) -> float | None:
        """Ratio of the median times for one text."""
        own = system or self.delivered
        if own is None or than is None or not own.online or not than.online:
            return None
        return than.online / own.online

    @property
    def timed(self) -> list[System]:
        """Systems with a latency, the reference shape last."""
        every = [*self.systems, *([self.reference] if self.reference else [])]
        return [system for system in every if system.online is not None]

    def per_language(self, name: str | None) -> dict[str, dict[str, float]]:
        """System name to the task's metric by language, on one set.

        A system's entry may be plain scores, named scores, or a `LanguageTable` as JSON.
        """
        if name is None:
            return {}
        found = {}
        for system, table in self.part("per_language", name).items():
            rows = mapping(table, f"per_language.{name}.{system}")
            if isinstance(rows.get("languages"), Mapping):
                rows = rows["languages"]
            values = {
                code: value.get(self.metric) if isinstance(value, Mapping) else value
                for code, value in rows.items()
            }
            found[system] = {code: float(v) for code, v in values.items() if v is not None}
        return {system: values for system, values in found.items() if values}

    def per_label(self, name: str | None, system: str) -> dict[str, Mapping[str, Any]]:
        """Label to its precision, recall, f1 and support, of a system on one set."""
        if name is None:
            return {}
        return {
            label: mapping(scores, f"per_label.{name}.{system}.{label}")
            for label, scores in self.part("per_label", name, system).items()
        }

    @property
    def languages(self) -> list[str]:
        """Language codes of the run, without ``und``."""
        given = self.data.get("languages")
        if given is None:
            tables = (self.per_language(name) for name in self.part("per_language"))
            given = {code for table in tables for row in table.values() for code in row}
        return sorted(str(code) for code in given if code != "und")
