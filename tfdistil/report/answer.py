"""What a reader wants to know first, in one sentence and some figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tfdistil.report import units
from tfdistil.runs.run_metrics import Metrics, System, faster, metric_name, set_name, smaller

State = Literal["plain", "good", "bad", "unknown"]


@dataclass(frozen=True)
class Figure:
    """A number with its name and what it rests on.

    Attributes:
        question: what it answers.
        value: the number, short.
        detail: one sentence of where it comes from.
        state: ``good`` or ``bad`` where there is a right answer, ``unknown`` if not measured.
    """

    question: str
    value: str
    detail: str
    state: State = "plain"


def figures(results: Metrics) -> list[Figure]:
    """Five of a file, where what was not measured says so; of a model without a file two."""
    if results.delivered.export is None:
        return [_kept(results), _parameters(results)]
    return [_kept(results), _smaller(results), _faster(results), _stock(results), _same(results)]


def sentence(results: Metrics) -> str:
    """The answer in words, as far as it was measured."""
    system, where = results.delivered, results.main_set
    metric, teacher = metric_name(results.metric), results.teacher
    subject = "The exported file" if system.export else f"The model {system.name}"
    if where in system.retention:
        kept = units.percent(system.retention[where])
        parts = [f"keeps {kept} of its teacher's {metric} on {set_name(where)}"]
    else:
        score = units.points(results.score(system, where))
        parts = [f"has a {metric} of {score} on {set_name(where)}"]
    for value, words in (
        (smaller(system, teacher), units.SIZE),
        (faster(system, teacher), units.SPEED),
    ):
        if value is not None:
            parts.append(f"is {units.compared(value, words).replace('×', ' times')}")
    stock = ", but does not run on the stock runtime" if _stock(results).state == "bad" else ""
    return f"{subject} {', '.join(parts[:-1]) + ' and ' if parts[1:] else ''}{parts[-1]}{stock}."


def gain(results: Metrics) -> list[str]:
    """What distillation added over the baseline, per set, with its interval."""
    lines = []
    metric = metric_name(results.metric)
    for name, test in results.keras.gain.items():
        low, high = units.signed(test.low), units.signed(test.high)
        line = (
            f"On {set_name(name)}, distillation changes {metric} by "
            f"{units.signed(test.difference)} points ({test.confidence:.3g} % interval {low} to "
            f"{high}, paired bootstrap of {test.resamples:,} draws)"
        )
        if test.low <= 0 <= test.high:
            line += "; this set is too small to tell it from no change"
        lines.append(line + ".")
    return lines


def quantization_drop(results: Metrics) -> float | None:
    """Points of the main metric lost from Keras to the file, on the main set."""
    file, where = results.delivered, results.main_set
    if file.export is None:
        return None
    before, after = results.score(results.keras, where), results.score(file, where)
    return None if before is None or after is None else before - after


def _kept(results: Metrics) -> Figure:
    question = "How much of the teacher is left?"
    system, where = results.delivered, results.main_set
    kept, own = system.retention.get(where), units.points(results.score(system, where))
    if kept is None:
        return Figure(question, units.NOTHING, f"No teacher to compare: {own}.", "unknown")
    teacher = units.points(results.score(results.teacher, where))
    detail = f"{metric_name(results.metric)} on {set_name(where)}: {own}, teacher {teacher}."
    return Figure(question, units.percent(kept), detail)


def _against(results: Metrics, value: float | None, words: tuple[str, str]) -> str:
    if value is None or results.reference is None:
        return ""
    return f" {units.compared(value, words)} than the reference shape {results.reference.name}."


def _smaller(results: Metrics) -> Figure:
    question = "How small is it?"
    system, teacher = results.delivered, results.teacher
    value = smaller(system, teacher)
    beside = _against(results, smaller(system, results.reference), units.SIZE)
    if value is None or teacher is None:
        known = system.bytes
        state: State = "unknown" if known is None else "plain"
        detail = "Not measured." if known is None else "The teacher's size is not known."
        return Figure(question, units.size(known), detail + beside, state)
    sizes = f"{units.size(system.bytes)}, teacher {units.size(teacher.bytes)}."
    return Figure(question, units.compared(value, units.SIZE), sizes + beside)


def _parameters(results: Metrics) -> Figure:
    question, teacher, own = "How small is it?", results.teacher, results.delivered.parameters
    if teacher is None:
        return Figure(question, units.count(own), "Parameters.")
    detail = f"{units.count(own)} parameters, teacher {units.count(teacher.parameters)}."
    return Figure(question, units.compared(teacher.parameters / own, units.SIZE), detail)


def _faster(results: Metrics) -> Figure:
    question = "How fast is it?"
    system, teacher = results.delivered, results.teacher
    value = faster(system, teacher)
    beside = _against(results, faster(system, results.reference), units.SPEED)
    if value is None or teacher is None:
        known = system.online
        if known is None:
            return Figure(question, units.NOTHING, "Not benchmarked.", "unknown")
        detail = "Median for one text; the teacher was not timed."
        return Figure(question, f"{units.milliseconds(known)} ms", detail + beside)
    return Figure(question, units.compared(value, units.SPEED), _times(system, teacher) + beside)


def _times(system: System, teacher: System) -> str:
    own = units.milliseconds(system.online)
    return f"{own} ms for one text (median), teacher {units.milliseconds(teacher.online)} ms."


def _stock(results: Metrics) -> Figure:
    question = "Does it run on the stock runtime?"
    export = results.delivered.export
    if export is None:
        return Figure(question, units.NOTHING, "Not exported.", "unknown")
    # The signatures share one design; that for one text stands for all.
    total = sum(export.ops["online"].values())
    detail = f"{export.flex:,} Flex and {export.custom:,} custom operators among {total:,}."
    if export.min_runtime:
        detail += f" Needs runtime {export.min_runtime} or later."
    fine = export.flex == 0 and export.custom == 0
    return Figure(question, "Yes" if fine else "No", detail, "good" if fine else "bad")


def _same(results: Metrics) -> Figure:
    question = "Are the file's answers those of Python?"
    export, drop = results.delivered.export, quantization_drop(results)
    if export is None or drop is None:
        return Figure(question, units.NOTHING, "Not exported.", "unknown")
    metric = metric_name(results.metric)
    lost = f" {units.signed(-drop)} points {metric} against the Keras student."
    detail = "of the file's labels equal those of the Keras student."
    return Figure(question, units.share(export.agreement), detail + lost)
