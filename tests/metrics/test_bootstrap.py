from __future__ import annotations

import random

import numpy as np
import pytest

from tfdistil.errors import DataError
from tfdistil.metrics import Statistics, bootstrap, paired_bootstrap, retention, span_scores


def tagged(seed: int, errors: float, sentences: int = 200) -> tuple[list, list]:
    """Gold and predicted tags, wrong with the given probability."""
    chance = random.Random(seed)
    gold = [[chance.choice(["O", "B-A", "B-B"]) for _ in range(8)] for _ in range(sentences)]
    guess = [["O" if chance.random() < errors else t for t in tags] for tags in gold]
    return gold, guess


def matches(seed: int, share: float, size: int = 300) -> list[bool]:
    chance = random.Random(seed)
    return [chance.random() < share for _ in range(size)]


def test_scores_and_draws_equal_a_loop_over_the_metric():
    gold, first = tagged(1, 0.3)
    second = tagged(1, 0.3)[1][:100] + gold[100:]
    result = paired_bootstrap(
        Statistics.of_spans(gold, first), Statistics.of_spans(gold, second), 60, seed=5
    )
    assert result.first == pytest.approx(span_scores(gold, first).f1)
    assert result.second == pytest.approx(span_scores(gold, second).f1)
    assert result.difference == pytest.approx(result.second - result.first)
    assert result.retention == pytest.approx(100 * result.second / result.first)
    rows = np.random.default_rng(5).integers(200, size=(60, 200))
    looped = []
    for draw in rows:
        scores = [
            span_scores([gold[i] for i in draw], [tags[i] for i in draw]).f1
            for tags in (first, second)
        ]
        looped.append(scores[1] - scores[0])
    assert (result.low, result.high) == pytest.approx(np.percentile(looped, [2.5, 97.5]))
    assert result.second_better == 1.0


def test_interval_of_a_share_is_near_the_normal_one():
    right = matches(3, 0.7, 1000)
    nothing = Statistics.of_matches([False] * 1000)
    result = paired_bootstrap(nothing, Statistics.of_matches(right), 4000)
    p = np.mean(right)
    half = 100 * 1.96 * np.sqrt(p * (1 - p) / 1000)
    assert result.low == pytest.approx(100 * p - half, abs=0.4)
    assert result.high == pytest.approx(100 * p + half, abs=0.4)
    assert (result.retention, result.retention_low, result.retention_high) == (0, 0, 0)


def test_a_system_does_not_differ_from_itself():
    same = Statistics.of_matches(matches(1, 0.5))
    result = paired_bootstrap(same, same)
    assert (result.low, result.difference, result.high) == (0, 0, 0)
    assert (result.retention_low, result.retention_high) == (100, 100)
    assert result.second_better == 0


def test_seed_decides_and_wider_confidence_is_wider():
    one, two = (Statistics.of_matches(matches(seed, 0.6)) for seed in (1, 2))
    assert paired_bootstrap(one, two) == paired_bootstrap(one, two)
    assert paired_bootstrap(one, two) != paired_bootstrap(one, two, seed=1)
    narrow, wide = paired_bootstrap(one, two, confidence=50), paired_bootstrap(one, two)
    assert wide.low < narrow.low <= narrow.high < wide.high


def test_blocks_cover_all_draws(monkeypatch):
    one, two = (Statistics.of_matches(matches(seed, 0.6)) for seed in (1, 2))
    monkeypatch.setattr(bootstrap, "_CELLS_AT_ONCE", 7 * 300)
    result = paired_bootstrap(one, two, resamples=100)
    assert result.low < result.difference < result.high


def test_draws_without_any_span_score_zero():
    gold = [["B-A"], *([["O"]] * 30)]
    half = Statistics.of_spans(gold, gold)
    result = paired_bootstrap(half, half)
    assert (result.first, result.low, result.retention_low) == (100, 0, 0)


def test_retention():
    assert retention(45, 50) == 90
    assert retention(3, 0) == 0


def test_bad_input_is_named():
    few, many = Statistics.of_matches([True]), Statistics.of_matches([True, False])
    with pytest.raises(DataError, match="1 gold sentences but 2"):
        paired_bootstrap(few, many)
    with pytest.raises(DataError, match="share and f1"):
        paired_bootstrap(few, Statistics.of_spans([["O"]], [["O"]]))
    with pytest.raises(DataError, match="on 0 sentences"):
        paired_bootstrap(Statistics.of_matches([]), Statistics.of_matches([]))
    with pytest.raises(DataError, match="0 resamples"):
        paired_bootstrap(few, few, resamples=0)
    with pytest.raises(DataError, match="100 % confidence"):
        paired_bootstrap(few, few, confidence=100)
