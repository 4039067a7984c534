"""Classification scores against scikit-learn (which seqeval brings along)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from tfdistil.errors import DataError
from tfdistil.metrics import classification_scores

label_pairs = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("abcde")), min_size=1, max_size=40
)


@given(label_pairs)
def test_scores_are_those_of_scikit_learn(pairs):
    gold, predicted = map(list, zip(*pairs, strict=True))
    scores = classification_scores(gold, predicted)
    labels = sorted({*gold, *predicted})
    assert scores.accuracy == pytest.approx(100 * accuracy_score(gold, predicted))
    columns = precision_recall_fscore_support(gold, predicted, labels=labels, zero_division=0)
    assert list(scores.per_label) == labels
    for row, p, r, f, n in zip(scores.per_label.values(), *columns, strict=True):
        assert (row.precision, row.recall, row.f1) == pytest.approx((100 * p, 100 * r, 100 * f))
        assert row.support == n
    assert scores.macro_f1 == pytest.approx(100 * columns[2].mean())
    cells = {(a, b): count for a, row in scores.confusion.items() for b, count in row.items()}
    assert cells == {pair: pairs.count(pair) for pair in pairs}


def test_no_examples_score_zero():
    scores = classification_scores([], [])
    assert (scores.accuracy, scores.macro_f1, scores.support) == (0, 0, 0)
    assert not scores.per_label
    assert not scores.confusion


def test_other_numbers_of_labels_are_an_error():
    with pytest.raises(DataError, match="2 gold labels but 1 predicted"):
        classification_scores(["a", "b"], ["a"])
