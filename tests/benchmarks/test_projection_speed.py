"""The table of the projection's speed has a line for each family; the words are different."""

from __future__ import annotations

from tfdistil.benchmarks.projection_speed import ALPHABETS, distinct_words, measure, table


def test_words_are_different_and_always_the_same():
    for letters in ALPHABETS.values():
        words = distinct_words(2000, letters)
        assert len({*words}) == len(words) == 2000
        assert words == distinct_words(2000, letters)
        assert {*"".join(words)} <= {*letters}


def test_a_line_for_each_family():
    speeds = measure(["murmur", "ngram"], 32, 100, 1)
    assert [speed.family for speed in speeds] == ["murmur", "ngram"]
    assert all(min(*speed.rates.values(), speed.cached) > 0 for speed in speeds)
    header, _, murmur, ngram = table(speeds).splitlines()
    assert header == "| family | ascii | mixed | cached |"
    assert murmur.startswith("| `murmur` | ")
    assert ngram.count("|") == header.count("|")
