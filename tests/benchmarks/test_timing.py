from __future__ import annotations

import time

import numpy as np
import pytest

from tfdistil.benchmarks.timing import Ratio, Timing, cycle, time_interleaved


def test_quantiles_are_numpys():
    blocks = np.random.default_rng(0).gamma(2.0, size=(5, 40))
    data = Timing(blocks).to_json()
    assert data["p50"] == pytest.approx(np.median(blocks))
    assert data["p99"] == pytest.approx(np.quantile(blocks, 0.99))
    assert data["calls"] == 200
    assert data["lowest_block"] <= data["p50"] <= data["highest_block"]


def test_ratio_is_taken_round_by_round():
    # The second round is twice as slow for both: the ratio does not care.
    fast, slow = Timing(np.array([[1.0] * 3, [2.0] * 3])), Timing(np.array([[5.0] * 3, [12.0] * 3]))
    assert Ratio.of(slow, fast) == Ratio(5.5, 5.0, 6.0)


def test_models_take_turns():
    order: list[str] = []
    calls = {name: (lambda number, name=name: order.append(name)) for name in "ab"}
    found = time_interleaved(calls, count=7, rounds=2, warm_up=1)
    assert found["a"].blocks.shape == (2, 4)
    runs = [name for n, name in enumerate(order) if n == 0 or order[n - 1] != name]
    assert runs == ["a", "b", "a", "b", "a", "b"]  # the warm-up, then two rounds


def test_times_are_milliseconds_of_wall_clock():
    found = time_interleaved({"nap": lambda number: time.sleep(0.005)}, 4, 2, 0)
    assert 5.0 <= found["nap"].quantile(0.5) < 100.0


def test_never_more_rounds_than_calls():
    assert time_interleaved({"x": lambda number: None}, 3, 10, 0)["x"].blocks.shape == (3, 1)


def test_cycle_takes_items_in_turn():
    call = cycle(["a", "b"], lambda item: item)
    assert [call(n) for n in range(5)] == ["a", "b", "a", "b", "a"]
