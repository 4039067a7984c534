"""Damaged data files end in an error that can be read, or in examples that hold together."""

from __future__ import annotations

from tests.fuzz.campaign import counted, failures, run_cases, sample
from tests.fuzz.data_files import formats, write_cases
from tfdistil.data.readers import READERS

TOTAL, SHORT = 1200, 120


def test_damaged_files_of_every_format(tmp_path):
    assert formats() == set(READERS)
    cases = write_cases(tmp_path, sample(TOTAL, SHORT))
    outcomes = run_cases("tests.fuzz.data_files:target", cases, memory=8 << 30)
    print("data files:", counted(outcomes))
    bad = failures(outcomes)
    assert not bad, bad
    assert {outcome.kind for outcome in outcomes} == {"answered", "refused"}


def test_cases_are_the_same_every_time(tmp_path):
    first, again = (write_cases(tmp_path / name, range(0, 600, 11)) for name in ("first", "again"))
    for one, other in zip(first, again, strict=True):
        assert one.name == other.name
        for path in one.rglob("*"):
            if path.is_file():
                assert path.read_bytes() == (other / path.relative_to(one)).read_bytes()
