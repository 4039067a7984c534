"""One stage as a Keras model: terms over streams, summed, behind ``model.fit``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import keras
import numpy as np
from keras import ops

from tfdistil.distill.accumulation import Counts, weight_key
from tfdistil.distill.forward import SignalModel, at_tokens
from tfdistil.distill.places import Places
from tfdistil.distill.precision import computing_in, in_float32
from tfdistil.distill.terms import Term
from tfdistil.distill.weighting import WEIGHTINGS
from tfdistil.recipe.schema.stages import Precision

if keras.backend.backend() == "tensorflow":
    from tfdistil.distill.tensorflow_step import TrainStep
else:
    from tfdistil.distill.jax_step import TrainStep  # type: ignore[assignment]


class Distiller(TrainStep, keras.Model):
    """Trains a student on the weighted sum of a stage's terms.

    ``fit`` takes batches ``{stream: {inputs..., tokens, token_mask, target/..., teacher/...}}``,
    with ``weight/...`` where they are a part of an update (`UpdateBatches`). The student runs once
    per stream. Everything that makes the loss is in `compute_loss`; the training step of a backend
    only differentiates it.

    Args:
        student: gives named signals and says their `level`; gets the whole batch of a stream, so
            that it may also read targets (teacher forcing).
        terms: see `bind_terms`.
        weighting: a key of `WEIGHTINGS`.
        teacher: runs in the step, on the student's very inputs (masked or not), for the terms that
            align on pieces; None where there are none. It is no part of the distiller's weights.
        start: what parameters begin at that an earlier phase has learnt, as `term_parameters` names
            them.
        teacher_dropout: whether the teacher runs with its dropout while the student trains.
        precision: what the student computes in while it trains; signals and losses are float32.

    Attributes:
        term_parameters: scalars that the terms own: ``<label of the term>.<name>``. They are
            weights of the distiller, not of the student, and learn with it.
    """

    def __init__(
        self,
        student: Any,
        terms: Sequence[Term],
        weighting: str = "fixed",
        teacher: SignalModel | None = None,
        start: Mapping[str, float] | None = None,
        teacher_dropout: bool = False,
        precision: Precision = "float32",
    ):
        super().__init__(name="distiller")
        self.student, self.precision = student, precision
        # A partial, because Keras takes the weights of any model it finds in an attribute.
        self.teacher = None if teacher is None else partial(teacher)
        self.teacher_dropout = teacher_dropout
        # But its dropout is drawn from generators that go on from step to step.
        self.teacher_generators = _generators(teacher) if teacher_dropout else []
        self.terms = list(terms)
        self.streams = sorted({term.stream for term in terms})
        self._places = Places(terms, student, teacher)
        self.weighting = WEIGHTINGS[weighting]
        start = start or {}
        self.term_parameters = {
            name: self.add_weight(
                name=name,
                shape=(),
                initializer=keras.initializers.Constant(start.get(name, begins)),
                constraint=constraint,
            )
            for term in terms
            for name, begins, constraint in self._parameters_of(term)
        }
        self.term_means = [keras.metrics.Mean(name=term.label) for term in terms]

    def _parameters_of(self, term: Term) -> Iterator[tuple[str, float, Any]]:
        """What a term learns, as ``<label>.<parameter>``, where it begins and its constraint."""
        for name, begins in term.objective.parameters.items():
            yield f"{term.label}.{name}", begins, None
        for name, begins in self.weighting.parameters.items():
            yield f"{term.label}.{name}", begins, self.weighting.constraint

    def _values(self, term: Term, names: Iterable[str]) -> dict[str, Any]:
        """Those of a term's parameters, as keyword arguments."""
        return {name: self.term_parameters[f"{term.label}.{name}"] for name in names}

    @property
    def metrics(self) -> list[Any]:
        """Each term's mean over an epoch, of all tokens (or texts) alike, whatever their batch."""
        return self.term_means

    def build(self, input_shape: Any = None) -> None:
        """The student is built by its own constructor."""
        self.built = True

    def call(self, batches: Mapping[str, Mapping[str, Any]], training: bool = False) -> dict:
        """Student signals by stream."""
        with computing_in(self.student, self.precision if training else "float32"):
            signals = {
                key: self.student(self._places.inputs(key, batches[key]), training=training)
                for key in self.streams
            }
        return {key: in_float32(found) for key, found in signals.items()}

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """The weighted sum of the terms plus the student's own losses (regularisers)."""
        del y, sample_weight
        dropout = training and self.teacher_dropout
        on_subwords = {term.stream for term in self.terms if term.on_subwords}
        teacher = {
            key: self._teacher_signals(self._places.inputs(key, x[key]), dropout)
            for key in on_subwords
        }
        values = []
        for term, mean in zip(self.terms, self.term_means, strict=True):
            value, count = self._term(
                term,
                x[term.stream],
                y_pred[term.stream],
                teacher[term.stream] if term.on_subwords else x[term.stream],
            )
            mean.update_state(value, sample_weight=count)
            values.append(value * x[term.stream].get(weight_key(term.label), 1.0))
        return self._total(values)

    def _total(self, values: Sequence[Any]) -> Any:
        """The loss that these values of the terms make."""
        total = ops.convert_to_tensor(0.0)
        for term, value in zip(self.terms, values, strict=True):
            parameters = self._values(term, self.weighting.parameters)
            total = total + self.weighting.function(value, term.weight, **parameters)
        for loss in self.student.losses:
            total = total + loss
        return total

    def term_results(self) -> dict[str, Any]:
        """The terms' means so far."""
        return {mean.name: mean.result() for mean in self.term_means}

    def results(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """The ``loss`` that the terms' means make now, these, and what terms have learnt."""
        learned = {name: ops.convert_to_tensor(v) for name, v in self.term_parameters.items()}
        return {"loss": self._total(list(means.values())), **means, **learned}

    def _teacher_signals(self, batch: Mapping[str, Any], dropout: bool) -> dict[str, Any]:
        assert self.teacher is not None, "terms that align on pieces need a teacher"
        return {
            f"teacher/{name}": ops.stop_gradient(signal)
            for name, signal in self.teacher(batch, training=dropout).items()
        }

    def _term(
        self,
        term: Term,
        batch: Mapping[str, Any],
        signals: Mapping[str, Any],
        teacher_signals: Mapping[str, Any],
    ) -> tuple[Any, Any]:
        """A term on a batch, and how many values it is the mean of."""
        gather = term.align == "token"

        def aligned(name: str) -> Any:
            if gather and self.student.level(name) == "subword":
                return at_tokens(signals[name], batch["tokens"])
            return signals[name]

        student = [aligned(name) for name in term.student]
        teacher = [teacher_signals[f"teacher/{name}"] for name in term.teacher]
        student = self._places.signals(term, batch, "student", student)
        teacher = self._places.signals(term, batch, "teacher", teacher)
        arguments = self._arguments(term, batch, student, teacher)
        if self._places.of(term, batch) is not None:
            arguments |= self._places.targets(term, batch, arguments["target"], arguments["mask"])
        parameters = self._values(term, term.objective.parameters)
        value = term.objective.function(**arguments, **parameters, **term.options)
        return value, self._count(term, batch, signals)

    def counts(self, batch: Mapping[str, Any], of_model: Mapping[str, Any]) -> Counts:
        """How many values the terms are the means of in a batch, by stream and label.

        Args:
            batch: as ``fit`` takes it.
            of_model: from `signals_of_model`.
        """
        found: dict[str, dict[str, float]] = {key: {} for key in self.streams}
        for term in self.terms:
            number = self._count(term, batch[term.stream], of_model)
            found[term.stream][term.label] = float(ops.convert_to_numpy(number))
        return found

    def signals_of_model(self, batch: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The student's signals that are the same for every text, of those that terms read.

        Args:
            batch: any; the student runs on it where a term reads such a signal.
        """
        names = {
            (term.stream, name)
            for term in self.terms
            for name in term.student
            if self.student.level(name) == "model"
        }
        signals = self(batch) if names else {}
        return {name: ops.convert_to_numpy(signals[stream][name]) for stream, name in names}

    def _count(self, term: Term, batch: Mapping[str, Any], of_model: Mapping[str, Any]) -> Any:
        """How many values a term is the mean of, which no model has to run for."""
        student = [
            of_model[name] if self.student.level(name) == "model" else None for name in term.student
        ]
        teacher = [batch.get(f"teacher/{name}") for name in term.teacher]
        return term.objective.count(
            **self._arguments(term, batch, student, teacher), **term.options
        )

    def _arguments(
        self, term: Term, batch: Mapping[str, Any], student: list[Any], teacher: list[Any]
    ) -> dict[str, Any]:
        """What a term's functions get of a batch, beside options and parameters."""
        found = {"student": student} | ({"teacher": teacher} if term.teacher else {})
        arguments: dict[str, Any] = {
            key: tensors[0] if len(tensors) == 1 and key not in term.lists else tensors
            for key, tensors in found.items()
        }
        if term.target is not None:
            arguments["target"] = batch[f"target/{term.target}"]
        if term.align != "token":
            mask = batch["attention_mask"]
        elif self.student.level(term.student[0]) in ("subword", "token"):
            mask = batch["token_mask"]
        else:
            mask = ops.ones_like(batch["attention_mask"][:, 0])
        return arguments | {"mask": mask}


def _generators(model: Any) -> list[keras.random.SeedGenerator]:
    """What the layers of a model draw from."""
    layers = () if model is None else model._flatten_layers()
    held = [value for layer in layers for value in vars(layer).values()]
    return [value for value in held if isinstance(value, keras.random.SeedGenerator)]
