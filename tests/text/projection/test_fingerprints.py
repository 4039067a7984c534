"""Fingerprints against the slow oracle, the published values, and the laws of the projection."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.projection import reference
from tfdistil.text.projection import (
    FingerprintCache,
    ProjectionSpec,
    expand,
    fingerprint_tokens,
    fingerprints,
    ternary_table,
)
from tfdistil.text.projection.spec import FAMILIES
from tfdistil.text.projection.ternary import MAPS

WORDS = [
    *("a", "hello", "Hello", "HELLO", "abcdefg", "abcdefgh", "abcdefghi", "x" * 16, "y" * 200),
    *("", "<null>", "<EOS>", "<eos>", "don't", "10:30", "3.5", " ", "\x00", "\x7f"),
    *("ß", "ẞ", "İ", "ı", "Σ", "ς", "ΟΔΟΣ", "ŉ", "Ǆ", "ǅ", "Ꭰ", "Ა", "K", "Å", "ﬁ"),
    *(
        "é",
        "e\u0301",
        "\u0301",
        "क\u093c",
        "क़",
        "각",
        "\u1100\u1161\u11a8",
        "\u212b",
        "だ",
        "た\u3099",
    ),
    *("東", "ไปกรุงเทพ", "नमस्ते", "Привет", "שלום", "مرحبا", "👨‍👩‍👧", "🇩🇪", "𐐀", "𝒳"),
    *("\ud800", "a\udfffB", "\ufffd", "\U0010ffff", "\u0220", "e\u0301\ua7c7"),
]
FAMILY_SPECS = [ProjectionSpec(((name, 40),)) for name in FAMILIES]
MIXED = (("ngram", 36), ("murmur", 100), ("affix16", 8))
SPECS = [
    *FAMILY_SPECS,
    *(ProjectionSpec(MIXED, name, capitalization=True) for name in MAPS),
    *(
        ProjectionSpec(MIXED, "paper", lowercase=cased, normalization="none")
        for cased in (False, True)
    ),
    ProjectionSpec((("murmur", 4),), capitalization=True),
    ProjectionSpec((("murmur", 4096),)),
    ProjectionSpec((("affix8", 2044), ("ngram", 2052)), eos=True),
]
SPEC_NAMES = [f"{spec.map}-{spec.families}" for spec in SPECS]
ANY_WORD = st.text(st.characters(exclude_categories=()), max_size=30)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("hello", [0, 1, 1, 0]), ("world", [0, 1, 0, 0]), ("h", [0, 0, 1, 0]), ("w", [1, 0, 1, 0])],
)
def test_published_values(word, expected):
    spec = ProjectionSpec((("murmur", 4),))
    assert expand(fingerprints([word], spec), "operator").tolist() == [expected]


def test_published_value_of_the_end():
    found = fingerprint_tokens(["<EOS>"], ProjectionSpec((("murmur", 4),)))
    assert expand(found, "operator").tolist() == [[0, 1, 0, 0]]


@pytest.mark.parametrize("spec", SPECS, ids=SPEC_NAMES)
def test_bytes_are_the_oracles(spec):
    found = fingerprints(WORDS, spec)
    assert found.dtype == np.uint8
    assert found.shape == (len(WORDS), spec.token_bytes)
    for word, row in zip(WORDS, found, strict=True):
        assert row.tobytes() == reference.fingerprint(word, spec), repr(word)
    special = fingerprint_tokens(["<EOS>", "<null>"], spec)
    for token, row in zip(["<EOS>", "<null>"], special, strict=True):
        assert row.tobytes() == reference.fingerprint(token, spec, special=True)


@pytest.mark.parametrize("spec", FAMILY_SPECS, ids=FAMILIES)
def test_a_very_long_word(spec):
    spec = ProjectionSpec(((spec.families[0][0], 8),))
    for word in ("a" * 10_000, "äb" * 1001):
        assert fingerprints([word], spec).tobytes() == reference.fingerprint(word, spec)


@settings(max_examples=60, deadline=None)
@given(words=st.lists(ANY_WORD, max_size=8), spec=st.sampled_from(SPECS[:8]))
def test_any_words(words, spec):
    """One by one, together and with an oracle: always the same bytes, nothing raises."""
    found = fingerprints(words, spec)
    for word, row in zip(words, found, strict=True):
        assert row.tobytes() == reference.fingerprint(word, spec)
        assert row.tobytes() == fingerprints([word], spec).tobytes()


def test_more_words_than_a_block():
    """Words in many blocks of the vectorised code have the bytes of each alone."""
    words = [f"w{i}é" if i % 3 else f"{i}" * (i % 23 + 1) for i in range(10_000)]
    for name in FAMILIES:
        spec = ProjectionSpec(((name, 64),))
        found = fingerprints(words, spec)
        for at in (0, 1, 2047, 2048, 4095, 4096, 8191, 8192, 9999):
            assert found[at].tobytes() == reference.fingerprint(words[at], spec)


@pytest.mark.parametrize("name", FAMILIES)
def test_fewer_features_are_the_first_ones(name):
    many = fingerprints(WORDS, ProjectionSpec(((name, 512),)))
    for features in (4, 28, 60, 64, 68, 260):
        few = fingerprints(WORDS, ProjectionSpec(((name, features),)))
        np.testing.assert_array_equal(few, many[:, : features // 4])


def test_a_mixture_is_its_parts_side_by_side():
    parts = [fingerprints(WORDS, ProjectionSpec((part,))) for part in MIXED]
    mixed = fingerprints(WORDS, ProjectionSpec(MIXED))
    np.testing.assert_array_equal(mixed, np.concatenate(parts, axis=1))


def test_signs_of_ngrams_are_those_of_every_map():
    features = [
        expand(fingerprints(WORDS, ProjectionSpec((("ngram", 128),), name)), name) for name in MAPS
    ]
    for other in features[1:]:
        np.testing.assert_array_equal(other, features[0])
    assert (features[0] != 0).any()


def test_case_and_capitals():
    spec = ProjectionSpec((("murmur", 64),), capitalization=True)
    words = ["paris", "Paris", "PARIS", "iPhone", "3D", "'Tis", "東", "42", "U.S.", "élan", "Élan"]
    found = fingerprints(words, spec)
    flags = expand(found, "operator")[:, -2:].tolist()
    assert flags == [
        [-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [1, -1],
        [-1, -1], [-1, -1], [1, 1], [-1, -1], [1, -1],
    ]  # fmt: skip
    plain = fingerprints(words, ProjectionSpec((("murmur", 64),)))
    np.testing.assert_array_equal(found[:, :-1], plain[:, :-1])
    assert (plain[0] == plain[1]).all()
    cased = fingerprints(words, ProjectionSpec((("murmur", 64),), lowercase=False))
    assert len(np.unique(cased[:3], axis=0)) == 3


def test_composed_and_decomposed():
    words = ["caf\u00e9", "cafe\u0301"]
    one, two = fingerprints(words, ProjectionSpec())
    assert (one == two).all()
    one, two = fingerprints(words, ProjectionSpec(normalization="none"))
    assert (one != two).any()


@pytest.fixture(scope="module")
def distinct() -> list[str]:
    """50,000 different tokens of 1 to 18 letters and digits."""
    rng = np.random.default_rng(11)
    letters = np.array([*"abcdefghijklmnopqrstuvwxyz0123456789éßжא東"])
    words = {"".join(rng.choice(letters, size)) for size in rng.integers(1, 19, 60_000)}
    return sorted(words)[:50_000]


@pytest.mark.parametrize("map_name", MAPS)
def test_statistics_of_murmur(distinct, map_name):
    """Kaliamoorthi et al. 2021, section 3.4.1: density, orthogonality and norm."""
    assert len({*distinct}) == 50_000
    size = 1024
    spec = ProjectionSpec((("murmur", size),), map_name)
    found = fingerprints(distinct, spec)
    counts = np.bincount(found.ravel(), minlength=256)
    values = ternary_table(map_name)
    shares = [counts @ (values == value).sum(1) / found.size / 4 for value in (0, 1, -1)]
    if map_name == "unbalanced":
        np.testing.assert_allclose(shares, [0.25, 0.5, 0.25], rtol=0.01)
        return
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], rtol=0.01)
    # Every token with 50 others: 2.5 million pairs.
    chosen = expand(found[::1000], map_name).astype(np.float32)
    lengths = np.linalg.norm(chosen, axis=1)
    norms, cosines = [], []
    for first in range(0, len(found), 5000):
        x = expand(found[first : first + 5000], map_name).astype(np.float32)
        norms.append(np.linalg.norm(x, axis=1))
        cosines.append(np.abs(x @ chosen.T) / norms[-1][:, None] / lengths)
    assert np.mean(norms) == pytest.approx(math.sqrt(size / 2), rel=0.01)
    pairs = np.concatenate(cosines)
    different = pairs.size - len(chosen)
    mean = (pairs.sum(dtype=np.float64) - len(chosen)) / different  # without each with itself
    assert mean == pytest.approx(math.sqrt(2 / (math.pi * size)), rel=0.02)


def test_tokens_do_not_collide(distinct):
    for name in FAMILIES:
        words = distinct[:5000]
        found = fingerprints(words, ProjectionSpec(((name, 512),)))
        assert len(np.unique(found, axis=0)) == len(words)


def cosine(one: str, two: str, name: str) -> float:
    x = expand(fingerprints([one, two], ProjectionSpec(((name, 4096),))), "operator").astype(float)
    return float(x[0] @ x[1] / np.linalg.norm(x[0]) / np.linalg.norm(x[1]))


def test_words_that_share_pieces_are_near_in_ngram_only():
    assert cosine("playing", "played", "ngram") > 0.3
    assert cosine("Reservierung", "Reservierungen", "ngram") > 0.6
    assert abs(cosine("playing", "tomorrow", "ngram")) < 0.1
    assert abs(cosine("playing", "played", "murmur")) < 0.1


def test_affixes_keep_prefix_and_suffix():
    """With 8 bits a step, code by code: a byte of a prefix decides about its own bits."""
    spec = ProjectionSpec((("affix8", 64),))
    one, two = (row.tobytes() for row in fingerprints(["abcdefgh", "abcdxxgh"], spec))
    # The last 8 steps of the low code are bytes 1 to 7, the newest lowest; 4 and 5 differ.
    low_one, low_two = one[:8], two[:8]
    assert [a == b for a, b in zip(low_one, low_two, strict=True)] == [
        True, False, False, True, True, True, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize("kept", [0, 3, 100])
def test_cache_changes_nothing(kept):
    cached = FingerprintCache(SPECS[5], kept)
    expected = fingerprints(WORDS, SPECS[5])
    for _ in range(2):
        np.testing.assert_array_equal(cached(WORDS), expected)
        for at in range(len(WORDS) - 3):
            again = WORDS[at : at + 3] + WORDS[at : at + 1]
            np.testing.assert_array_equal(cached(again), expected[[at, at + 1, at + 2, at]])
        assert len(cached._known) <= kept


def test_cache_keeps_no_long_words():
    cached = FingerprintCache(ProjectionSpec(), 10)
    cached(["a", "b" * 1000])
    assert [*cached._known] == ["a"]


def test_threads_share_a_cache():
    cached = FingerprintCache(FAMILY_SPECS[0], 40)
    words = [f"w{i}" for i in range(100)]
    expected = fingerprints(words, cached.spec)
    wrong = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            chosen = rng.integers(0, len(words), 10)
            if (cached([words[i] for i in chosen]) != expected[chosen]).any():
                wrong.append(chosen)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
