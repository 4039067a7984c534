"""What a text is worth by what its teacher says of it, and rows drawn by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.distill.rows import encode_rows
from tfdistil.distill.worth import (
    WORTHS,
    draw_weighted,
    draw_weights,
    entities,
    predictions_of,
    uncertainty,
    worth,
)
from tfdistil.tasks import Prediction


def test_entities_are_the_share_of_words_that_are_in_some():
    assert entities(Prediction(tags=("O", "B-LOC", "I-LOC", "O"))) == 0.5
    assert entities(Prediction(tags=())) == 0.0


def test_uncertainty_is_of_the_text_and_of_the_mean_word():
    of_words = Prediction(tags=("O", "O"), tag_scores=[1.0, 0.5])
    assert uncertainty(of_words) == pytest.approx(0.25)
    assert uncertainty(Prediction(label="yes", label_score=0.9)) == pytest.approx(0.1)
    both = Prediction(tags=("O",), tag_scores=[1.0], label="yes", label_score=0.5)
    assert uncertainty(both) == pytest.approx(0.25)
    assert uncertainty(Prediction(tags=())) == 0.0


def test_a_measure_has_a_name_of_its_own():
    with pytest.raises(ValueError, match="'entities' is registered already"):
        worth("entities", "word")(entities)
    assert WORTHS["entities"].function is entities


VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=40).map(np.array)


@given(VALUES, st.floats(0, 1))
def test_weights_are_1_in_the_mean_and_never_below_the_even_share(values, even):
    weights = draw_weights(values, even)
    assert weights.mean() == pytest.approx(1.0)
    assert weights.min() >= even - 1e-12


@given(VALUES, st.floats(0.01, 1), st.integers(0, 9))
def test_a_pass_has_as_many_rows_each_as_often_as_its_weight_rounded(values, even, seed):
    weights = draw_weights(values, even)
    drawn = draw_weighted(weights, np.random.default_rng(seed))
    assert len(drawn) == len(values)
    times = np.bincount(drawn, minlength=len(values))
    assert (np.abs(times - weights) < 1 + 1e-6).all()


def test_over_many_passes_a_row_comes_as_often_as_its_weight():
    weights = draw_weights(np.array([0.0, 0.1, 0.2, 0.9]), even=0.25)
    generator = np.random.default_rng(0)
    passes = 4000
    drawn = np.concatenate([draw_weighted(weights, generator) for _ in range(passes)])
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / passes, weights, atol=0.03)


def test_nothing_of_worth_is_drawn_evenly():
    np.testing.assert_array_equal(draw_weights(np.zeros(3), even=0.0), np.ones(3))
    assert len(draw_weighted(np.ones(0), np.random.default_rng(0))) == 0


def test_a_crf_says_what_its_best_path_is(task, make_examples, make_featurizer):
    """Scores that say nothing, and steps that forbid all but one label: sure of every word."""
    rows = encode_rows(make_examples(3, seed=1), make_featurizer("pieces", 48), None)
    labels = len(task.outputs[0].labels)
    potentials = np.zeros((labels + 2, labels))
    potentials[:, 0] = 40.0  # whatever stands before it, the first label comes
    crf = {"tags": {"kind": "crf", "constants": {"potentials": potentials.tolist()}}}
    scores = [np.zeros((int(count), labels)) for count in rows.token_counts]
    for decoding, sure in (({}, 1 / labels), (crf, 1.0)):
        said = list(predictions_of(task, decoding, rows, lambda output, text: scores[text]))
        assert [len(one.tags) for one in said] == [len(text) for text in rows.texts]
        for one in said:
            assert uncertainty(one) == pytest.approx(1 - sure, abs=1e-9)
