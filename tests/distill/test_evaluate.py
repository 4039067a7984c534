"""Predictions of whole texts, whatever their windows, and their scores."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.data.example import Example
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.rows import encode_rows
from tfdistil.encoders import scratch_encoder
from tfdistil.tasks import IntentSlots


@pytest.fixture(scope="module")
def examples(make_examples):
    """Longer than a window of 12 pieces, and one without words."""
    return [*make_examples(30, seed=6, longest=30), Example((), ())]


@pytest.fixture
def rows(examples, make_rows):
    found = make_rows(examples, max_length=12)
    assert len(found) > len(examples)
    return found


def test_each_word_has_the_logits_of_the_window_that_owns_it(make_tagger, rows, examples, task):
    """This tagger sees one piece at a time, so its windows cannot differ from the whole."""
    tagger = make_tagger()
    predictor = Predictor(tagger.model, task, "labels")
    found = predictor.logits(rows)
    for example, logits in zip(examples, found, strict=True):
        words = len(example.words)
        assert logits["tags"].shape == (words, len(task.outputs[0].labels))
        window = tagger.featurizer.encode(example.words)
        ids = np.concatenate([w.inputs["input_ids"][w.tokens] for w in window])
        expected = tagger.model({"input_ids": ids[None]})["labels/tags"][0]
        np.testing.assert_allclose(logits["tags"], expected, atol=1e-5)


def test_predictions_and_scores_are_the_tasks(make_tagger, rows, examples, task):
    predictor = Predictor(make_tagger().model, task, "labels")
    predictions = predictor.predict(rows)
    assert [len(p.tags) for p in predictions] == [len(e.words) for e in examples]
    assert predictions == [task.decode(logits) for logits in predictor.logits(rows)]
    assert predictor.score(rows, examples) == task.score(examples, predictions)


def test_the_predictor_sees_weights_that_change(make_tagger, rows, examples, task):
    """It is made once per stage, and compiled once."""
    tagger = make_tagger()
    predictor = Predictor(tagger.model, task, "labels")
    for seed in (2, 3):
        tagger.model.set_weights(make_tagger(seed).model.get_weights())
        fresh = Predictor(make_tagger(seed).model, task, "labels")
        for mine, theirs in zip(predictor.logits(rows), fresh.logits(rows), strict=True):
            np.testing.assert_allclose(mine["tags"], theirs["tags"], atol=1e-6)


def test_words_and_texts_of_a_teacher(make_examples, make_featurizer):
    examples = [
        Example(e.words, e.tags, "ab"[i % 2]) for i, e in enumerate(make_examples(6, 1, 20))
    ]
    task = IntentSlots.from_examples(examples)
    heads = {o.name: (o.level, len(o.labels)) for o in task.outputs}
    teacher = scratch_encoder(20, hidden_dim=8, layers=1, max_positions=16, outputs=heads, seed=1)
    featurizer = make_featurizer("words", 10, token_types=True)
    rows = encode_rows(examples, featurizer, task)
    found = Predictor(teacher, task, "logits").logits(rows)
    for index, logits in enumerate(found):
        assert logits["slots"].shape == (len(examples[index].words), heads["slots"][1])
        parts = [
            teacher({name: a[None] for name, a in rows.windows[row].inputs.items()})
            for row in rows.rows_of()[index]
        ]
        mean = np.mean([part["logits/intent"][0] for part in parts], axis=0)
        np.testing.assert_allclose(logits["intent"], mean, atol=1e-5)


def test_an_unknown_head_is_named(make_tagger, task):
    with pytest.raises(KeyError, match="logits/tags"):
        Predictor(make_tagger().model, task, "logits")
