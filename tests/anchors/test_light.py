"""Light models on sentences whose rule is known, and their features against a written example."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tfdistil.allocator import keep_freed_memory
from tfdistil.anchors import fasttext_model
from tfdistil.anchors.fasttext_model import FastText
from tfdistil.anchors.light import LightAnchor
from tfdistil.anchors.naive import Majority, SecondText
from tfdistil.anchors.word_features import shape, word_features
from tfdistil.data.example import Example
from tfdistil.data.readers.tags import repair_iob2
from tfdistil.errors import RunError
from tfdistil.tasks import TASKS, Prediction
from tfdistil.tasks.iob2 import allowed_transitions


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("McDonald's", "XxXx'x"),
        ("2021", "0"),
        ("B2B", "X0X"),
        ("", ""),
        ("東京", "x"),
        ("a--b", "x-x"),
    ],
)
def test_shapes(word, expected):
    assert shape(word) == expected


def test_features_of_a_word():
    first, second = word_features(["Ada", "ate"])
    assert set(first) == {
        *("bias", "w=ada", "s=Xx", "p=A", "e=a", "p=Ad", "e=da", "p=Ada", "e=Ada"),
        *("-2none", "-1none", "1w=ate", "1s=x", "2none"),
    }
    assert {"-2none", "-1w=ada", "-1s=Xx", "1none", "2none", "w=ate"} <= set(second)
    assert word_features([]) == []


def test_stray_tags_begin_an_entity():
    found, _ = repair_iob2(["I-A", "I-A", "O", "B-A", "I-B"])
    assert tuple(found) == ("B-A", "I-A", "O", "B-A", "B-B")


NAMES = ["Ada", "Grace", "Alan", "Kurt", "Emmy", "Alonzo", "Haskell", "Edsger"]


def _sentence(name: str, label: str | None = None) -> Example:
    verb = "met" if label == "past" else "meets"
    words = ("today", name, "Moorison", verb, "friends")
    return Example(words, tags=("O", "B-PER", "I-PER", "O", "O"), label=label)


def test_the_tagger_finds_names_that_it_has_not_seen():
    train = [_sentence(name) for name in NAMES[:6]]
    anchor = LightAnchor(TASKS["tags"].from_examples(train), train, 13)
    unseen = [_sentence(name) for name in NAMES[6:]] + [Example((), tags=())]
    assert anchor.predict(unseen) == [Prediction(tags=e.tags) for e in unseen]
    assert anchor.bytes > 0
    assert "CRF" in str(anchor)
    again = LightAnchor(TASKS["tags"].from_examples(train), train, 13)
    assert again.predict(unseen) == anchor.predict(unseen)
    assert again.bytes == anchor.bytes


def test_tags_are_legal_whatever_was_learnt():
    odd = [Example(("x", "y"), tags=("O", "I-A")), Example(("y", "x"), tags=("B-B", "I-A"))] * 3
    anchor = LightAnchor(TASKS["tags"].from_examples(odd), odd, 13)
    (found,) = anchor.predict([Example(("x", "y", "y", "x"))])
    labels = ["O", "B-A", "I-A", "B-B", "I-B"]
    start, follow = allowed_transitions(labels)
    ids = [labels.index(tag) for tag in found.tags]
    assert start[ids[0]]
    assert all(follow[a, b] for a, b in pairwise(ids))


def test_intents_and_slots_take_both():
    train = [_sentence(name, label) for name in NAMES[:6] for label in ("past", "now")]
    task = TASKS["intent_slots"].from_examples(train)
    anchor = LightAnchor(task, train, 13)
    unseen = [_sentence(name, label) for name in NAMES[6:] for label in ("past", "now")]
    assert task.score(unseen, anchor.predict(unseen))[task.metric] == 100.0
    assert "CRF on affixes and shapes, TF-IDF" in str(anchor)


def test_classes_have_no_tags():
    train = [Example((word, "thing"), label=word) for word in ("good", "bad")] * 3
    task = TASKS["classes"].from_examples(train)
    (found,) = LightAnchor(task, train, 13).predict([Example(("bad", "one"))])
    assert found == Prediction(label="bad")


def test_pairs_have_none():
    pair = [Example(("a",), label=label, second=("b",)) for label in "xy"]
    with pytest.raises(RunError, match="no light anchor for pairs"):
        LightAnchor(TASKS["pair"].from_examples(pair), pair, 13)


def test_fasttext_reads_labels_and_texts_as_they_are():
    pytest.importorskip("fasttext")
    pairs = {"good": "a b", "bad": "__label__good"}
    train = [Example((word, f"thing{n}"), label=pairs[word]) for word in pairs for n in range(9)]
    task = TASKS["classes"].from_examples(train)
    anchor = FastText(task, train, 13)
    texts = [Example((word, "one"), label=label) for word, label in pairs.items()]
    assert anchor.predict(texts) == [Prediction(label=e.label) for e in texts]
    odd = [Example(()), Example(("\x1f1\n", "\ud800")), Example(("__label__a",))]
    assert {one.label for one in anchor.predict(odd)} <= {*pairs.values()}
    assert anchor.predict([]) == []
    assert str(anchor).startswith("fastText, ")
    assert FastText(task, train, 13).predict(odd) == anchor.predict(odd)
    ended = [Example(("</s>", word), label=label) for word, label in pairs.items()]
    assert FastText(task, ended * 9, 2**32 - 1).predict(ended) == [
        Prediction(label=e.label) for e in ended
    ]
    tagged, both = [_sentence("Ada")], [Example(("a",), label="x", second=("b",))]
    with pytest.raises(RunError, match="for tags and slots there is light"):
        FastText(TASKS["tags"].from_examples(tagged), tagged, 13)
    with pytest.raises(RunError, match="for pairs there are majority and second"):
        FastText(TASKS["pair"].from_examples(both), both, 13)


def test_fasttext_is_the_same_in_memory_that_was_used_before(monkeypatch):
    """It sets a tenth of its vectors; freed memory full of NaN must not become the others."""
    pytest.importorskip("fasttext")
    train = [Example((f"word{n}", "b" * (n % 3)), label=f"{n % 2}") for n in range(30)]
    task = TASKS["classes"].from_examples(train)
    keep_freed_memory()
    found = []
    for fill in ("0", "165"):
        monkeypatch.setenv("MALLOC_PERTURB_", fill)
        used = [np.full(8_000_000, np.nan, np.float32) for _ in range(4)]
        del used
        vectors = FastText(task, train, 13)._model.get_input_matrix()
        assert np.isfinite(vectors).all()
        found.append(vectors)
    np.testing.assert_array_equal(*found)


def test_fasttext_says_why_it_did_not_learn(monkeypatch):
    pytest.importorskip("fasttext")
    monkeypatch.setitem(fasttext_model._TRAINING, "loss", "none")
    train = [Example(("a",), label="x"), Example(("b",), label="y")]
    with pytest.raises(RunError, match=r"did not learn these labels: .*loss"):
        FastText(TASKS["classes"].from_examples(train), train, 13)


LABELS = ["no", "yes", "yes", "perhaps"]


def _pairs(labels):
    return [
        Example((name, "ate"), label=label, second=("so", label))
        for name, label in zip(NAMES, labels, strict=False)
    ]


def test_the_majority_reads_nothing():
    train = _pairs(LABELS)
    anchor = Majority(TASKS["pair"].from_examples(train), train, 13)
    assert str(anchor) == "always yes, 50 % of train"
    assert anchor.predict(_pairs(["no", "yes"])) == [Prediction(label="yes")] * 2
    tied = Majority(TASKS["pair"].from_examples(train), _pairs(["b", "a", "b", "a"]), 13)
    assert tied.label == "a"
    tagged = [_sentence("Ada")]
    with pytest.raises(RunError, match="for tags and slots there is light"):
        Majority(TASKS["tags"].from_examples(tagged), tagged, 13)


def test_the_second_text_alone():
    train = _pairs(LABELS * 2)
    task = TASKS["pair"].from_examples(train)
    anchor = SecondText(task, train, 13)
    assert str(anchor).startswith("the second text alone, TF-IDF")
    assert [p.label for p in anchor.predict(train)] == LABELS * 2
    others = [Example(("Zoe",), label="no", second=e.second) for e in train]
    assert anchor.predict(others) == anchor.predict(train)  # the first text is not seen
    single = [Example((word,), label=word) for word in ("good", "bad")]
    with pytest.raises(RunError, match="for single texts there is light"):
        SecondText(TASKS["classes"].from_examples(single), single, 13)
