"""Spelling noise on hashed words."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tfdistil.data.example import Example
from tfdistil.distill.rows import encode_rows
from tfdistil.distill.spelling import distort, spelling
from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec

SPEC = ProjectionSpec(families=(("murmur", 32),), eos=True)
EXAMPLES = [
    Example(("play", "a", "song", "by", "Nena")),
    Example(("wecker", "für", "morgen")),
    Example(tuple(f"word{n}" for n in range(25))),  # several windows
    Example(()),
]


@pytest.fixture
def featurizer() -> ProjectionFeaturizer:
    return ProjectionFeaturizer(SPEC, 12)


def made(featurizer, probability: float, seed: int = 0):
    rows = encode_rows(EXAMPLES, featurizer, None)
    chosen = list(range(len(rows)))[::-1]
    transform = spelling(featurizer, (), probability)
    before = rows.inputs(chosen)
    after = transform(before, rows.words(chosen), np.random.default_rng(seed))
    return rows, chosen, before, after


def test_a_word_loses_moves_or_copies_one_character():
    generator = np.random.default_rng(1)
    found = Counter(distort("abcd", generator) for _ in range(6000))
    lengths = Counter(len(word) for word in found.elements())
    assert {n: round(count / 6000, 1) for n, count in lengths.items()} == {3: 0.3, 4: 0.3, 5: 0.3}
    assert {w for w in found if len(w) == 3} == {"bcd", "acd", "abd", "abc"}
    assert all(sorted(w) == list("abcd") for w in found if len(w) == 4)
    assert all(sorted(set(w)) == list("abcd") for w in found if len(w) == 5)
    assert distort("a", generator) == "a"


def test_without_probability_nothing_changes(featurizer):
    _, _, before, after = made(featurizer, 0.0)
    assert after is before


def test_every_word_that_is_struck_is_hashed_anew_and_nothing_else_is(featurizer):
    rows, chosen, before, after = made(featurizer, 1.0)
    same = (before["fingerprint"] == after["fingerprint"]).all(-1)
    owned = np.zeros(same.shape, bool)
    for place, row in enumerate(chosen):
        owned[place, rows.windows[row].tokens] = True
    long = owned.copy()
    for place, row in enumerate(chosen):
        window, words = rows.windows[row], EXAMPLES[rows.example[row]].words
        long[place, window.tokens] = [len(w) > 1 for w in words[slice(*window.words)]]
    assert same[~owned].all()  # padding, <EOS>, <null>, and context of other windows
    assert same[owned & ~long].all()
    assert (~same[long]).mean() > 0.7  # moving a character may give the same word again


def test_a_struck_word_is_what_distort_makes_of_it(featurizer, monkeypatch):
    monkeypatch.setattr("tfdistil.distill.spelling.distort", lambda word, _: word.upper() + "!")
    rows, chosen, _, after = made(featurizer, 1.0)
    for place, row in enumerate(chosen):
        window, words = rows.windows[row], EXAMPLES[rows.example[row]].words
        expected = featurizer.hashes([w.upper() + "!" for w in words[slice(*window.words)]])
        np.testing.assert_array_equal(after["fingerprint"][place, window.tokens], expected)


def test_the_share_of_struck_words(featurizer):
    changed, total = 0, 0
    for seed in range(40):
        rows, _, before, after = made(featurizer, 0.2, seed)
        changed += int((before["fingerprint"] != after["fingerprint"]).any(-1).sum())
        total += sum(len(window.tokens) for window in rows.windows)
    assert changed / total == pytest.approx(0.18, abs=0.03)


def test_the_same_seed_makes_the_same_noise(featurizer):
    one, two, other = (made(featurizer, 0.5, seed)[3]["fingerprint"] for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
