"""Fates of gold spans: by hand, and against counts that need no fates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.metrics.span_errors import (
    ALL,
    CAPITAL,
    FATES,
    INVENTED,
    KNOWN,
    NEW,
    SMALL,
    UNSEEN,
    Seen,
    span_errors,
    support,
)
from tfdistil.metrics.spans import span_scores, strict_spans

GOLD = (2, 4, "LOC")


@pytest.mark.parametrize(
    ("predicted", "fate"),
    [
        ([(2, 4, "LOC")], "right"),
        ([(2, 4, "ORG")], "label"),
        ([(2, 3, "LOC")], "boundary"),
        ([(0, 5, "LOC")], "boundary"),
        ([(2, 3, "ORG"), (3, 4, "LOC")], "boundary"),
        ([(3, 5, "ORG")], "both"),
        ([(0, 2, "LOC"), (4, 5, "LOC")], "missed"),
        ([], "missed"),
    ],
)
def test_the_fate_of_a_span(predicted, fate):
    words = ["a"] * 6
    row = span_errors([(words, [GOLD], predicted)], None)[ALL]
    assert row[fate] == support(row) == 1
    away = [span for span in predicted if span[1] <= 2 or span[0] >= 4]
    assert row[INVENTED] == len(away)


TRAIN = Seen.of(
    [
        (("in", "New", "York", "City"), [(1, 3, "LOC")]),
        (("cafe\u0301",), [(0, 1, "LOC")]),
    ]
)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("new", "YORK"), KNOWN),
        (("New", "York", "City"), NEW),
        (("City",), NEW),
        (("New", "Yorkshire"), UNSEEN),
        (("caf\u00e9",), KNOWN),
        (("CAFE\u0301",), KNOWN),
    ],
)
def test_what_train_knows_of_a_span(words, kind):
    assert TRAIN.kind(words) == kind


def test_kinds_are_a_partition_and_in_order():
    words = ("New", "York", "meets", "rome", "and", "city")
    gold = [(0, 2, "LOC"), (3, 4, "LOC"), (5, 6, "LOC")]
    found = span_errors([(words, gold, [(0, 2, "LOC"), (2, 3, "PER")])], TRAIN)
    assert [*found] == [ALL, KNOWN, NEW, UNSEEN, CAPITAL, SMALL]
    assert {kind: support(row) for kind, row in found.items()} == {
        ALL: 3,
        KNOWN: 1,
        NEW: 1,
        UNSEEN: 1,
        CAPITAL: 1,
        SMALL: 2,
    }
    assert found[KNOWN]["right"] == 1
    assert (found[UNSEEN]["missed"], found[UNSEEN][INVENTED]) == (1, 1)  # `meets` is not in train


def test_letters_that_are_all_alike_are_no_kinds():
    assert [*span_errors([(("in", "rome"), [(1, 2, "LOC")], [])], None)] == [ALL]
    assert not span_errors([(("in", "rome"), [], [])], TRAIN)


TAGS = st.lists(st.sampled_from(["O", "B-a", "I-a", "B-b", "I-b"]), min_size=8, max_size=8)


@given(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=5))
def test_counts_are_those_of_the_score(pairs):
    words = ["w"] * 8
    sentences = [(words, strict_spans(gold), strict_spans(guess)) for gold, guess in pairs]
    row = span_errors(sentences, None).get(ALL, dict.fromkeys((*FATES, INVENTED), 0))
    scores = span_scores([gold for gold, _ in pairs], [guess for _, guess in pairs])
    assert (row["right"], support(row)) == (scores.correct, scores.support)
    assert row[INVENTED] <= scores.predicted - scores.correct
