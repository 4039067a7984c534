"""Windows of fingerprints: one position for each word, what is no token, and round trips."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfdistil.errors import ModelFileError, RecipeError
from tfdistil.text.projection import (
    ProjectionFeaturizer,
    ProjectionSpec,
    fingerprint_tokens,
    fingerprints,
)
from tfdistil.text.registry import FEATURIZERS, featurizer_from_assets

SPEC = ProjectionSpec((("murmur", 32), ("ngram", 16)), "paper")
WITH_END = ProjectionSpec((("murmur", 48),), eos=True)
SENTENCE = ["Play", "some", "jazz", "in", "München", "東", "", "!"]


def end_of(spec: ProjectionSpec) -> np.ndarray:
    return fingerprint_tokens(["<EOS>"], spec)


def test_one_position_and_unit_for_each_word():
    (window,) = ProjectionFeaturizer(SPEC, 16).encode(SENTENCE)
    np.testing.assert_array_equal(window.inputs["fingerprint"], fingerprints(SENTENCE, SPEC))
    assert window.inputs["fingerprint"].dtype == np.uint8
    assert window.inputs["attention_mask"].tolist() == [1] * 8
    assert window.tokens.tolist() == window.starts.tolist() == [*range(8)]
    assert (window.words, window.dropped, window.length) == ((0, 8), 0, 8)
    arrays = (window.inputs["attention_mask"], window.tokens, window.starts)
    assert all(array.dtype == np.int32 for array in arrays)


def test_the_end_has_no_label():
    (window,) = ProjectionFeaturizer(WITH_END, 16).encode(SENTENCE)
    expected = [fingerprints(SENTENCE, WITH_END), end_of(WITH_END)]
    np.testing.assert_array_equal(window.inputs["fingerprint"], np.concatenate(expected))
    assert window.tokens.tolist() == [*range(8)]


@pytest.mark.parametrize(("spec", "token"), [(SPEC, "<null>"), (WITH_END, "<EOS>")])
def test_no_words(spec, token):
    made = ProjectionFeaturizer(spec, 16)
    (window,) = made.encode([])
    np.testing.assert_array_equal(window.inputs["fingerprint"], fingerprint_tokens([token], spec))
    assert (len(window.tokens), len(window.starts), window.words) == (0, 0, (0, 0))
    assert made.encode_batch([]) == []


def test_an_empty_word_is_null():
    found = fingerprints(["", "<null>"], SPEC)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[:1], fingerprint_tokens(["<null>"], SPEC))


@pytest.mark.parametrize("spec", [SPEC, WITH_END], ids=["plain", "end"])
def test_pairs(spec):
    first, second = SENTENCE, SENTENCE[2:5]
    (window,) = ProjectionFeaturizer(spec, 16).encode(first, second)
    parts = [fingerprints(first, spec), end_of(spec), fingerprints(second, spec)]
    parts += [end_of(spec)] * spec.eos
    np.testing.assert_array_equal(window.inputs["fingerprint"], np.concatenate(parts))
    assert (window.words, window.dropped) == ((0, 8), 0)

    (window,) = ProjectionFeaturizer(spec, 9).encode(first, second)
    kept = 9 - 1 - len(second) - spec.eos
    parts[0] = parts[0][:kept]
    np.testing.assert_array_equal(window.inputs["fingerprint"], np.concatenate(parts))
    assert (window.words, window.dropped) == ((0, kept), len(first) - kept)
    assert window.tokens.tolist() == [*range(kept)]


@settings(deadline=None, max_examples=50)
@given(
    words=st.lists(st.text(max_size=4), max_size=40),
    max_length=st.integers(4, 20),
    share=st.floats(0, 0.99),
    spec=st.sampled_from([SPEC, WITH_END]),
)
def test_laws_of_windows(words, max_length, share, spec):
    made = ProjectionFeaturizer(spec, max_length, overlap=int(share * (max_length - spec.eos)))
    rows = fingerprints(words, spec)
    windows = made.encode(words)
    assert [w for window in windows for w in range(*window.words)] == [*range(len(words))]
    for window in windows:
        assert window.length <= max_length
        assert window.dropped == 0
        np.testing.assert_array_equal(
            window.inputs["fingerprint"][window.tokens], rows[slice(*window.words)]
        )
        if len(windows) == 1 and words:  # then it is what its name says
            mask = window.input(made.word_mask)
            assert (made.word_mask == "attention_mask") != spec.eos
            assert np.flatnonzero(mask).tolist() == window.tokens.tolist()
        if spec.eos:
            np.testing.assert_array_equal(window.inputs["fingerprint"][-1:], end_of(spec))


def test_batch_equals_one_by_one():
    made = ProjectionFeaturizer(SPEC, 6)
    texts = [(SENTENCE, None), ([], None), (SENTENCE, SENTENCE[:2]), ([], []), (["x"], [])]
    for (words, second), windows in zip(texts, made.encode_batch(texts), strict=True):
        alone = ProjectionFeaturizer(SPEC, 6).encode(words, second)
        for one, two in zip(alone, windows, strict=True):
            assert one.words == two.words
            for name, array in one.inputs.items():
                np.testing.assert_array_equal(array, two.inputs[name])


@pytest.mark.parametrize("spec", [SPEC, WITH_END], ids=["plain", "end"])
def test_assets_round_trip(spec):
    made = ProjectionFeaturizer(spec, 12, overlap=3)
    settings_read = json.loads(json.dumps(made.to_json()))
    again = featurizer_from_assets(settings_read, made.to_assets())
    assert isinstance(again, ProjectionFeaturizer)
    assert made.kind in FEATURIZERS
    assert again.to_json() == made.to_json()
    assert again.to_assets() == made.to_assets()
    assert again.padding == made.padding
    for one, two in zip(made.encode(SENTENCE * 3), again.encode(SENTENCE * 3), strict=True):
        np.testing.assert_array_equal(one.inputs["fingerprint"], two.inputs["fingerprint"])


def test_padding_has_features_of_zero():
    assert ProjectionFeaturizer(SPEC, 8).padding == {"fingerprint": 0x55, "attention_mask": 0}
    assert ProjectionFeaturizer(WITH_END, 8).padding["fingerprint"] == 0


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        (SPEC, {"max_length": 2}, "max_length is 2; the least is 3"),
        (WITH_END, {"max_length": 3}, "max_length is 3; the least is 4"),
        (SPEC, {"max_length": 10, "overlap": 10}, "overlap is 10.*must be 0 to 9"),
        (WITH_END, {"max_length": 10, "overlap": -1}, "overlap is -1.*must be 0 to 8"),
    ],
)
def test_settings_that_leave_no_room(spec, options, message):
    with pytest.raises(RecipeError, match=message):
        ProjectionFeaturizer(spec, **options)


def test_assets_that_do_not_fit():
    made = ProjectionFeaturizer(SPEC, 8)
    with pytest.raises(ModelFileError, match=r"needs projection\.json; it is missing"):
        featurizer_from_assets(made.to_json(), {})
    with pytest.raises(ModelFileError, match="is unknown"):
        featurizer_from_assets(made.to_json(), {"projection.json": b"{}"})
    with pytest.raises(ModelFileError, match="do not fit 'projection'"):
        featurizer_from_assets({**made.to_json(), "cls": 1}, made.to_assets())


def test_needs_numpy_alone():
    code = (
        "import sys; from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec;"
        "ProjectionFeaturizer(ProjectionSpec(), 8).encode(['a']);"
        "print([m for m in ('tensorflow', 'keras', 'tokenizers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
