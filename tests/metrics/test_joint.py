from __future__ import annotations

import pytest

from tfdistil.errors import DataError
from tfdistil.metrics import joint_scores
from tfdistil.metrics.joint import exact_matches

INTENTS = ["play", "stop", "play", "stop"]
TAGS = [["B-song", "I-song"], ["O"], ["O", "B-artist"], []]


def test_exact_match_wants_intent_and_every_tag():
    predicted = [("B-song", "I-song"), ("O",), ("O", "B-song"), ()]
    scores = joint_scores(INTENTS, TAGS, ["play", "play", "play", "stop"], predicted)
    assert scores.exact_match == 50  # the second has a wrong intent, the third a wrong slot
    assert scores.intent_accuracy == 75
    assert scores.slot_f1 == 50
    assert scores.slots.per_label["song"].f1 == pytest.approx(200 / 3)
    assert scores.intents.per_label["play"].recall == 100


def test_an_orphan_is_no_exact_match_although_conll_counts_its_span():
    scores = joint_scores(["play"], [["B-song"]], ["play"], [["I-song"]], mode="conll")
    assert (scores.slot_f1, scores.exact_match) == (100, 0)


def test_exact_matches_row_by_row():
    assert exact_matches(INTENTS, TAGS, INTENTS, [*TAGS[:3], ()]) == [True] * 4


def test_no_utterances_score_zero():
    scores = joint_scores([], [], [], [])
    assert (scores.exact_match, scores.slot_f1, scores.intent_accuracy) == (0, 0, 0)


def test_lists_that_do_not_go_together_are_an_error():
    with pytest.raises(DataError, match="4 gold intents but 3 predicted"):
        joint_scores(INTENTS, TAGS, INTENTS[:3], TAGS)
    with pytest.raises(DataError, match="tag sequences for the intents"):
        joint_scores(INTENTS, TAGS[:3], INTENTS, TAGS[:3])
    with pytest.raises(DataError, match="4 gold sentences but 3 predicted"):
        joint_scores(INTENTS, TAGS, INTENTS, TAGS[:3])
