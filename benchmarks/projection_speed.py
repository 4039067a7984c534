"""How many words the token projection hashes in a second.

``python -m tfdistil.benchmarks.projection_speed`` prints a table: one line per hash family. One
core works, and its CPU time is what counts, so that other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tfdistil.text.projection import FingerprintCache, ProjectionSpec, fingerprints
from tfdistil.text.projection.spec import FAMILIES

ALPHABETS = {
    "ascii": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "mixed": "abcdeéüßżабвгдежαβγδабجدهوनमसதக東京あアกขค한국",
}
"""Letters of the words: one byte each, and one to three bytes in twelve scripts."""


@dataclass(frozen=True)
class Speed:
    """Words per second of one family.

    Attributes:
        family: the hash family that fills all features.
        rates: alphabet to words per second: all different, nothing kept from before.
        cached: words per second of words that are all kept.
    """

    family: str
    rates: dict[str, float]
    cached: float


def distinct_words(count: int, alphabet: str, seed: int = 13) -> list[str]:
    """Different words of 2 to 14 letters, 8 on average."""
    rng = np.random.default_rng(seed)
    letters = np.array([*alphabet])
    words: dict[str, None] = {}
    while len(words) < count:
        sizes = rng.integers(2, 15, count)
        drawn = letters[rng.integers(0, len(letters), (count, 14))]
        rows = zip(drawn, sizes.tolist(), strict=True)
        words.update(dict.fromkeys("".join(row[:size]) for row, size in rows))
    return [*words][:count]


def measure(families: list[str], features: int, count: int, rounds: int) -> list[Speed]:
    """CPU time of each family on the same words; the best of the rounds counts.

    Args:
        families: see `FAMILIES`.
        features: N.
        count: different words.
        rounds: how often each is timed.
    """
    words = {name: distinct_words(count, letters) for name, letters in ALPHABETS.items()}
    found = []
    for family in families:
        spec = ProjectionSpec(((family, features),))
        rates = {
            name: count / _best(partial(fingerprints, some, spec), rounds)
            for name, some in words.items()
        }
        cache = FingerprintCache(spec, count)
        cache(words["ascii"])
        cached = count / _best(partial(cache, words["ascii"]), rounds)
        found.append(Speed(family, rates, cached))
    return found


def _best(call: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def table(speeds: list[Speed]) -> str:
    """Thousands of words per second, as Markdown."""
    lines = [f"| family | {' | '.join(ALPHABETS)} | cached |", "|---|" + "---:|" * 3]
    for speed in speeds:
        rates = [*(speed.rates[name] for name in ALPHABETS), speed.cached]
        lines.append(f"| `{speed.family}` | " + " | ".join(f"{r / 1e3:,.0f}" for r in rates) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Words per second of the token projection.")
    parser.add_argument("--features", type=int, default=1024, help="N (1024)")
    parser.add_argument("--words", type=int, default=50_000, help="different words (50000)")
    parser.add_argument("--rounds", type=int, default=5, help="the best of them counts (5)")
    given = parser.parse_args()
    speeds = measure([*FAMILIES], given.features, given.words, given.rounds)
    print(f"N = {given.features}, {given.words:,} different words, thousands per second:\n")
    print(table(speeds))


if __name__ == "__main__":
    main()
