"""What a word looks like: against the slow oracle, by example, and the laws of the features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.projection import reference
from tests.vectors.phrases import SHAPED
from tfdistil.text.projection import ProjectionSpec, expand, fingerprint_tokens, fingerprints
from tfdistil.text.projection.shape import APOSTROPHES, HYPHENS, shapes
from tfdistil.text.projection.spec import SHAPE_FEATURES
from tfdistil.text.projection.ternary import MAPS

SPECS = [
    *(ProjectionSpec((("ngram", 8), ("murmur", 4)), name, shape=True) for name in MAPS),
    ProjectionSpec((("affix16", 16),), "paper", capitalization=True, eos=True, shape=True),
    ProjectionSpec((("murmur", 4),), normalization="none", lowercase=False, shape=True),
    ProjectionSpec((("murmur", 4084),), shape=True),
]
NAMES = [f"{spec.map}-{spec.families}" for spec in SPECS]
ANY_WORD = st.text(st.characters(exclude_categories=()), max_size=12)
LIKELY_WORD = st.text("aBéÉǅ4٤'’-‐.$東\u0301\u200d ", max_size=9)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # capitals: first, all, mixed; digit, number; hyphen, apostrophe, other; 1, 2-3, 4-6, 7+
        ("Paris", "+--  --  ---  --+-"),
        ("NASA", "++-  --  ---  --+-"),
        ("iPhone", "--+  --  ---  --+-"),
        ("McDonald's", "+-+  --  -+-  ---+"),
        ("42", "---  ++  ---  -+--"),
        ("1,234.56", "---  ++  --+  ---+"),
        ("3D", "++-  +-  ---  -+--"),
        ("-", "---  --  --+  +---"),
        ("well-known", "---  --  +--  ---+"),
        ("-5", "---  ++  --+  -+--"),
        ("U.S.", "++-  --  --+  --+-"),
        ("東", "---  --  ---  +---"),
        ("e\u0301\u200d", "---  --  ---  +---"),
        ("", "---  --  --+  --+-"),  # <null>
    ],
)
def test_shapes_of_words(word, expected):
    features = expand(fingerprints([word], SPECS[0]), SPECS[0].map)[0, -SHAPE_FEATURES:]
    assert "".join("-0+"[sign + 1] for sign in features) == expected.replace(" ", "")


@pytest.mark.parametrize("spec", SPECS, ids=NAMES)
def test_bytes_are_the_oracles(spec):
    for word, row in zip(SHAPED, fingerprints(SHAPED, spec), strict=True):
        assert row.tobytes() == reference.fingerprint(word, spec), repr(word)
    special = ["<EOS>", "<null>"]
    for token, row in zip(special, fingerprint_tokens(special, spec), strict=True):
        assert row.tobytes() == reference.fingerprint(token, spec, special=True)


@settings(max_examples=200, deadline=None)
@given(
    words=st.lists(ANY_WORD | LIKELY_WORD, min_size=1, max_size=6), spec=st.sampled_from(SPECS[:5])
)
def test_any_words(words, spec):
    """One by one, together and with an oracle; the hashed features are those without a shape."""
    found = fingerprints(words, spec)
    for word, row in zip(words, found, strict=True):
        assert row.tobytes() == reference.fingerprint(word, spec)
        assert row.tobytes() == fingerprints([word], spec).tobytes()
    without = fingerprints(words, replace(spec, shape=False))
    np.testing.assert_array_equal(found[:, : spec.hashed // 4], without)
    features = expand(found, spec.map)[:, spec.hashed :]
    assert features.shape == (len(words), SHAPE_FEATURES)
    assert (np.abs(features) == 1).all()
    assert ((features[:, 8:] == 1).sum(axis=1) == 1).all()


def test_every_fact_is_true_of_some_words_and_false_of_others():
    found = shapes(SHAPED)
    assert found.any(axis=0).all()
    assert not found.all(axis=0).any()
    assert len(np.unique(found, axis=0)) > 20


@pytest.mark.parametrize(
    ("one", "two"), [("caf\u00e9", "cafe\u0301"), ("각", "\u1100\u1161\u11a8"), ("İ", "I\u0307")]
)
def test_composed_and_decomposed_words_are_alike(one, two):
    found = fingerprints([one, two], SPECS[0])
    np.testing.assert_array_equal(found[0], found[1])


def test_hyphens_and_apostrophes_are_symbols():
    """Else a word would have fewer symbols than hyphens and apostrophes."""
    assert {reference.kind(c) for c in HYPHENS | APOSTROPHES} == {"SYMBOLS"}
