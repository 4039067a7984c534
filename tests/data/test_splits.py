"""Splits: nothing straddles, nothing depends on the order, nothing leaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.data.example import Example
from tfdistil.data.readers import read
from tfdistil.data.splits import drop_overlap, overlap, sentence_key, split_dev
from tfdistil.errors import DataError


def _examples(*texts: str) -> list[Example]:
    return [Example(tuple(text.split()), source=f"f:{n}") for n, text in enumerate(texts, 1)]


texts = st.lists(st.sampled_from("abcdefghij"), min_size=2, max_size=60)


@given(texts=texts, fraction=st.floats(0.01, 0.99), seed=st.integers(0, 5))
def test_dev_split(texts: list[str], fraction: float, seed: int):
    examples = _examples(*texts)
    if len(set(texts)) < 2:
        with pytest.raises(DataError, match="1 different"):
            split_dev(examples, fraction, seed)
        return
    train, dev = split_dev(examples, fraction, seed)
    assert train
    assert dev
    assert sorted((*train, *dev), key=examples.index) == examples
    assert overlap(train, dev) == []
    backwards = split_dev(examples[::-1], fraction, seed)
    assert backwards == (train[::-1], dev[::-1])


def test_the_dev_split_is_about_as_large_as_asked_for():
    examples = _examples(*map(str, range(1000)))
    train, dev = split_dev(examples, 0.1, 13)
    assert (len(train), len(dev)) == (900, 100)
    assert dev == [example for example in examples if example in dev]
    assert split_dev(examples, 0.1, 14)[1] != dev


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5])
def test_fractions_outside_are_refused(fraction: float):
    with pytest.raises(DataError, match="dev fraction"):
        split_dev(_examples("a", "b"), fraction)


def test_equal_words_are_the_same_sentence_whatever_the_labels():
    one = Example(("a", "b"), ("O", "B-X"), "c")
    assert sentence_key(one) == sentence_key(Example(("a", "b")))
    assert sentence_key(one) != sentence_key(Example(("a",), second=("b",)))
    assert sentence_key(one) != sentence_key(Example(("A", "b")))


def test_transfer_text_that_occurs_in_test_is_dropped():
    transfer = _examples("Is it?", "it is", "Yes !", "Is it?")
    kept, dropped = drop_overlap(transfer, _examples("Is it ?", "Yes !"))
    assert [example.words for example in kept] == [("it", "is")]
    assert dropped == 3


def test_overlap_names_the_test_examples():
    assert overlap(_examples("a b", "c"), _examples("c", "d", "a b", "c")) == [0, 2, 3]


def test_raw_text_matches_tokenized_sentences(shared_data: Path):
    held = [
        example
        for split in ("dev", "test")
        for example in read(
            shared_data / "uner_en_ewt" / f"en_ewt-ud-{split}.iob2", word=1, tag=2
        ).examples
    ]
    transfer = read(shared_data / "english_text" / "tatoeba.txt").examples
    kept, dropped = drop_overlap(transfer, held)
    assert dropped > 0
    assert "Thank you." not in {example.text for example in kept}
    words = {example.key() for example in held}
    assert not any(example.key() in words for example in transfer)
