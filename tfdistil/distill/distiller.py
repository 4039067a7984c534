"""One stage as a Keras model: terms over streams, summed, behind ``model.fit``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from string import Formatter
from typing import Any

import keras
from keras import ops

from tfdistil.distill.forward import SignalModel, at_units
from tfdistil.distill.objectives import STATES, Objective, find_objective
from tfdistil.errors import RecipeError
from tfdistil.options import wrong_option
from tfdistil.schema.stages import TermSpec
from tfdistil.tasks import Output

if keras.backend.backend() == "tensorflow":
    from tfdistil.distill.tensorflow_step import TrainStep
else:

    class TrainStep:  # type: ignore[no-redef]
        """Other backends use Keras' own step, which calls `Distiller.compute_loss` too."""


@dataclass(frozen=True)
class Term:
    """One objective bound to its stream, signals and output.

    Attributes:
        label: unique among the terms of a stage; the name of its curve.
        stream: key of the batch it reads.
        student, teacher: names of the signals.
        target: name of the target ids it reads, or None.
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
    lists: frozenset[str] = frozenset()

    @property
    def on_pieces(self) -> bool:
        """Whether it needs the teacher's signals at every position of the student's inputs."""
        return bool(self.teacher) and self.objective.align == "piece"


def stream_key(pool: Sequence[str]) -> str:
    """The key of a stream that draws from these sets."""
    return "+".join(pool)


def bind_terms(specs: Sequence[TermSpec], outputs: Sequence[Output]) -> list[Term]:
    """Terms of a recipe to terms with signal names, one per output or level where asked for.

    An option that fills a place in a signal's template is not passed to the objective. If it is a
    list (``layers: [1, 2]``), the template stands for one signal per item. The items may be rows of
    a matrix (``layers: [[1, 2], [2, 4]]``), of which ``{layers[0]}`` takes the first column.

    Raises:
        RecipeError: an unknown objective or output, an option the objective does not have, one
            missing that it needs, or a matrix without the columns it needs.
    """
    terms: list[Term] = []
    by_name = {output.name: output for output in outputs}
    for spec in specs:
        objective = find_objective(spec.loss)
        if spec.output is not None and spec.output not in by_name:
            raise RecipeError(f"term {spec.loss}: no output {spec.output!r}; {sorted(by_name)}")
        for name, places in _copies(objective, spec.output, outputs):
            fields = {"head": spec.head, **places, **spec.options}
            templates = {"student": objective.student, "teacher": objective.teacher}
            used = {key for t in templates.values() for signal in t for key in _fields(signal)}
            options = {k: v for k, v in spec.options.items() if k not in used}
            _check_keys(spec.loss, objective, used - fields.keys(), options)
            lists = {k for k in used if isinstance(fields[k], (list, tuple))}
            label = ".".join(filter(None, [spec.loss, name, stream_key(spec.pool)]))
            while label in {term.label for term in terms}:
                label += "'"
            terms.append(
                Term(
                    label,
                    objective,
                    stream_key(spec.pool),
                    tuple(n for t in objective.student for n in _filled(t, fields)),
                    tuple(n for t in objective.teacher for n in _filled(t, fields)),
                    objective.target.format(**fields) if objective.target else None,
                    spec.weight,
                    options,
                    frozenset(
                        k for k, t in templates.items() if any(lists & _fields(x) for x in t)
                    ),
                )
            )
    return terms


def _copies(
    objective: Objective, chosen: str | None, outputs: Sequence[Output]
) -> list[tuple[str | None, dict[str, str]]]:
    """A name and the filled places of each copy of a term."""
    wanted = [output for output in outputs if chosen in (None, output.name)]
    if objective.per == "output":
        return [(output.name, {"output": output.name}) for output in wanted]
    if objective.per == "level":
        levels = dict.fromkeys(output.level for output in wanted)
        return [(level, {key: at[level] for key, at in STATES.items()}) for level in levels]
    return [(None, {})]


def _fields(template: str) -> set[str]:
    """The options a template names; ``{layers[0]}`` names ``layers``."""
    return {name.partition("[")[0] for _, name, _, _ in Formatter().parse(template) if name}


def _filled(template: str, fields: Mapping[str, Any]) -> Iterator[str]:
    """The template with each value, or each combination of values, of its fields."""
    names = sorted(_fields(template))
    values = [fields[name] for name in names]
    for combination in product(*(v if isinstance(v, (list, tuple)) else [v] for v in values)):
        given = dict(zip(names, combination, strict=True))
        try:
            yield template.format(**given)
        except (IndexError, TypeError):  # a column of what is no row, or too short a one
            raise RecipeError(f"{template!r} cannot be filled from {given}") from None


def _check_keys(
    loss: str, objective: Objective, missing: set[str], options: Mapping[str, Any]
) -> None:
    """The keys of a term are those its objective has: in its templates and its function."""
    given = {"student", "teacher", "target", "mask"}
    parameters = inspect.signature(objective.function).parameters
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
    if (wrong := wrong_option(objective.function, options)) is not None:
        raise RecipeError(f"term {loss}: {wrong}")


class Distiller(TrainStep, keras.Model):
    """Trains a student on the weighted sum of a stage's terms.

    ``fit`` takes batches ``{stream: {inputs..., units, unit_mask, target/..., teacher/...}}``. The
    student runs once per stream. Everything that makes the loss is in `compute_loss`; the training
    step of a backend only differentiates it.

    Args:
        student: gives named signals and says their `level`; gets the whole batch of a stream, so
            that it may also read targets (teacher forcing).
        terms: see `bind_terms`.
        weighting: ``fixed``, or ``uncertainty``: Σ λ_i L_i - ½ Σ log λ_i with learned λ (multi-
            grained distillation, Equation 9). The λ belong to the distiller, not to the student.
        teacher: runs in the step, on the student's very inputs (masked or not), for the terms that
            align on pieces; None where there are none. It is no part of the distiller's weights.
    """

    def __init__(
        self,
        student: Any,
        terms: Sequence[Term],
        weighting: str = "fixed",
        teacher: SignalModel | None = None,
    ):
        super().__init__(name="distiller")
        self.student = student
        # A partial, because Keras takes the weights of any model it finds in an attribute.
        self.teacher = None if teacher is None else partial(teacher, training=False)
        self.terms = list(terms)
        self.streams = sorted({term.stream for term in terms})
        self.log_weights = (
            self.add_weight(name="log_weights", shape=(len(terms),), initializer="zeros")
            if weighting == "uncertainty"
            else None
        )
        self.term_means = [keras.metrics.Mean(name=term.label) for term in terms]
        self.loss_mean = keras.metrics.Mean(name="loss")

    @property
    def metrics(self) -> list[Any]:
        """The loss and each term, averaged over an epoch."""
        return [self.loss_mean, *self.term_means]

    def build(self, input_shape: Any = None) -> None:
        """The student is built by its own constructor."""
        self.built = True

    def call(self, batches: Mapping[str, Mapping[str, Any]], training: bool = False) -> dict:
        """Student signals by stream."""
        return {key: self.student(batches[key], training=training) for key in self.streams}

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, **_: Any
    ) -> Any:
        """The weighted sum of the terms plus the student's own losses (regularisers)."""
        del y, sample_weight
        on_pieces = {term.stream for term in self.terms if term.on_pieces}
        teacher = {key: self._teacher_signals(x[key]) for key in on_pieces}
        values = [
            self._term(
                term,
                x[term.stream],
                y_pred[term.stream],
                teacher[term.stream] if term.on_pieces else x[term.stream],
            )
            for term in self.terms
        ]
        for mean, value in zip(self.term_means, values, strict=True):
            mean.update_state(value)
        total = sum(
            (term.weight * value for term, value in zip(self.terms, values, strict=True)),
            ops.convert_to_tensor(0.0),
        )
        if self.log_weights is not None:
            stacked = ops.stack(values)
            total = ops.sum(ops.exp(self.log_weights) * stacked) - 0.5 * ops.sum(self.log_weights)
        for loss in self.student.losses:
            total = total + loss
        self.loss_mean.update_state(total)
        return total

    def compute_metrics(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Current means by name."""
        return {metric.name: metric.result() for metric in self.metrics}

    def _teacher_signals(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        assert self.teacher is not None, "terms that align on pieces need a teacher"
        return {
            f"teacher/{name}": ops.stop_gradient(signal)
            for name, signal in self.teacher(batch).items()
        }

    def _term(
        self,
        term: Term,
        batch: Mapping[str, Any],
        signals: Mapping[str, Any],
        teacher_signals: Mapping[str, Any],
    ) -> Any:
        gather = term.objective.align == "unit"

        def aligned(name: str) -> Any:
            if gather and self.student.level(name) == "subword":
                return at_units(signals[name], batch["units"])
            return signals[name]

        found = {"student": [aligned(name) for name in term.student]}
        if term.teacher:
            found["teacher"] = [teacher_signals[f"teacher/{name}"] for name in term.teacher]
        arguments: dict[str, Any] = {
            key: tensors[0] if len(tensors) == 1 and key not in term.lists else tensors
            for key, tensors in found.items()
        }
        if term.target is not None:
            arguments["target"] = batch[f"target/{term.target}"]
        if not gather:
            mask = batch["attention_mask"]
        elif self.student.level(term.student[0]) in ("subword", "unit"):
            mask = batch["unit_mask"]
        else:
            mask = ops.ones_like(batch["attention_mask"][:, 0])
        return term.objective.function(**arguments, mask=mask, **term.options)
