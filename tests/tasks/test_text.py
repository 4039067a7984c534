"""The cloze test: what is hidden, and what a guess is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.data.example import Example
from tfdistil.tasks import Prediction, Text, constant_score, task_from_json
from tfdistil.tasks.text import HIDDEN, hidden_words

TEXTS = [
    tuple(f"{word}{number}" for word in ("the", "sun", "is", "a", "star") * number)
    for number in range(1, 30)
]


def examples(texts=TEXTS):
    return [Example(words) for words in texts]


def guessed(words, right, probability=0.25):
    """A prediction that finds so many of the hidden words."""
    tags, scores = [""] * len(words), [1.0] * len(words)
    for number, place in enumerate(hidden_words(words)):
        tags[place] = words[place] if number < right else "other"
        scores[place] = probability
    return Prediction(tags=tuple(tags), tag_scores=tuple(scores))


@given(st.lists(st.text(max_size=4), max_size=60))
def test_what_is_hidden_depends_on_the_text_alone(words):
    places = hidden_words(words)
    np.testing.assert_array_equal(places, hidden_words(tuple(words)))
    assert len(places) == (max(1, round(HIDDEN * len(words))) if words else 0)
    assert list(places) == sorted({*places.tolist()})
    assert all(0 <= place < len(words) for place in places)


def test_every_place_is_hidden_as_often_as_any_other():
    hidden = np.zeros(20)
    for number in range(4000):
        hidden[hidden_words((*"abcdefghijklmnopqrs", str(number)))] += 1
    # 3 of 20 are hidden; the error of a share is √(0.15 * 0.85 / 4000) = 0.0056, four of them.
    np.testing.assert_allclose(hidden / 4000, 0.15, atol=0.023)


def test_the_share_of_hidden_words_and_the_bits_of_their_bytes():
    task, texts = Text(), examples()
    predictions = [guessed(e.words, right=i % 3) for i, e in enumerate(texts)]
    hidden = [[e.words[p] for p in hidden_words(e.words)] for e in texts]
    right = sum(min(i % 3, len(words)) for i, words in enumerate(hidden))
    count = sum(map(len, hidden))
    size = sum(len(word.encode()) for words in hidden for word in words)
    found = task.score(texts, predictions)
    assert found["words_guessed"] == pytest.approx(100 * right / count)
    assert found["bits_per_byte"] == pytest.approx(2 * count / size)  # -log2 of a quarter is 2
    statistics = task.statistics(texts, predictions)
    assert statistics.score(statistics.sums.sum(0)) == pytest.approx(found["words_guessed"])


def test_a_word_of_no_probability_has_bits_that_are_a_number():
    (text,) = examples([("sun",)])
    assert np.isfinite(Text().score([text], [guessed(text.words, 0, 0.0)])["bits_per_byte"])


def test_no_text_at_all():
    assert Text().score([], []) == {"words_guessed": 0.0, "bits_per_byte": 0.0}
    empty = Example(())
    assert Text().score([empty], [Prediction(tags=())])["words_guessed"] == 0
    assert constant_score(Text(), [empty]) == 0


def test_the_constant_answer_is_the_most_frequent_hidden_word():
    texts = examples([("the",)] * 3 + [("a",)])
    assert constant_score(Text(), texts) == 75


def test_there_are_no_labels_to_learn_or_to_write_down():
    task = task_from_json(Text().to_json())
    assert isinstance(task, Text)
    assert (task.outputs, task.targets(Example(("a",), ("O",), "x"))) == ((), {})
    assert task.label_scores([], []) == {}
    assert task.reads == {"mlm"}
