"""Timing several things side by side, so that a slow moment of the machine hits all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

REFILL = 3
"""Untimed calls at the start of each block: they bring the weights back into the caches."""


@dataclass(frozen=True)
class Timing:
    """Wall-clock times of one thing.

    Attributes:
        blocks: milliseconds, ``[rounds, calls]``.
    """

    blocks: np.ndarray

    def quantile(self, q: float) -> float:
        """Milliseconds that a fraction ``q`` of the calls does not exceed."""
        return float(np.quantile(self.blocks, q))

    @property
    def block_medians(self) -> np.ndarray:
        """The median of each round, ``[rounds]``."""
        return np.median(self.blocks, axis=1)

    def to_json(self) -> dict[str, float]:
        """Quantiles and mean in ms, the number of calls, the range of the rounds' medians."""
        return {
            "p50": self.quantile(0.5),
            "p90": self.quantile(0.9),
            "p99": self.quantile(0.99),
            "mean": float(self.blocks.mean()),
            "calls": self.blocks.size,
            "lowest_block": float(self.block_medians.min()),
            "highest_block": float(self.block_medians.max()),
        }


@dataclass(frozen=True)
class Ratio:
    """How much slower one thing is than another, from rounds in which both were timed.

    Attributes:
        median: of the rounds' ratios of medians.
        low, high: the lowest and highest of them.
    """

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, slower: Timing, faster: Timing) -> Ratio:
        """Compare two timings of one `time_interleaved`."""
        rounds = slower.block_medians / faster.block_medians
        return cls(float(np.median(rounds)), float(rounds.min()), float(rounds.max()))

    def to_json(self) -> dict[str, float]:
        """As plain JSON data."""
        return {"median": self.median, "low": self.low, "high": self.high}


def time_interleaved(
    calls: Mapping[str, Callable[[int], Any]],
    count: int,
    rounds: int,
    warm_up: int,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> dict[str, Timing]:
    """Time things in turns: a block of calls of each, then the next round.

    Args:
        calls: name to what is timed; gets the number of the call.
        count: timed calls of each, at least; rounded up to whole blocks.
        rounds: how many blocks they are cut into.
        warm_up: untimed calls of each before all else.
        progress: called before each block with the name, the round and the number of rounds.
    """
    rounds = min(rounds, count)
    per_block = -(-count // rounds)
    for call in calls.values():
        for number in range(warm_up):
            call(number)
    times = {name: np.empty((rounds, per_block)) for name in calls}
    for turn in range(rounds):
        for name, call in calls.items():
            progress(name, turn, rounds)
            for number in range(min(REFILL, per_block)):
                call(number)
            row = times[name][turn]
            for number in range(per_block):
                start = time.perf_counter_ns()
                call(number)
                row[number] = time.perf_counter_ns() - start
    return {name: Timing(block / 1e6) for name, block in times.items()}


def cycle(items: Sequence[Any], use: Callable[[Any], Any]) -> Callable[[int], Any]:
    """A call for `time_interleaved` that takes the items in turn."""
    return lambda number: use(items[number % len(items)])
