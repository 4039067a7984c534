"""What a reader wants to know first, in one sentence and five figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tfdistil.report import units
from tfdistil.report.results import Results, System, metric_name, set_name

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


def figures(results: Results) -> list[Figure]:
    """The five figures; what was not measured says so."""
    return [_kept(results), _smaller(results), _faster(results), _stock(results), _same(results)]


def sentence(results: Results) -> str:
    """The answer in words, as far as it was measured."""
    system, where = results.delivered, results.main_set
    if system is None:
        return "This run has not delivered a student yet."
    metric = metric_name(results.metric)
    kept, smaller = results.retention(system, where), results.smaller(results.teacher)
    faster = results.faster(results.teacher)
    subject = {"tflite": "The exported file", "student": "The student"}[system.kind]
    parts = []
    if kept is not None and where is not None:
        parts.append(f"keeps {units.percent(kept)} of its teacher's {metric} on {set_name(where)}")
    elif (score := results.score(system, where)) is not None and where is not None:
        parts.append(f"has a {metric} of {units.points(score)} on {set_name(where)}")
    for value, words in ((smaller, units.SIZE), (faster, units.SPEED)):
        if value is not None:
            parts.append(f"is {units.compared(value, words).replace('×', ' times')}")
    if not parts:
        return f"{subject} has not been measured yet."
    stock = ", but does not run on the stock runtime" if _stock(results).state == "bad" else ""
    return f"{subject} {', '.join(parts[:-1]) + ' and ' if parts[1:] else ''}{parts[-1]}{stock}."


def gain(results: Results) -> list[str]:
    """What distillation added over the twin, per set, with its interval where there is one."""
    lines = []
    metric = metric_name(results.metric)
    for name in results.sets:
        own, twin = results.score(results.student, name), results.score(results.twin, name)
        test = results.part("significance", name)
        difference = test.get("difference")
        if difference is None and own is not None and twin is not None:
            difference = own - twin
        if difference is None:
            continue
        change = f"{metric} by {units.signed(difference)} points"
        line = f"On {set_name(name)}, distillation changes {change}"
        low, high = test.get("low"), test.get("high")
        if low is not None and high is not None:
            level = f"{test.get('confidence', 95):.3g} % interval"
            draws = test.get("resamples")
            how = f"paired bootstrap of {draws:,} draws" if draws else "paired bootstrap"
            line += f" ({level} {units.signed(low)} to {units.signed(high)}, {how})"
            if low <= 0 <= high:
                line += "; this set is too small to tell it from no change"
        lines.append(line + ".")
    return lines


def quantization_drop(results: Results) -> float | None:
    """Points of the main metric lost from the Keras student to the file, on the main set."""
    file, where = results.delivered, results.main_set
    if file is None or file.kind != "tflite":
        return None
    before, after = results.score(results.student, where), results.score(file, where)
    return None if before is None or after is None else before - after


def _kept(results: Results) -> Figure:
    question = "How much of the teacher is left?"
    system, where = results.delivered, results.main_set
    kept, own = results.retention(system, where), results.score(system, where)
    metric = metric_name(results.metric)
    if kept is None or where is None:
        if own is None:
            return Figure(question, units.NOTHING, "Not measured.", "unknown")
        return Figure(question, units.NOTHING, f"No teacher to compare: {own:.1f}.", "unknown")
    teacher = results.score(results.teacher, where)
    detail = f"{metric} on {set_name(where)}"
    if own is not None and teacher is not None:
        detail += f": {units.points(own)}, teacher {units.points(teacher)}"
    return Figure(question, units.percent(kept), detail + ".")


def _against(results: Results, value: float | None, words: tuple[str, str]) -> str:
    if value is None or results.reference is None:
        return ""
    return f" {units.compared(value, words)} than the reference shape {results.reference.name}."


def _smaller(results: Results) -> Figure:
    question = "How small is it?"
    system, teacher = results.delivered, results.teacher
    value = results.smaller(teacher)
    beside = _against(results, results.smaller(results.reference), units.SIZE)
    if value is None or teacher is None:
        known = system.bytes if system else None
        state: State = "unknown" if known is None else "plain"
        detail = "Not measured." if known is None else "The teacher's size is not known."
        return Figure(question, units.size(known), detail + beside, state)
    sizes = f"{units.size(system.bytes if system else None)}, teacher {units.size(teacher.bytes)}."
    return Figure(question, units.compared(value, units.SIZE), sizes + beside)


def _faster(results: Results) -> Figure:
    question = "How fast is it?"
    system, teacher = results.delivered, results.teacher
    value = results.faster(teacher)
    beside = _against(results, results.faster(results.reference), units.SPEED)
    if value is None or teacher is None:
        known = system.online if system else None
        if known is None:
            return Figure(question, units.NOTHING, "Not benchmarked.", "unknown")
        detail = "Median for one text; the teacher was not timed."
        return Figure(question, f"{units.milliseconds(known)} ms", detail + beside)
    return Figure(question, units.compared(value, units.SPEED), _times(system, teacher) + beside)


def _times(system: System | None, teacher: System) -> str:
    own = units.milliseconds(system.online if system else None)
    return f"{own} ms for one text (median), teacher {units.milliseconds(teacher.online)} ms."


def _stock(results: Results) -> Figure:
    question = "Does it run on the stock runtime?"
    export = results.part("export")
    flex, custom = export.get("flex"), export.get("custom")
    if flex is None or custom is None:
        return Figure(question, units.NOTHING, "Not exported or not checked.", "unknown")
    # The signatures share one design; the first, for one text, stands for all.
    signature = "online" if "online" in results.ops else next(iter(results.ops), "")
    total = sum(results.ops.get(signature, {}).values())
    detail = f"{flex:,} Flex and {custom:,} custom operators"
    detail += f" among {total:,}." if total else "."
    if export.get("min_runtime"):
        detail += f" Needs runtime {export['min_runtime']} or later."
    fine = flex == 0 and custom == 0
    return Figure(question, "Yes" if fine else "No", detail, "good" if fine else "bad")


def _same(results: Results) -> Figure:
    question = "Are the file's answers those of Python?"
    export = results.part("export")
    agreement, drop = export.get("agreement"), quantization_drop(results)
    lost = ""
    if drop is not None:
        metric = metric_name(results.metric)
        lost = f" {units.signed(-drop)} points {metric} against the Keras student."
    if agreement is None:
        return Figure(question, units.NOTHING, "Agreement not measured." + lost, "unknown")
    detail = "of the file's labels equal those of the Keras student."
    return Figure(question, units.share(agreement), detail + lost)
