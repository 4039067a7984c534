"""Which stages fine-tuning makes of its budget, and what it does with how they end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tfdistil.distill.fine_tuning import FEWEST, MOST, fine_tune
from tfdistil.distill.stage import PhaseResult
from tfdistil.recipe.schema.models import EncoderSpec
from tfdistil.recipe.schema.tuning import AUTO_RATES, FineTuneSpec


class Scripted:
    """A schedule that trains nothing: a phase ends as ``ends`` says, or uses all its updates."""

    def __init__(self, rows: int = 3200, **ends: tuple[float, ...]):
        self.size, self.ends = rows, ends
        self.stages: dict[str, Any] = {}
        self.done: dict[str, list[PhaseResult]] = {"m": []}
        self.weights: list[Any] = ["fresh"]
        network = SimpleNamespace(
            get_weights=lambda: [*self.weights],
            set_weights=self._set,
            label_losses=lambda head: {"tags": "cross_entropy"},
        )
        self.models = {"m": SimpleNamespace(model=network)}

    def _set(self, weights: list[Any]) -> None:
        self.weights = [*weights]

    def rows(self, model: str, name: str) -> SimpleNamespace:
        assert (model, name) == ("m", "train")
        return SimpleNamespace(lengths=range(self.size))

    def run(self, stages: Any) -> None:
        for stage in stages:
            self.stages[stage.name] = (stage, self.weights)
            self.weights = [*self.weights, stage.name]
            ending = self.ends.get(stage.name, (50.0, stage.stop.updates))
            self.done["m"].append(PhaseResult(stage.name, *ending))


ONE = 5e-4


def test_it_holds_the_rate_until_dev_is_flat_and_then_lets_it_fall():
    schedule = Scripted(fine_tune=(88.0, 1200))
    spec = FineTuneSpec(learning_rate=ONE, updates=6000, cool_down=0.5)
    found = fine_tune(schedule, "m", spec)
    hold, down = schedule.stages["fine_tune"][0], schedule.stages["cool_down"][0]
    assert (hold.optimizer.schedule, down.optimizer.schedule) == ("constant", "linear")
    assert (hold.stop.updates, hold.stop.patience, hold.stop.every) == (4000, 3, 100)
    assert (down.stop.updates, down.stop.patience) == (600, None)
    assert hold.optimizer.learning_rate == down.optimizer.learning_rate == ONE
    assert round(hold.optimizer.warmup * 4000) == 100
    assert (found.updates, found.flat, found.learning_rate) == (1800, True, ONE)
    assert found.tried == {}
    assert schedule.weights == ["fresh", "fine_tune", "cool_down"]


def test_rates_of_layer_groups_hold_in_every_stage():
    schedule = Scripted()
    fine_tune(schedule, "m", FineTuneSpec(learning_rate=(ONE, 1e-5), rates={"crf": 1e-3}))
    assert len(schedule.stages) == 4
    assert all(stage.optimizer.rates == {"crf": 1e-3} for stage, _ in schedule.stages.values())


def test_the_budget_is_never_exceeded():
    for rates in ((ONE,), (ONE, 2e-4)):
        for updates in (1, 2, 3, 10, 299, 4000):
            for share in (0.0, 0.3, 1.0):
                schedule = Scripted()
                spec = FineTuneSpec(learning_rate=rates, updates=updates, cool_down=share)
                found = fine_tune(schedule, "m", spec)
                made = [r.updates for r in schedule.done["m"] if r.name != "rate_2"]
                assert not found.flat  # all of it was used
                assert found.updates == sum(made) <= updates + 1
                assert ("cool_down" in schedule.stages) == (share > 0)
                assert ("rate_2" in schedule.stages) == (len(rates) > 1 and updates >= 10)


def test_dev_that_does_not_rise_on_the_way_down_is_flat_too():
    spec = FineTuneSpec(learning_rate=ONE)
    for waited, flat in ((0, False), (2, False), (3, True), (5, True)):
        schedule = Scripted(cool_down=(88.0, 2000, waited))
        assert fine_tune(schedule, "m", spec).flat == flat
    schedule = Scripted(cool_down=(88.0, 2000, 5))
    assert not fine_tune(schedule, "m", FineTuneSpec(learning_rate=ONE, patience=None)).flat


def test_passes_and_minutes_bound_it_too():
    schedule = Scripted(rows=3200)  # 100 steps in a pass
    spec = FineTuneSpec(learning_rate=ONE, epochs=3, minutes=30, cool_down=0.5)
    fine_tune(schedule, "m", spec)
    hold = schedule.stages["fine_tune"][0]
    assert (hold.stop.updates, hold.stop.minutes) == (200, 20)


def test_minutes_bound_the_trials():
    schedule = Scripted()
    fine_tune(schedule, "m", FineTuneSpec(minutes=30, cool_down=0.5))
    trial, hold = (schedule.stages[name][0] for name in ("rate_2", "fine_tune"))
    assert (trial.stop.minutes, trial.stop.every) == (3, FEWEST)
    assert (trial.stop.minutes + hold.stop.minutes) * 1.5 == 30


@pytest.mark.parametrize(("rows", "every"), [(10, FEWEST), (6400, 200), (10**6, MOST)])
def test_dev_is_looked_at_after_a_pass_unless_that_is_very_short_or_long(rows, every):
    schedule = Scripted(rows)
    fine_tune(schedule, "m", FineTuneSpec())
    assert schedule.stages["fine_tune"][0].stop.every == every


def test_the_best_of_several_rates_goes_on():
    schedule = Scripted(rate_1=(60.0, 400), rate_2=(70.0, 300), rate_3=(65.0, 400))
    spec = FineTuneSpec(learning_rate=(1e-4, 3e-4, 1e-3), updates=6000)
    found = fine_tune(schedule, "m", spec)
    trials = [schedule.stages[f"rate_{n}"] for n in (1, 2, 3)]
    assert [stage.optimizer.learning_rate for stage, _ in trials] == [1e-4, 3e-4, 1e-3]
    assert [stage.stop.updates for stage, _ in trials] == [400] * 3
    assert {stage.optimizer.schedule for stage, _ in trials} == {"constant"}
    assert [before for _, before in trials] == [["fresh"]] * 3
    stage, before = schedule.stages["fine_tune"]
    assert (stage.optimizer.learning_rate, before) == (3e-4, ["fresh", "rate_2"])
    assert stage.stop.updates == 3700
    assert found.learning_rate == 3e-4
    assert found.tried == {"0.0001": 60.0, "0.0003": 70.0, "0.001": 65.0}


def test_of_equally_good_rates_the_first_goes_on():
    schedule = Scripted(rate_1=(0.0, 400), rate_2=(0.0, 400))
    assert fine_tune(schedule, "m", FineTuneSpec(learning_rate=(ONE, 1e-4))).learning_rate == ONE
    assert schedule.stages["fine_tune"][1] == ["fresh", "rate_1"]


def test_auto_is_a_list_of_rates():
    auto = EncoderSpec(checkpoint="x", fine_tune="auto").fine_tune
    assert isinstance(auto, FineTuneSpec)
    assert auto.peaks == AUTO_RATES
    assert EncoderSpec(checkpoint="x").fine_tune.peaks == (5e-4, 2e-4)
