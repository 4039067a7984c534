"""The table of the CRF's speed has a line for each operation."""

from __future__ import annotations

from tfdistil.benchmarks.crf_speed import measure, sentences, table


def test_half_of_the_rows_are_full():
    *_, mask = sentences(6, 8, 3)
    lengths = mask.sum(axis=1)
    assert (lengths[1::2] == 8).all()
    assert ((lengths >= 4) & (lengths <= 8)).all()


def test_a_line_for_each_operation():
    speeds = measure([3, 5], batch=2, labels=3, k=2, rounds=1)
    assert all(rate > 0 for speed in speeds for rate in speed.rates.values())
    header, _, *lines = table(speeds).splitlines()
    assert header == "| operation | 3 words | 5 words |"
    assert [line.split(" | ")[0] for line in lines] == [f"| {speed.name}" for speed in speeds]
    assert "| 2 best, one by one in NumPy" in lines[-1]
