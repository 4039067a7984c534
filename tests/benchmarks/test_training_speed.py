"""Training speed: what one measurement holds, and how pairs become a row."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tfdistil.benchmarks.training_speed import PRECISION, TrainingSpeed, _row, main, paired

TINY = Path(__file__).parents[1] / "tiny.yaml"


@pytest.mark.slow
@pytest.mark.parametrize("model", ["teacher", "student"])
def test_a_measurement(model, capsys):
    assert main([str(TINY), "--only", model, "--updates", "2"]) == 0
    found = TrainingSpeed(**json.loads(capsys.readouterr().out))
    assert found.rate > 0
    assert found.user_ms + found.kernel_ms > 0
    assert found.peak_mb > 100


@pytest.mark.slow
def test_precisions_take_turns():
    one, other = paired(str(TINY), [], "student", updates=2, rounds=1, compared="precision")
    assert len(one) == len(other) == 1


def test_a_precision_that_there_is_not_is_refused(monkeypatch):
    monkeypatch.setenv(PRECISION, "bfloat15")
    with pytest.raises(ValueError, match="precision"):
        main([str(TINY), "--only", "student", "--updates", "2"])


def test_the_ratio_is_that_of_the_pairs():
    slow = TrainingSpeed(100, 50, 20, 1000, 900, 5)
    system = [slow, replace(slow, rate=50), slow]
    ours = [replace(slow, rate=200), replace(slow, rate=150), replace(slow, rate=210)]
    row = _row("teacher", system, ours)
    assert row.startswith("| teacher | 100 → 200 | 2.10 (2.00 to 3.00) | 50 → 50 | 20.0 → 20.0 |")
