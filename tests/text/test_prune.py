"""Words made of kept pieces are tokenized as before; no id is left over; nothing else changes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tokenizers import Tokenizer, models

from tfdistil.errors import CheckpointError
from tfdistil.text.prune import (
    characters,
    most_frequent_pieces,
    occurring_pieces,
    prune_tokenizer,
)
from tfdistil.text.subwords import SubwordFeaturizer

SEEN = ["the", "lamp", "in", "the", "kitchen", "is", "on"]
FAMILIES = ("wordpiece", "unigram", "byte_level")


@pytest.fixture(params=FAMILIES)
def tokenizer(request) -> Tokenizer:
    original = request.getfixturevalue(request.param)
    copy = Tokenizer.from_str(original.to_str())  # featurizers configure theirs in place
    copy.no_padding()
    return copy


def occurring(tokenizer: Tokenizer, words: list[str]) -> set[int]:
    return occurring_pieces(SubwordFeaturizer.from_tokenizer(tokenizer, 32), [words])


def tokens(tokenizer: Tokenizer, words: list[str]) -> list[str]:
    return tokenizer.encode(words, is_pretokenized=True).tokens


def test_occurring_pieces_are_those_of_the_words(tokenizer):
    found = occurring(tokenizer, [*SEEN, *SEEN])
    one_by_one = {
        i
        for word in SEEN
        for i in tokenizer.encode([word], is_pretokenized=True, add_special_tokens=False).ids
    }
    assert found == one_by_one


def test_words_of_an_earlier_text_do_not_count(wordpiece):
    featurizer = SubwordFeaturizer.from_tokenizer(wordpiece, 32)
    alone = occurring_pieces(featurizer, [SEEN[:1]])
    featurizer.encode(SEEN)
    assert occurring_pieces(featurizer, [SEEN[:1]]) == alone


def test_pieces_of_few_sentences_can_be_left_out(tokenizer):
    featurizer = SubwordFeaturizer.from_tokenizer(tokenizer, 32)
    sentences = [SEEN, ["the", "the", "lamp"], ["lamp"]]
    kept = [occurring_pieces(featurizer, sentences, least) for least in (1, 2, 3, 4)]
    assert kept[0] == occurring(tokenizer, SEEN)
    assert kept[1] == occurring(tokenizer, ["the", "lamp"])
    assert kept[2] == occurring(tokenizer, ["lamp"])
    assert not kept[3]


def test_a_lone_surrogate_is_read_as_the_replacement_character(tokenizer):
    assert occurring(tokenizer, ["\ud800"]) == occurring(tokenizer, ["\ufffd"])


def test_seen_words_keep_their_pieces_and_rows(tokenizer):
    kept = occurring(tokenizer, SEEN)
    pruned, old = prune_tokenizer(tokenizer, kept)
    assert kept <= set(old.tolist())
    assert pruned.get_vocab_size() == len(old) < tokenizer.get_vocab_size()
    assert sorted(pruned.get_vocab().values()) == list(range(len(old)))
    assert tokens(pruned, SEEN) == tokens(tokenizer, SEEN)
    before = tokenizer.encode(SEEN, SEEN[:2], is_pretokenized=True)
    after = pruned.encode(SEEN, SEEN[:2], is_pretokenized=True)
    assert [int(old[i]) for i in after.ids] == before.ids  # special tokens too
    for piece, new in pruned.get_vocab().items():
        assert tokenizer.token_to_id(piece) == old[new]


def test_other_words_fall_apart_into_kept_pieces(tokenizer):
    pruned, old = prune_tokenizer(tokenizer, occurring(tokenizer, SEEN))
    word = max((w for w in tokenizer.get_vocab() if w.isalpha()), key=lambda w: (len(w), w))
    found = pruned.encode([word], is_pretokenized=True, add_special_tokens=False)
    assert len(found.ids) > 1
    assert max(found.ids) < len(old)


def test_single_characters_stay_where_they_are_seen(tokenizer):
    """Of bytes, which no text shows, all stay; so does the mark of a word's beginning."""
    kept = occurring(tokenizer, SEEN)
    seen = characters(tokenizer, SEEN)
    pruned, old = prune_tokenizer(tokenizer, kept, seen)
    every, of_all = prune_tokenizer(tokenizer, kept)
    assert set(old.tolist()) <= set(of_all.tolist())
    assert tokens(pruned, SEEN) == tokens(tokenizer, SEEN)
    anagram = ["".join(sorted("".join(SEEN)))]
    assert tokens(pruned, anagram) == tokens(every, anagram)
    singles = {p.removeprefix("##") for p in pruned.get_vocab() if len(p.removeprefix("##")) == 1}
    if json.loads(tokenizer.to_str())["model"]["type"] != "BPE":
        assert singles <= seen | {"▁"}
        assert len(old) < len(of_all)


