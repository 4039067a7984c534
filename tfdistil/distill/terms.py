"""Terms of a recipe bound to what they read: signals by name, target, stream."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from string import Formatter
from typing import Any

from tfdistil.distill.objectives import (
    STATES,
    Align,
    Objective,
    Signals,
    as_names,
    find_objective,
)
from tfdistil.errors import RecipeError
from tfdistil.heads.model import HeadedModel
from tfdistil.options import wrong_option, wrong_value
from tfdistil.recipe.schema.stages import TermSpec
from tfdistil.tasks import Output


@dataclass(frozen=True)
class Term:
    """One objective bound to its stream, signals and output.

    Attributes:
        label: unique among the terms of a stage; the name of its curve.
        stream: key of the batch it reads.
        student, teacher: names of the signals.
        target: name of the target ids it reads, or None.
        align: see `Signals`.
        lists: which of ``student`` and ``teacher`` the objective gets as a list even where it is
            one signal: those with a list of layers (or the like) in their template.
    """

    label: str
    objective: Objective
    stream: str
    student: tuple[str, ...]
    teacher: tuple[str, ...]
    target: str | None
    weight: float
    options: Mapping[str, Any]
    align: Align = "token"
    lists: frozenset[str] = frozenset()

    @property
    def on_subwords(self) -> bool:
        """Whether it needs the teacher's signals at every position of the student's inputs."""
        return bool(self.teacher) and self.align == "subword"

    @property
    def counts_padding(self) -> bool:
        """Whether its mean is over padding, too."""
        return bool(self.options.get(self.objective.counts_padding or ""))


def stream_key(pool: Sequence[str]) -> str:
    """The key of a stream that draws from these sets."""
    return "+".join(pool)


def signals_of(spec: TermSpec) -> Signals:
    """What a term reads: its objective's signals but for those that it says itself.

    Raises:
        RecipeError: an unknown objective.
    """
    own = {
        "student": spec.student_signal and as_names(spec.student_signal),
        "teacher": spec.teacher_signal and as_names(spec.teacher_signal),
        "target": spec.target,
        "align": spec.align,
    }
    given: dict[str, Any] = {key: value for key, value in own.items() if value is not None}
    return replace(find_objective(spec.loss).signals, **given)


def label_terms(model: HeadedModel, head: str) -> list[TermSpec]:
    """Terms that learn a head from the gold labels of train, by the losses of its kind."""
    return [
        TermSpec(loss=loss, stream="train", head=head, output=output)
        for output, loss in model.label_losses(head).items()
    ]


def bind_terms(
    specs: Sequence[TermSpec],
    outputs: Sequence[Output],
    teacher_head: str = "logits",
    head: str = "labels",
) -> list[Term]:
    """Terms of a recipe to terms with signal names, one per output or level where asked for.

    An option that fills a place in a signal's template is not passed to the objective. If it is a
    list (``layers: [1, 2]``), the template stands for one signal per item. The items may be rows of
    a matrix (``layers: [[1, 2], [2, 4]]``), of which ``{layers[0]}`` takes the first column.

    Args:
        specs: of a stage.
        outputs: of the task.
        teacher_head: the teacher's head for terms that name none.
        head: the student's, likewise.

    Raises:
        RecipeError: an unknown objective or output, an option the objective does not have, one
            missing that it needs, a signal that it does not take, or a matrix without the columns
            it needs.
    """
    terms: list[Term] = []
    by_name = {output.name: output for output in outputs}
    for spec in specs:
        objective, signals = find_objective(spec.loss), signals_of(spec)
        if spec.output is not None and spec.output not in by_name:
            raise RecipeError(f"term {spec.loss}: no output {spec.output!r}; {sorted(by_name)}")
        heads = {"head": spec.head or head, "teacher_head": spec.teacher_head or teacher_head}
        if signals.per is not None and not outputs:
            raise RecipeError(f"term {spec.loss}: reads labels of the task, which has none")
        for name, places in _copies(signals, spec.output, outputs):
            fields = {**objective.defaults, **heads, **places, **spec.options}
            templates = {"student": signals.student, "teacher": signals.teacher}
            read = [*signals.student, *signals.teacher, signals.target or ""]
            used = {key for template in read for key in _fields(template)}
            options = {k: v for k, v in spec.options.items() if k not in used}
            filled = {k: v for k, v in spec.options.items() if k in used}
            _check_keys(spec.loss, objective, signals, used - fields.keys(), options, filled)
            _check_columns(spec.loss, read, filled)
            lists = {k for k in used if isinstance(fields[k], (list, tuple))}
            label = ".".join(filter(None, [spec.loss, name, stream_key(spec.pool)]))
            while label in {term.label for term in terms}:
                label += "'"
            terms.append(
                Term(
                    label,
                    objective,
                    stream_key(spec.pool),
                    tuple(n for t in signals.student for n in _filled(t, fields)),
                    tuple(n for t in signals.teacher for n in _filled(t, fields)),
                    next(_filled(signals.target, fields)) if signals.target else None,
                    spec.weight,
                    options,
                    signals.align,
                    frozenset(
                        k for k, t in templates.items() if any(lists & _fields(x) for x in t)
                    ),
                )
            )
    return terms


def _copies(
    signals: Signals, chosen: str | None, outputs: Sequence[Output]
) -> list[tuple[str | None, dict[str, str]]]:
    """A name and the filled places of each copy of a term."""
    wanted = [output for output in outputs if chosen in (None, output.name)]
    if signals.per == "output":
        return [(output.name, {"output": output.name}) for output in wanted]
    if signals.per == "level":
        levels = dict.fromkeys(output.level for output in wanted)
        return [(level, {key: at[level] for key, at in STATES.items()}) for level in levels]
    return [(None, {})]


def _fields(template: str) -> set[str]:
    """The options a template names; ``{layers[0]}`` names ``layers``."""
    try:
        return {name.partition("[")[0] for _, name, _, _ in Formatter().parse(template) if name}
    except ValueError as error:
        raise RecipeError(f"{template!r} is no name of a signal: {error}") from None


def _check_columns(loss: str, templates: Sequence[str], filled: Mapping[str, Any]) -> None:
    """Every number of a matrix' row is in a column that a template takes."""
    for key, rows in filled.items():
        columns = [int(n) for text in templates for n in re.findall(rf"\{{{key}\[(\d+)\]", text)]
        for row in rows if columns else ():
            if isinstance(row, (list, tuple)) and len(row) > max(columns) + 1:
                raise RecipeError(
                    f"term {loss}: {key!r} has the row {list(row)}; a row has {max(columns) + 1} "
                    "numbers"
                )


