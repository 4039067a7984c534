"""Running one stage: its phases, each with its own optimizer, monitor and best weights."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import keras

from tfdistil.distill.accumulation import UpdateBatches
from tfdistil.distill.best_weights import BestWeights, Patience
from tfdistil.distill.bound_stage import BoundStage
from tfdistil.distill.distiller import Distiller
from tfdistil.distill.freezing import Phase, set_trainable
from tfdistil.distill.optimizer import make_optimizer, parts_of
from tfdistil.distill.phase_state import PhaseState, WriteState
from tfdistil.distill.streams import Inputs, Stream, StreamBatches
from tfdistil.recipe.schema.stages import PASSES, StageSpec


@dataclass(frozen=True)
class PhaseResult:
    """How a phase ended.

    Attributes:
        name: of the phase.
        best: the best monitored value.
        updates: optimizer steps made.
        waited: evaluations since the last rise, as they count for patience.
        score: the dev metric with the best weights in place; None where it was not taken.
        parameters: what its terms have learnt beside the student, see `Distiller`.
        kept: optimizer steps that the kept weights had; 0: the phase brought nothing. None: not
            known, of older runs.
    """

    name: str
    best: float
    updates: int
    waited: int = 0
    score: float | None = None
    parameters: dict[str, float] = field(default_factory=dict)
    kept: int | None = None


Callbacks = Callable[[str, int], list[Any]]
"""``(phase name, batches left of it)`` to Keras callbacks, such as a progress bar."""


RECALIBRATION_ROWS = 6400
"""Rows of each stream that statistics are measured on before an evaluation."""


FEW_UPDATES = 100
"""Fewer than these teach a model next to nothing; with as many batches, smaller updates would."""


def run_stage(
    stage: BoundStage,
    streams: Mapping[str, Stream],
    *,
    seed: int,
    metric: Callable[[], float] | None = None,
    floor: float | None = None,
    held_out: Stream | None = None,
    record: Callable[[str, dict[str, float]], None] = lambda phase, row: None,
    callbacks: Callbacks = lambda phase, updates: [],
    finished: Callable[[PhaseResult], None] = lambda result: None,
    done: Sequence[PhaseResult] = (),
    state_file: Callable[[str], Path] | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> list[PhaseResult]:
    """Train a student through one stage.

    Args:
        stage: its student gives signals, `level` and `layer_groups`. One with
            ``recalibrate(batches)`` is asked to measure its statistics before each evaluation.
        streams: by the keys the terms use, with the signals they need.
        seed: of the order of the data.
        metric: the dev metric of the student as it is now; None monitors the loss.
        floor: what a model that has learnt nothing may score by that metric.
        held_out: rows with signals to take the loss on.
        record: gets the history rows of each phase.
        callbacks: makes Keras callbacks for each phase.
        finished: called after each phase, with the best weights in place (to save them).
        done: the phases that are done already; the caller has loaded the weights of the last.
        state_file: phase name to where its state is kept while it runs, see `PhaseState`; a phase
            that finds one there continues from it. The caller removes it when the phase is saved.
            None: an interrupted phase starts over.
        say: told where a phase continues, and where its passes are few updates of many batches.

    Returns:
        One result per phase that ran. What terms learn goes on from phase to phase.

    Raises:
        ValueError: neither a metric nor held-out rows.
    """
    spec, student = stage.spec, stage.student.model
    groups = student.layer_groups()
    results: list[PhaseResult] = []
    learned = done[-1].parameters if done else {}
    for number, phase in enumerate(stage.phases[len(done) :], len(done)):
        set_trainable(student, phase.groups)
        batches = StreamBatches(streams, spec.batch_size, seed=seed + 1000 * number)
        planned = _planned(spec, phase, batches.steps)
        steps = planned * spec.accumulate
        large = steps >= FEW_UPDATES or spec.accumulate > planned
        if planned != phase.updates and planned < FEW_UPDATES and large:
            say(_few(spec, phase, planned))
        distiller = Distiller(
            student,
            stage.terms,
            spec.weighting,
            stage.teacher_in_step,
            learned,
            spec.teacher_dropout,
            spec.precision,
        )
        _reseed(distiller, phase.name)
        parameters = distiller.term_parameters
        distiller.compile(
            optimizer=make_optimizer(
                spec.optimizer,
                planned,
                groups,
                [*parameters.values()],
                spec.accumulate,
                parts_of(student),
            ),
            jit_compile=keras.backend.backend() == "jax",
        )
        evaluate = metric or _held_out_loss(distiller, held_out, spec.batch_size)
        if hasattr(student, "recalibrate"):
            evaluate = _after_recalibration(evaluate, student, streams, spec.batch_size)
        # A step that made variables would be traced twice.
        distiller.optimizer.build(distiller.trainable_variables)
        best = BestWeights(
            distiller,
            evaluate,
            higher_is_better=spec.stop.monitor == "metric",
            patience=Patience(spec.stop.patience, spec.stop.min_updates, floor),
            every=spec.stop.every * spec.accumulate if spec.stop.every else batches.steps,
            updates=planned,
            record=partial(record, phase.name),
            accumulate=spec.accumulate,
            minutes=spec.stop.minutes,
        )
        own: list[Any] = [best]
        if state_file is not None:
            facts = _facts(spec, phase, batches)
            state = PhaseState(state_file(phase.name), facts, distiller)
            _resume(best, state, f"{spec.student}, {phase.name}", say)
            own.append(WriteState(state, best, say))
        drawn = best.progress.batches
        distiller.fit(
            _drawn_from(batches, drawn, spec.accumulate, distiller).dataset(),
            steps_per_epoch=steps - drawn,
            shuffle=False,  # the batches come shuffled
            verbose=0,
            callbacks=[*own, *callbacks(phase.name, steps - drawn)],
        )
        learned = {name: float(value) for name, value in parameters.items()}
        ended = best.progress
        result = PhaseResult(
            phase.name,
            ended.best_value,
            best.done,
            ended.waited,
            parameters=learned,
            kept=ended.kept,
        )
        finished(result)
        results.append(result)
    set_trainable(student, [name for name, _ in groups])
    return results


def _drawn_from(
    batches: StreamBatches, first: int, accumulate: int, distiller: Distiller
) -> StreamBatches | UpdateBatches:
    """The batches of a phase from a number on."""
    left = replace(batches, first=first)
    if accumulate == 1:  # a batch is an update, and nothing has to be counted
        return left
    of_model = distiller.signals_of_model(next(iter(left)))
    return UpdateBatches(left, accumulate, partial(distiller.counts, of_model=of_model))


def _facts(spec: StageSpec, phase: Phase, batches: StreamBatches) -> dict[str, Any]:
    """What a phase is, beside its models and what is in its streams."""
    rows = {key: len(stream.lengths) for key, stream in batches.streams.items()}
    stage = spec.model_dump(mode="json")
    return {"stage": stage, "name": phase.name, "seed": batches.seed, "rows": rows}


def _resume(best: BestWeights, state: PhaseState, name: str, say: Callable[[str], None]) -> None:
    """Begin a phase where its state is, and say where that is."""
    try:
        found = state.read()
    except ValueError as error:
        say(f"  {name} starts over: {state.path} is of no use ({error})")
        return
    if found is not None:
        best.resume(*found)
        say(f"  {name} continues after update {best.done:,} of {best.updates:,}")


def _planned(spec: StageSpec, phase: Phase, steps: int) -> int:
    """Updates of a phase whose streams give so many batches in a pass."""
    epochs = spec.stop.epochs or (PASSES if phase.updates is None else None)
    limits = [phase.updates, epochs and max(1, epochs * steps // spec.accumulate)]
    return min(limit for limit in limits if limit is not None)


def _few(spec: StageSpec, phase: Phase, planned: int) -> str:
    """What to say of passes over little text in large batches."""
    rows = spec.batch_size * spec.accumulate
    return (
        f"  {spec.student}, {phase.name}: {spec.stop.epochs or PASSES} passes are {planned:,} "
        f"updates of {rows:,} rows, which is little. Lower distill.{spec.name}.accumulate, "
        f"{spec.accumulate} here: with 1 they are about {planned * spec.accumulate:,} updates"
    )


def _after_recalibration(
    evaluate: Callable[[], float], student: Any, streams: Mapping[str, Stream], batch_size: int
) -> Callable[[], float]:
    """Evaluate a student that gathers statistics once they are those of inference.

    So the best weights are chosen with the statistics that are kept with them.
    """
    plain = {key: Inputs(stream) for key, stream in streams.items()}
    batches = StreamBatches(plain, batch_size, seed=0)
    count = min(batches.steps, -(-RECALIBRATION_ROWS // batch_size))

    def recalibrated() -> float:
        drawn = islice(batches, count)
        student.recalibrate(batch for of_streams in drawn for batch in of_streams.values())
        return evaluate()

    return recalibrated


def _reseed(distiller: Distiller, phase: str) -> None:
    """Let dropout depend on the phase alone, so that a stopped schedule ends like a whole one."""
    for variable in distiller.variables:
        if variable.path.endswith("seed_generator_state"):
            variable.assign([int(variable[0]), zlib.crc32(phase.encode())])


def _held_out_loss(
    distiller: Distiller, held_out: Stream | None, batch_size: int
) -> Callable[[], float]:
    """The stage's own loss on held-out rows that stand in for each of its streams.

    Each of its terms is the mean over all tokens (or texts) of these rows, whatever the batches.
    """
    if held_out is None:
        raise ValueError("give a metric, or held-out rows to take the loss on")
    batches = StreamBatches(
        dict.fromkeys(distiller.streams, held_out), batch_size, seed=0, shuffle=False
    )

    def evaluate() -> float:
        logs = distiller.evaluate(
            batches.dataset(), steps=batches.steps, verbose=0, return_dict=True
        )
        return float(logs["loss"])

    return evaluate