OFTEN = [SEEN, ["the", "the", "lamp"], ["lamp"]]


def most_frequent(tokenizer: Tokenizer, number: int, least: int = 1) -> tuple[Tokenizer, set[int]]:
    featurizer = SubwordFeaturizer.from_tokenizer(tokenizer, 32)
    pruned, old = prune_tokenizer(
        tokenizer, *most_frequent_pieces(featurizer, OFTEN, number, least)
    )
    return pruned, {*old.tolist()}


def fewest(tokenizer: Tokenizer) -> int:
    """How many pieces the special ones and the characters are."""
    featurizer = SubwordFeaturizer.from_tokenizer(tokenizer, 32)
    seen = characters(tokenizer, SEEN)
    return len(prune_tokenizer(tokenizer, {*featurizer.special_ids()}, seen)[1])


def test_so_many_of_the_most_frequent_pieces_stay(tokenizer):
    least = fewest(tokenizer)
    before: set[int] = set()
    for number in range(least, least + len(occurring(tokenizer, SEEN)) + 1):
        pruned, old = most_frequent(tokenizer, number)
        assert pruned.get_vocab_size() == len(old)
        if json.loads(tokenizer.to_str())["model"]["type"] != "BPE":  # which keeps parts of pieces
            assert len(old) <= number
        assert before <= old
        before = old
    assert tokens(pruned, SEEN) == tokens(tokenizer, SEEN)
    assert occurring(tokenizer, SEEN) <= old


def test_room_that_is_left_has_other_characters(tokenizer):
    needed = len(most_frequent(tokenizer, fewest(tokenizer))[1] | occurring(tokenizer, SEEN))
    of_bytes = json.loads(tokenizer.to_str())["model"]["type"] == "BPE"
    for room in (0, 1, 2, 7):
        pruned, old = most_frequent(tokenizer, needed + room)
        assert tokens(pruned, SEEN) == tokens(tokenizer, SEEN)
        assert of_bytes or needed <= len(old) <= needed + room
    everything = most_frequent(tokenizer, 10_000)[1]
    assert {*prune_tokenizer(tokenizer, ())[1].tolist()} <= everything  # all characters


def test_a_piece_of_more_sentences_stays_before_one_of_fewer(tokenizer):
    """`lamp` is in three sentences, `the` in two (three times), all others in one."""
    lamp, both = (occurring(tokenizer, words) for words in (["lamp"], ["the", "lamp"]))
    _, least = most_frequent(tokenizer, fewest(tokenizer))
    first = [
        most_frequent(tokenizer, fewest(tokenizer) + more)[1] for more in range(1, 1 + len(both))
    ]
    assert lamp - least <= first[max(0, len(lamp - least) - 1)]
    assert both <= first[-1]


def test_rare_pieces_go_whatever_the_number(tokenizer):
    _, all_of_two = most_frequent(tokenizer, 10_000, least=2)
    assert occurring(tokenizer, ["the", "lamp"]) <= all_of_two
    _, everything = most_frequent(tokenizer, 10_000)
    assert all_of_two < everything


def test_characters_need_a_number_of_pieces(tokenizer):
    most_frequent(tokenizer, fewest(tokenizer))
    with pytest.raises(ValueError, match=f"characters of {fewest(tokenizer):,} pieces"):
        most_frequent(tokenizer, fewest(tokenizer) - 1)


def test_all_pieces_kept_is_the_same_tokenizer(tokenizer):
    pruned, old = prune_tokenizer(tokenizer, tokenizer.get_vocab().values())
    np.testing.assert_array_equal(old, np.arange(tokenizer.get_vocab_size()))
    assert json.loads(pruned.to_str()) == json.loads(tokenizer.to_str())


def test_a_featurizer_finds_its_special_tokens(tokenizer):
    pruned, old = prune_tokenizer(tokenizer, occurring(tokenizer, SEEN))
    before = SubwordFeaturizer.from_tokenizer(tokenizer, 32)
    after = SubwordFeaturizer.from_tokenizer(pruned, 32)
    for name in ("cls", "sep", "pad", "unk"):
        assert old[getattr(after, name)] == getattr(before, name)
    ids = after.encode(SEEN)[0].inputs["input_ids"]
    np.testing.assert_array_equal(old[ids], before.encode(SEEN)[0].inputs["input_ids"])


def test_unknown_characters_are_still_unknown(wordpiece):
    pruned, _ = prune_tokenizer(wordpiece, occurring(wordpiece, SEEN))
    assert tokens(pruned, ["\u0f40"])[1:-1] == ["[UNK]"]


def test_another_kind_of_vocabulary_is_refused():
    words = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    with pytest.raises(CheckpointError, match="WordLevel vocabulary cannot be pruned"):
        prune_tokenizer(words, {0})
