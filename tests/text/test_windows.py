"""Cutting long texts: every word once, in order, where it sees most."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from tfdistil.text.windows import stretches, truncate_pair


@st.composite
def cases(draw):
    budget = draw(st.integers(1, 12))
    overlap = draw(st.integers(0, budget - 1))
    lengths = draw(st.lists(st.integers(1, budget), max_size=60))
    return lengths, budget, overlap


@given(cases())
def test_every_word_is_owned_once_in_order(case):
    lengths, budget, overlap = case
    found = stretches(lengths, budget, overlap)
    assert [w for s in found for w in range(*s.owned)] == [*range(len(lengths))]
    for stretch in found:
        assert sum(lengths[slice(*stretch.shown)]) <= budget
        assert stretch.shown[0] <= stretch.owned[0] <= stretch.owned[1] <= stretch.shown[1]


@given(cases())
def test_the_owner_gives_most_context(case):
    lengths, budget, overlap = case
    found = stretches(lengths, budget, overlap)

    def context(stretch, word):
        first, end = stretch.shown
        return min(sum(lengths[first:word]), sum(lengths[word + 1 : end]))

    for stretch in found:
        for word in range(*stretch.owned):
            others = [s for s in found if s.shown[0] <= word < s.shown[1]]
            assert context(stretch, word) == max(context(s, word) for s in others)


@given(cases())
def test_neighbours_share_what_fits_into_the_overlap(case):
    lengths, budget, overlap = case
    found = stretches(lengths, budget, overlap)
    for one, two in pairwise(found[:-1]):  # the last one reaches back
        assert sum(lengths[two.shown[0] : one.shown[1]]) <= overlap


@given(cases())
def test_the_last_stretch_reaches_back_as_far_as_it_can(case):
    lengths, budget, overlap = case
    first, end = stretches(lengths, budget, overlap)[-1].shown
    assert end == len(lengths)
    assert first == 0 or sum(lengths[first - 1 :]) > budget


def test_short_text_is_one_stretch():
    (stretch,) = stretches([1, 2, 1], 4, 2)
    assert stretch.shown == stretch.owned == (0, 3)
    (empty,) = stretches([], 4, 2)
    assert empty.owned == (0, 0)


def test_a_long_text_by_hand():
    found = stretches([1] * 10, 6, 2)
    assert [s.shown for s in found] == [(0, 6), (4, 10)]
    assert [s.owned for s in found] == [(0, 5), (5, 10)]


def test_overlap_shrinks_to_make_room_for_a_long_word():
    found = stretches([1, 1, 1, 4], 4, 3)
    assert [s.shown for s in found] == [(0, 3), (3, 4)]


@given(st.integers(0, 30), st.integers(0, 30), st.integers(2, 20))
def test_truncation_is_that_of_the_tokenizers_library(first, second, budget):
    tokenizer = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(budget, strategy="longest_first")
    sides = tokenizer.encode(["a"] * first, ["a"] * second, is_pretokenized=True).sequence_ids
    assert truncate_pair(first, second, budget) == (sides.count(0), sides.count(1))
