"""Predictions over words in terms of the text."""

from __future__ import annotations

import pytest

from tfdistil.runtime.result import Result, TextSpan, Word
from tfdistil.tasks.base import Prediction
from tfdistil.text.words import WordSplitter

TEXT = "👍 play smooth  jazz in Köln"
WORDS = WordSplitter().split(TEXT)


def test_spans_have_code_point_offsets_and_geometric_mean_scores():
    tags = ("O", "O", "B-genre", "I-genre", "O", "B-city")
    result = Result.build(TEXT, WORDS, Prediction(tags, (1.0, 1.0, 0.9, 0.4, 1.0, 0.5)))
    assert result.words[2] == Word("smooth", 7, 13)
    genre, city = result.spans
    assert genre == TextSpan("genre", 7, 19, "smooth  jazz", pytest.approx(0.6))
    assert city == TextSpan("city", 23, 27, "Köln", pytest.approx(0.5))


def test_dictionary_leaves_out_what_is_not_there():
    tagged = Result.build("a", [("a", 0, 1)], Prediction(("B-x",), (0.5,)))
    assert tagged.to_dict() == {
        "text": "a",
        "words": ({"text": "a", "start": 0, "end": 1},),
        "tags": ("B-x",),
        "spans": ({"label": "x", "start": 0, "end": 1, "text": "a", "score": pytest.approx(0.5)},),
    }
    labelled = Result.build("", [], Prediction(label="yes", label_score=0.75), second="b")
    assert labelled.to_dict() == {
        "text": "", "words": (), "label": "yes", "label_score": 0.75, "second": "b",
    }  # fmt: skip
