"""How many sentences a second the CRF's best paths and losses take.

``python -m tfdistil.benchmarks.crf_speed`` prints a table: one line per operation, compiled by
TensorFlow for any length, and the K best of one sentence after another in NumPy for comparison.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfdistil.crf import decoding

if TYPE_CHECKING:
    from tfdistil.crf.paths import BestPaths


@dataclass(frozen=True)
class Speed:
    """Sentences per second of one operation.

    Attributes:
        name: the operation; a loss is timed with its gradients.
        rates: words in a row to sentences per second.
    """

    name: str
    rates: dict[int, float]


class Given(NamedTuple):
    """What an operation reads: a student's scores, a teacher's, and the teacher's best paths.

    ``theirs`` are the teacher's potentials, with the numbers of the student's.
    """

    emissions: Any
    potentials: Any
    mask: Any
    teacher: Any
    theirs: Any
    best: BestPaths


def sentences(batch: int, words: int, labels: int, seed: int = 13) -> tuple[np.ndarray, ...]:
    """Emissions, potentials and a mask: half of the rows are full, the others at least half."""
    rng = np.random.default_rng(seed)
    emissions = 2 * rng.standard_normal((batch, words, labels), np.float32)
    potentials = rng.standard_normal((labels + 2, labels), np.float32)
    lengths = np.where(np.arange(batch) % 2, words, rng.integers(words // 2, words + 1, batch))
    return emissions, potentials, (np.arange(words) < lengths[:, None]).astype(np.int32)


def operations(labels: int, k: int) -> dict[str, Callable[[Given], Any]]:
    """The operations by name, compiled for any batch and length."""
    import tensorflow as tf

    from tfdistil.crf import losses
    from tfdistil.crf.paths import BestPaths, k_best, viterbi

    scores = tf.TensorSpec((None, None, labels))
    best = BestPaths(
        tf.TensorSpec((None, k, None), tf.int32),
        tf.TensorSpec((None, k)),
        tf.TensorSpec((None,)),
        tf.TensorSpec((None,), tf.int32),
    )
    potentials = tf.TensorSpec((labels + 2, labels))
    given = Given(
        scores, potentials, tf.TensorSpec((None, None), tf.int32), scores, potentials, best
    )

    def compiled(call: Callable[[Given], Any]) -> Callable[[Given], Any]:
        return tf.function(call, input_signature=[given])

    def trained(loss: Callable[[Given], Any]) -> Callable[[Given], Any]:
        def step(g: Given) -> Any:
            with tf.GradientTape() as tape:
                tape.watch([g.emissions, g.potentials])
                value = loss(g)
            return tape.gradient(value, [g.emissions, g.potentials])

        return compiled(step)

    return {
        "Viterbi": compiled(lambda g: viterbi(g.emissions, g.potentials, g.mask)),
        f"{k} best": compiled(lambda g: k_best(g.emissions, g.potentials, g.mask, k)),
        "negative log-likelihood": trained(
            lambda g: losses.crf_nll(g.emissions, g.potentials, g.best.tags[:, 0], g.mask)
        ),
        "sequence cross-entropy": trained(
            lambda g: losses.sequence_cross_entropy(g.emissions, g.potentials, *g.best, g.mask)
        ),
        f"the same, its {k} best paths found in the step": trained(
            lambda g: losses.sequence_cross_entropy(
                g.emissions, g.potentials, *k_best(g.teacher, g.theirs, g.mask, k), g.mask
            )
        ),
        "fuzzy cross-entropy": trained(
            lambda g: losses.fuzzy_cross_entropy(g.emissions, g.potentials, *g.best, g.mask)
        ),
        "token marginals": trained(
            lambda g: losses.token_marginals(g.emissions, g.potentials, g.teacher, g.theirs, g.mask)
        ),
        "token emissions": trained(
            lambda g: losses.token_emissions(g.emissions, g.teacher, g.mask)
        ),
    }


def measure(lengths: list[int], batch: int, labels: int, k: int, rounds: int) -> list[Speed]:
    """Wall-clock time of each operation; the best of the rounds counts.

    Args:
        lengths: words in a row.
        batch: sentences.
        labels: L.
        k: K.
        rounds: how often each is timed.
    """
    import tensorflow as tf

    from tfdistil.crf.paths import k_best

    made = operations(labels, k)
    rates: dict[str, dict[int, float]] = {name: {} for name in made}
    one_by_one: dict[int, float] = {}
    for words in lengths:
        emissions, potentials, mask = sentences(batch, words, labels)
        teacher, *_ = sentences(batch, words, labels, seed=14)
        best = k_best(teacher, potentials, mask, k)
        tensors = map(tf.constant, (emissions, potentials, mask, teacher, potentials))
        given = Given._make([*tensors, best])
        for name, call in made.items():
            rates[name][words] = batch / _best(partial(call, given), rounds)
        rows = [row[:length] for row, length in zip(emissions, mask.sum(axis=1), strict=True)]
        one_by_one[words] = batch / _best(partial(_decode, rows, potentials, k), rounds)
    speeds = [Speed(name, rate) for name, rate in rates.items()]
    return [*speeds, Speed(f"{k} best, one by one in NumPy", one_by_one)]


def _decode(rows: list[np.ndarray], potentials: np.ndarray, k: int) -> None:
    for emissions in rows:
        decoding.k_best(emissions, potentials, k)


def _best(call: Callable[[], object], rounds: int) -> float:
    call()  # traced, and memory taken
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def table(speeds: list[Speed]) -> str:
    """Sentences per second, as Markdown."""
    lengths = [*speeds[0].rates]
    heads = [f"{words} words" for words in lengths]
    lines = [f"| operation | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for speed in speeds:
        lines.append(f"| {speed.name} | {' | '.join(f'{r:,.0f}' for r in speed.rates.values())} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Sentences per second of the CRF.")
    parser.add_argument("--words", type=int, nargs="+", default=[32, 64], help="a row (32 64)")
    parser.add_argument("--batch", type=int, default=64, help="sentences (64)")
    parser.add_argument("--labels", type=int, default=11, help="L (11)")
    parser.add_argument("--best", type=int, default=10, help="K (10)")
    parser.add_argument("--rounds", type=int, default=10, help="the best of them counts (10)")
    given = parser.parse_args()
    speeds = measure(given.words, given.batch, given.labels, given.best, given.rounds)
    print(f"{given.labels} labels, batches of {given.batch}, sentences per second:\n")
    print(table(speeds))


if __name__ == "__main__":
    main()
