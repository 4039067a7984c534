"""Splits: nothing straddles, nothing depends on the order, nothing leaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfdistil.data.example import Example
from tfdistil.data.readers import read
from tfdistil.data.splits import (
    drop_overlap,
    hold_out,
    overlap,
    sample_in_proportion,
    sentence_key,
    split_dev,
    split_train,
)
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


@given(
    texts=texts,
    shares=st.tuples(st.floats(0.01, 0.5), st.floats(0.01, 0.49)),
    given_dev=st.lists(st.sampled_from("abcx"), max_size=3),
    seed=st.integers(0, 5),
)
def test_train_dev_and_test_split(texts, shares, given_dev, seed):
    """Disjoint and whole, in file order, whatever the order; dev is what it is without test."""
    examples, dev = _examples(*texts), _examples(*given_dev)
    sets = {"train": examples, "dev": dev, "test": [], "transfer": _examples("z")}
    if len({*texts} - {*given_dev}) < (1 if {*texts} & {*given_dev} else 2 if given_dev else 3):
        with pytest.raises(DataError, match=r"cannot split .* into train and (dev|test); give"):
            split_train(sets, *shares, seed)
        return
    found = split_train(sets, *shares, seed)
    assert all(found.values()) == bool(found["dev"])
    assert found["transfer"] == sets["transfer"]
    cut = [*found["train"], *([] if dev else found["dev"]), *found["test"]]
    assert sorted(cut, key=examples.index) == examples
    assert overlap(found["train"], found["test"]) == overlap(found["dev"], found["test"]) == []
    assert found["dev"] == split_train(sets, shares[0], 0, seed)["dev"]
    backwards = split_train(sets | {"train": examples[::-1]}, *shares, seed)
    assert backwards["test"] == found["test"][::-1]


def test_eighty_ten_and_ten_percent_of_all():
    sets = {"train": _examples(*map(str, range(1000))), "dev": [], "test": []}
    found = split_train(sets, 0.1, 0.1, 13)
    assert [len(examples) for examples in found.values()] == [800, 100, 100]
    assert split_train(sets, 0.1, 0.1, 13) == found
    assert split_train(sets, 0.1, 0.1, 14)["test"] != found["test"]


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
    assert dropped == 7
    assert "How are you?" in {example.text for example in transfer}
    assert "How are you?" not in {example.text for example in kept}
    # None of them has the same words: those of the raw text are split at spaces alone.
    written = {"".join(example.words) for example in held}
    assert not [example for example in kept if "".join(example.words) in written]


def _corpus(**sizes: int) -> list[Example]:
    """Files one after another; ``da_2=30`` is a file of 30 Danish sentences."""
    return [
        Example((name, str(n)), language=name.partition("_")[0], source=f"{name}.txt:{n}")
        for name, size in sizes.items()
        for n in range(1, size + 1)
    ]


def _share(examples: Iterable[Example]) -> Counter[str]:
    return Counter(example.source.rpartition(":")[0] for example in examples)


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=6),
    share=st.floats(0.01, 0.5),
    seed=st.integers(0, 3),
)
def test_every_file_and_language_is_held_out_in_proportion(
    sizes: list[int], share: float, seed: int
):
    examples = _corpus(**{f"l{i % 3}_{i}": size for i, size in enumerate(sizes)})
    if len(examples) < 2:
        return
    kept, held = hold_out(examples, share, 1000, seed)
    count = max(1, round(share * len(examples)))
    assert len(held) == count
    assert kept
    assert sorted((*kept, *held), key=examples.index) == examples
    whole, part = _share(examples), _share(held)
    for name, size in whole.items():
        assert abs(part[name] - size * count / len(examples)) < 1, name
    for n in range(3):
        language = sum(e.language == f"l{n}" for e in examples)
        of_it = sum(e.language == f"l{n}" for e in held)
        assert abs(of_it - language * count / len(examples)) < 1
    backwards = hold_out(examples[::-1], share, 1000, seed)
    assert backwards == (kept[::-1], held[::-1])


def test_no_more_is_held_out_than_the_limit():
    kept, held = hold_out(_corpus(da=700, sv=300), 0.1, 50, 13)
    assert (len(kept), _share(held)) == (950, {"da.txt": 35, "sv.txt": 15})
    assert hold_out(_corpus(da=700, sv=300), 0.1, 50, 14)[1] != held


def test_equal_sentences_and_those_that_train_has_are_not_held_out():
    """Otherwise the loss would be taken on what is learnt."""
    examples = _examples("a b", "ab", "c", "d", "d", "d", "e", "f")
    for seed in range(20):
        kept, held = hold_out(examples, 0.4, 9, seed, seen=_examples("e", "f"))
        assert held
        assert not {sentence_key(e) for e in held} & {sentence_key(e) for e in kept}
        assert not {e.words[0] for e in held} & {"e", "f"}


@pytest.mark.parametrize("count", [2, 3, 9])
def test_of_few_sentences_one_is_held_out(count: int):
    kept, held = hold_out(_corpus(da=count), 0.1, 2000, 1)
    assert (len(kept), len(held)) == (count - 1, 1)


@pytest.mark.parametrize(
    ("texts", "seen", "what"),
    [
        ([], [], "takes 2 different ones, got 0"),
        (["a", "a"], [], "takes 2 different ones, got 1"),
        (["a", "b"], ["a", "b"], "all 2 different ones are in train too"),
    ],
)
def test_too_few_to_hold_any_out(texts: list[str], seen: list[str], what: str):
    with pytest.raises(DataError, match=what):
        hold_out(_examples(*texts), 0.1, 2000, 1, seen=_examples(*seen))


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=6),
    share=st.floats(0, 1),
    seed=st.integers(0, 3),
)
def test_a_sample_has_every_file_and_language_in_proportion(
    sizes: list[int], share: float, seed: int
):
    examples = _corpus(**{f"l{i % 3}_{i}": size for i, size in enumerate(sizes)})
    count = round(share * len(examples))
    sample = sample_in_proportion(examples, count, seed)
    assert len(sample) == count
    assert sample == [example for example in examples if example in sample]
    whole, part = _share(examples), _share(sample)
    for name, size in whole.items():
        assert abs(part[name] - size * count / len(examples)) < 1, name
    for n in range(3):
        language = sum(e.language == f"l{n}" for e in examples)
        of_it = sum(e.language == f"l{n}" for e in sample)
        assert abs(of_it - language * count / len(examples)) < 1
    assert sample_in_proportion(examples[::-1], count, seed) == sample[::-1]
    if 0 < count <= len(examples) // 2:  # as many of each as are held out
        _, held = hold_out(examples, 1.0, count, seed)
        assert part == _share(held)


def test_a_greater_sample_goes_on_from_a_smaller_one():
    examples = _corpus(da_1=50, da_2=7, sv_1=31, sv_2=2)
    before: list[Example] = []
    for count in range(len(examples) + 1):
        sample = sample_in_proportion(examples, count, 13)
        gone = _share(example for example in before if example not in sample)
        assert all(number == 1 for number in gone.values())
        before = sample
    assert before == examples
    assert sample_in_proportion(examples, 20, 14) != sample_in_proportion(examples, 20, 13)


def test_a_file_counts_as_much_as_its_weight_and_gives_no_sentence_twice():
    examples = _corpus(da=700, sv=300, fi=10)
    weights = {"da.txt": 1.0, "sv.txt": 7.0, "fi.txt": 1000.0}
    sample = sample_in_proportion(examples, 50, 1, weights.__getitem__)
    assert _share(sample) == {"da.txt": 10, "sv.txt": 30, "fi.txt": 10}
    assert len({sentence_key(example) for example in sample}) == 50
    assert sample_in_proportion(examples, 5000, 1, weights.__getitem__) == examples


def test_what_a_file_has_twice_is_sampled_twice_only_after_all_its_others():
    examples = _examples(*["a b", "ab"] * 40, "c", "d", "e")
    for seed in range(20):
        sample = sample_in_proportion(examples, 4, seed)
        assert {sentence_key(e)[0] for e in sample} == {"ab", "c", "d", "e"}
        assert len(sample_in_proportion(examples, 9, seed)) == 9
