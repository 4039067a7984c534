"""Fine-tuning on the labels until dev stops rising, as stages of a schedule.

The learning rate rises, stays, and falls when the dev metric has stopped rising. How long that
takes is found out and not asked for: where the decay is planned from the start, a budget that is
too short looks like the end of learning. Nor is the rate asked for where several are given: which
of two is too high for a set shows on dev after its first few hundred updates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfdistil.distill.schedule import Schedule
from tfdistil.distill.stage import PhaseResult
from tfdistil.distill.terms import label_terms
from tfdistil.recipe.schema.stages import OptimizerSpec, StageSpec, StopSpec, TermSpec
from tfdistil.recipe.schema.tuning import FineTuneSpec

TRIAL, MOST_TRIAL = 0.1, 400
"""Share of the budget that each learning rate is tried on where there are several, and the updates
that it may be at most."""

FEWEST, MOST = 100, 500
"""Updates between two looks at dev; a pass over train where that is between them."""


@dataclass(frozen=True)
class FineTuned:
    """How fine-tuning went.

    Attributes:
        learning_rate: the peak that was used.
        tried: dev metric by learning rate, where several were tried.
        updates: made with that rate, its trial included.
        flat: whether dev had stopped rising: before the budget was used up, or on the way down.
    """

    learning_rate: float
    tried: dict[str, float]
    updates: int
    flat: bool


def fine_tune(
    schedule: Schedule, model: str, spec: FineTuneSpec, head: str = "logits"
) -> FineTuned:
    """Train a model of a schedule on ``train``, selected on ``dev``.

    Stages that were finished in an earlier start are loaded, as those of any schedule.

    Args:
        schedule: holds the model and the sets; what is done is kept in its folder.
        model: by its name in the schedule.
        spec: rates, budget, patience.
        head: the prefix of the model's logits.
    """
    passes = -(-len(schedule.rows(model, "train").lengths) // spec.batch_size)
    terms = label_terms(schedule.models[model].model, head)
    stages = _Stages(model, spec, terms, max(FEWEST, min(passes, MOST)), spec.budget(passes))
    rate, made = spec.peaks[0], 0
    tried: dict[float, float] = {}
    if len(spec.peaks) > 1 and stages.trial_updates:
        rate, tried, made = _try(schedule, stages)
    made += _run(schedule, stages.hold(rate, made)).updates
    flat = made < stages.held_at_most
    if spec.cool_down:
        fallen = _run(schedule, stages.cool_down(rate, made))
        made += fallen.updates
        flat = flat or fallen.waited >= (spec.patience or np.inf)
    return FineTuned(rate, {f"{at:g}": score for at, score in tried.items()}, made, flat)


def _try(schedule: Schedule, stages: _Stages) -> tuple[float, dict[float, float], int]:
    """The rate that is best on dev, what each had, its updates; its weights are the model's."""
    network = schedule.models[stages.model].model
    fresh = best = network.get_weights()
    rate, made = stages.spec.peaks[0], 0
    tried: dict[float, float] = {}
    for number, candidate in enumerate(stages.spec.peaks, 1):
        network.set_weights(fresh)
        result = _run(schedule, stages.trial(number, candidate))
        if not tried or result.best > max(tried.values()):
            rate, made, best = candidate, result.updates, network.get_weights()
        tried[candidate] = result.best
    network.set_weights(best)
    return rate, tried, made


def _run(schedule: Schedule, stage: StageSpec) -> PhaseResult:
    """How a stage of one phase ended."""
    schedule.run([stage])
    return schedule.done[stage.student][-1]


@dataclass(frozen=True)
class _Stages:
    """The stages that fine-tuning may have."""

    model: str
    spec: FineTuneSpec
    terms: list[TermSpec]
    every: int
    budget: int

    @property
    def held_at_most(self) -> int:
        """Updates at the peak that leave enough of the budget for the way down."""
        return max(1, round(self.budget / (1 + self.spec.cool_down)))

    @property
    def trial_updates(self) -> int:
        """Updates that each of several rates is tried with; 0 of a budget too small for that."""
        return min(round(TRIAL * self.budget), MOST_TRIAL)

    def trial(self, number: int, rate: float) -> StageSpec:
        """The beginning of ``hold``."""
        updates, minutes = self.trial_updates, self.spec.minutes
        stop = StopSpec(
            updates=updates,
            every=min(FEWEST, updates),
            minutes=None if minutes is None else TRIAL * minutes,
        )
        return self._stage(f"rate_{number}", rate, "constant", stop)

    def hold(self, rate: float, made: int) -> StageSpec:
        """At the peak until dev has stopped rising, after so many updates in its trial."""
        minutes = self.spec.minutes
        if minutes is not None:
            minutes = minutes / (1 + self.spec.cool_down) - (TRIAL * minutes if made else 0)
        stop = StopSpec(
            updates=max(1, self.held_at_most - made),
            every=self.every,
            patience=self.spec.patience,
            minutes=minutes,
        )
        return self._stage("fine_tune", rate, "constant", stop)

    def cool_down(self, rate: float, held: int) -> StageSpec:
        """From the best weights down to a rate of zero."""
        updates = max(1, round(self.spec.cool_down * held))
        stop = StopSpec(updates=updates, every=max(1, min(self.every, -(-updates // 5))))
        return self._stage("cool_down", rate, "linear", stop)

    def _stage(self, name: str, rate: float, shape: str, stop: StopSpec) -> StageSpec:
        assert isinstance(stop.updates, int)
        rising = min(
            self.spec.warmup, stop.updates // 10 if shape == "linear" else stop.updates // 2
        )
        return StageSpec(
            name=name,
            terms=self.terms,
            teacher=None,
            student=self.model,
            optimizer=OptimizerSpec(
                learning_rate=rate,
                schedule=shape,
                warmup=rising / stop.updates,
                layer_decay=self.spec.layer_decay,
                rates=self.spec.rates,
                weight_decay=self.spec.weight_decay,
                clip=1.0,
            ),
            batch_size=self.spec.batch_size,
            noise=self.spec.noise,
            precision=self.spec.precision,
            stop=stop,
        )
