"""Derived signals: from shards on disk and as it goes, of the windows that a student has."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.crf.oracle import enumerate_paths, iob2
from tfdistil.crf.constraints import IMPOSSIBLE
from tfdistil.distill import derived
from tfdistil.distill.derived import JoinedSignals, LiveDerived, derive, pooled
from tfdistil.distill.signals import StoredSignals
from tfdistil.distill.streams import concatenate_rows
from tfdistil.heads.best_paths import PARTS, best_paths

K = 4
READ = ("logits/tags", "logits/tags/potentials")
NAMES = [f"logits/tags/{part}/{K}" for part in PARTS]


@pytest.fixture(scope="module")
def examples(make_examples):
    """Texts of up to 9 words, some of them empty."""
    return make_examples(24, seed=5, longest=9)


@pytest.fixture(scope="module")
def rows(examples, make_rows):
    """What a student with small windows sees of them."""
    return make_rows(examples, "pieces", 10)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(derived, "SHARD", 8)


@pytest.fixture(scope="module")
def source(rows):
    """Scores of whole texts."""
    made = np.random.default_rng(3)
    offsets = np.concatenate([[0], np.cumsum(rows.token_counts)])
    emissions = made.normal(scale=2, size=(offsets[-1], 5)).astype(np.float32)
    potentials = np.where(iob2(2), made.normal(size=(7, 5)), IMPOSSIBLE).astype(np.float32)
    return StoredSignals({READ[0]: emissions}, offsets, {READ[0]: True}, {READ[1]: potentials})


class Counting:
    """A source that can be interrupted."""

    def __init__(self, source, stop=-1):
        self.source, self.stop, self.batches = source, stop, 0

    def batch(self, *arguments):
        self.batches += 1
        if self.batches == self.stop:
            raise KeyboardInterrupt
        return self.source.batch(*arguments)


def derivations():
    return [best_paths(READ[0], NAMES, 5)]


def everything(signals, rows):
    chosen = np.random.default_rng(0).permutation(len(rows))
    return chosen, signals.batch(rows, chosen, rows.inputs(chosen))


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_each_window_has_the_best_of_all_its_paths(source, rows, examples, tmp_path):
    assert len(rows) > len(examples)
    assert 0 in rows.token_counts
    chosen, batch = everything(derive(derivations(), source, rows, tmp_path), rows)
    tags, log_p, log_residual, count = (batch[name] for name in NAMES)
    assert [array.dtype for array in batch.values()] == ["i1", "f4", "f4", "i4"]
    potentials = source.of_model[READ[1]]
    barred = potentials[-2] == IMPOSSIBLE
    free = potentials.copy()
    free[-2, barred] = 0
    begun_within = 0
    for i, row in enumerate(chosen):
        own = source.example(READ[0], rows.example[row])[rows.token_range(row)]
        if rows.token_range(row).start > 0 and barred[enumerate_paths(own, free).paths[0][0]]:
            assert count[i] == 0
            begun_within += 1
            continue
        expected = enumerate_paths(own, potentials)
        n, words = min(K, len(expected.paths)), len(own)
        assert count[i] == n
        np.testing.assert_array_equal(tags[i, :words, :n].T, expected.paths[:n])
        assert (tags[i, words:] == 0).all()
        np.testing.assert_allclose(log_p[i, :n], expected.log_p[:n], rtol=1e-4, atol=1e-4)
        rest = expected.log_residual(expected.paths[:n])
        assert log_residual[i] == pytest.approx(rest, rel=1e-4, abs=1e-4)
    assert {1, 3, K} <= set(count)
    assert 0 < begun_within < len(rows) / 2


def test_live_ones_are_the_stored_ones(source, rows, tmp_path):
    """With the scores beside them, which a term reads too."""
    stored = JoinedSignals([source.of(READ[:1]), derive(derivations(), source, rows, tmp_path)])
    live = LiveDerived(source, READ[:1], derivations())
    (chosen, one), (_, other) = (everything(signals, rows) for signals in (stored, live))
    assert list(one) == list(other) == [READ[0], *NAMES]
    real = np.asarray(rows.inputs(chosen)["token_mask"])
    for name in one:
        mask = real.reshape(*real.shape, 1) if one[name].ndim == 3 else 1
        np.testing.assert_allclose(one[name] * mask, other[name] * mask, rtol=1e-5, atol=1e-5)


def test_what_is_there_is_not_made_again(source, rows, tmp_path):
    counted = []
    derive(derivations(), source, rows, tmp_path, lambda total: counted.append)
    assert counted == [*range(8, len(rows), 8), len(rows)]
    again = Counting(source)
    totals = []
    derive(derivations(), again, rows, tmp_path, lambda total: totals.append(total))
    assert (again.batches, totals) == (0, [])
    assert len(contents(tmp_path)) == len(counted) > 3


@pytest.mark.parametrize("stop", [1, 2, 4])
def test_what_was_interrupted_goes_on_and_gives_the_same_bytes(source, rows, tmp_path, stop):
    derive(derivations(), source, rows, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        derive(derivations(), Counting(source, stop), rows, tmp_path / "killed")
    left = len(contents(tmp_path / "killed"))
    assert left == stop - 1
    totals = []

    def counter(total):
        totals.append(total)
        return lambda done: None

    derive(derivations(), source, rows, tmp_path / "killed", counter)
    assert totals == [len(rows) - 8 * left]
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: b"",
        lambda data: data + b"\0",
        lambda data: data[:400] + bytes([data[400] ^ 1]) + data[401:],
        lambda data: bytes([data[0] ^ 1]) + data[1:],
    ],
    ids=["cut", "empty", "longer", "a bit of the lists", "a bit of the checksum"],
)
def test_a_damaged_shard_is_made_again(source, rows, tmp_path, damage):
    derive(derivations(), source, rows, tmp_path)
    before = contents(tmp_path)
    name = sorted(before)[1]
    (tmp_path / name).write_bytes(damage(before[name]))
    again = Counting(source)
    derive(derivations(), again, rows, tmp_path)
    assert again.batches == 1
    assert contents(tmp_path) == before


def test_other_cuts_of_the_same_texts_are_other_lists(source, rows, examples, make_rows, tmp_path):
    derive(derivations(), source, rows, tmp_path)
    derive(derivations(), source, make_rows(examples, "pieces", 64), tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    derive(derivations(), source, make_rows(examples, "words", 64), tmp_path)  # cut alike
    assert len(list(tmp_path.iterdir())) == 2


def test_a_pool_has_the_rows_of_its_sets(source, examples, make_rows, tmp_path):
    offsets, cuts = source.offsets, [0, 7, 8, len(examples)]
    sets = [examples[first:last] for first, last in pairwise(cuts)]
    parts, together = [], []
    for number, some in enumerate(sets):
        first, last = cuts[number], cuts[number + 1]
        own = source.arrays[READ[0]][offsets[first] : offsets[last]]
        mine = offsets[first : last + 1] - offsets[first]
        scores = StoredSignals({READ[0]: own}, mine, source.token_level, source.of_model)
        together.append(make_rows(some, "pieces", 10))
        parts.append(derive(derivations(), scores, together[-1], tmp_path / str(number)))
    rows = concatenate_rows(together)
    _, batch = everything(pooled(parts), rows)
    _, whole = everything(derive(derivations(), source, rows, tmp_path / "all"), rows)
    for name in NAMES:
        np.testing.assert_allclose(batch[name], whole[name], rtol=1e-5, atol=1e-5)
