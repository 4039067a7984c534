"""Hostile recipes end in a short error before any training, or in a recipe that is what it says."""

from __future__ import annotations

import pytest

from tests.fuzz.campaign import counted, failures, run_cases, sample
from tests.fuzz.recipes import specials, write_cases

TOTAL, SHORT = 540, 40


@pytest.mark.slow
def test_hostile_recipes(tmp_path):
    assert len(specials()) > 120
    cases = write_cases(tmp_path, TOTAL, sample(TOTAL, SHORT))
    outcomes = run_cases("tests.fuzz.recipes:target", cases, seconds=60)
    print("recipes:", counted(outcomes), flush=True)
    bad = failures(outcomes)
    assert not bad, bad
    assert {outcome.kind for outcome in outcomes} == {"answered", "refused"}