def _filled(template: str, fields: Mapping[str, Any]) -> Iterator[str]:
    """The template with each value, or each combination of values, of its fields."""
    names = sorted(_fields(template))
    values = [fields[name] for name in names]
    for combination in product(*(v if isinstance(v, (list, tuple)) else [v] for v in values)):
        given = dict(zip(names, combination, strict=True))
        try:
            yield template.format(**given)
        except (IndexError, TypeError, ValueError, AttributeError):
            # A column of what is no row, or too short a one.
            raise RecipeError(f"{template!r} cannot be filled from {given}") from None


def _check_keys(
    loss: str,
    objective: Objective,
    signals: Signals,
    missing: set[str],
    options: Mapping[str, Any],
    filled: Mapping[str, Any],
) -> None:
    """The keys of a term are those its objective has: in its templates and its function."""
    given = {"student", "teacher", "target", "mask", *objective.parameters}
    parameters = inspect.signature(objective.function).parameters
    for name, read in (("teacher", signals.teacher), ("target", signals.target)):
        if read and name not in parameters:
            raise RecipeError(f"term {loss}: reads {read!r}, but the objective takes no {name}")
    known = {name: p for name, p in parameters.items() if name not in given}
    missing = missing | {
        name for name, p in known.items() if p.default is p.empty and name not in options
    }
    if missing:
        raise RecipeError(f"term {loss}: needs the key {', '.join(map(repr, sorted(missing)))}")
    unknown = sorted(options.keys() - known.keys())
    if unknown:
        raise RecipeError(
            f"term {loss}: unknown key {', '.join(map(repr, unknown))}; besides those of every "
            f"term it has {', '.join(sorted(known)) or 'none'}"
        )
    wrong = wrong_option(objective.function, options) or wrong_value(objective.hints, filled)
    if wrong is not None:
        raise RecipeError(f"term {loss}: {wrong}")
