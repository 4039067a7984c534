"""Legal tags: against brute force over all paths, and against the definition of IOB2."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import softmax

from tfdistil.data.readers.tags import find_faults
from tfdistil.metrics.spans import strict_spans
from tfdistil.tasks import Span
from tfdistil.tasks.iob2 import (
    CONTINUATION,
    allowed_transitions,
    best_legal_path,
    probabilities,
    spans,
)


def is_legal(tags) -> bool:
    """The definition: an I-x continues a B-x or an I-x, and X is no tag of a word."""
    for before, tag in zip(("O", *tags), tags, strict=False):
        if tag == CONTINUATION:
            return False
        if tag.startswith("I-") and before not in (f"B-{tag[2:]}", tag):
            return False
    return True


@st.composite
def label_sets(draw) -> tuple[str, ...]:
    types = draw(st.lists(st.sampled_from(["LOC", "PER", "I-B"]), max_size=2, unique=True))
    labels = ["O", *(f"{prefix}-{t}" for t in types for prefix in "BI")]
    labels += [CONTINUATION] * draw(st.booleans())
    return tuple(draw(st.permutations(labels)))


@given(label_sets())
def test_transitions_are_those_of_the_definition(labels):
    start, follow = allowed_transitions(labels)
    assert start.tolist() == [is_legal([tag]) for tag in labels]
    for a, before in enumerate(labels):
        for b, tag in enumerate(labels):
            # whatever `before` needs ahead of it, the step itself is what is judged
            lead_in = [f"B-{before[2:]}"] if before.startswith("I-") else []
            if before != CONTINUATION:
                assert follow[a, b] == is_legal([*lead_in, before, tag])


@settings(max_examples=200, deadline=None)
@given(st.data(), label_sets(), st.integers(0, 4))
def test_best_path_is_the_best_of_all_legal_paths(data, labels, words):
    scores = data.draw(
        hnp.arrays(np.float64, (words, len(labels)), elements=st.integers(-4, 4).map(float))
    )
    path = best_legal_path(scores, *allowed_transitions(labels))
    assert path.shape == (words,)
    assert is_legal([labels[i] for i in path])
    best = max(
        sum(scores[word, label] for word, label in enumerate(candidate))
        for candidate in itertools.product(range(len(labels)), repeat=words)
        if is_legal([labels[i] for i in candidate])
    )
    assert sum(scores[np.arange(words), path]) == best


def test_an_illegal_argmax_is_repaired_by_what_is_probable_together():
    labels = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    p = np.array([[0.5, 0.4, 0.03, 0.04, 0.03], [0.05, 0.03, 0.9, 0.01, 0.01]])
    assert not is_legal([labels[i] for i in p.argmax(-1)])
    path = best_legal_path(np.log(p), *allowed_transitions(labels))
    assert [labels[i] for i in path] == ["B-LOC", "I-LOC"]  # .4 * .9 beats .5 * .05


def test_the_scores_are_left_alone():
    scores = np.array([[0.0, 1.0, 5.0], [0.0, 1.0, 5.0]])
    before = scores.copy()
    best_legal_path(scores, *allowed_transitions(("O", "B-a", "I-a")))
    np.testing.assert_array_equal(scores, before)


@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(0, 3), st.integers(1, 4)),
        elements=st.floats(-1e4, 1e4, width=32),
    )
)
def test_probabilities_equal_scipys_softmax(logits):
    before = logits.copy()
    for chosen in range(logits.shape[1]):
        found = probabilities(logits, np.full(len(logits), chosen))
        expected = softmax(logits.astype(np.float64), axis=-1)[:, chosen]
        # Differences of logits are rounded to float32: by |x| / 2^24 at the most, which is the
        # relative error of exp(x); below x = -28 the probability itself is under 1e-12.
        np.testing.assert_allclose(found, expected, rtol=28 / 2**24, atol=1e-12)
    np.testing.assert_array_equal(logits, before)


IOBES = ("O", "B-a", "I-a", "E-a", "S-a", "B-b", "I-b", "E-b", "S-b")


@settings(max_examples=100, deadline=None)
@given(st.data(), st.permutations(IOBES), st.booleans(), st.integers(0, 3))
def test_the_best_path_of_iobes_ends_every_span(data, labels, continuation, words):
    labels = (*labels, *[CONTINUATION] * continuation)
    scores = data.draw(
        hnp.arrays(np.float64, (words, len(labels)), elements=st.integers(-4, 4).map(float))
    )
    path = best_legal_path(scores, *allowed_transitions(labels))

    def legal(path) -> bool:
        tags = [labels[i] for i in path]
        return CONTINUATION not in tags and not list(find_faults(tags, "iobes"))

    assert legal(path)
    best = max(
        sum(scores[word, label] for word, label in enumerate(candidate))
        for candidate in itertools.product(range(len(labels)), repeat=words)
        if all(follows(labels[a], labels[b]) for a, b in itertools.pairwise(candidate))
        and legal(candidate)
    )
    assert sum(scores[np.arange(words), path]) == best


def follows(before: str, tag: str) -> bool:
    """A necessary condition, which spares most candidates."""
    return (before[0] in "BI") == (tag[0] in "IE")


@st.composite
def span_lists(draw) -> tuple[list[Span], int]:
    """Spans that do not overlap, in order, and the number of words."""
    found, word = [], 0
    for gap, length, label in draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["LOC", "B-I-x", "O"])),
            max_size=5,
        )
    ):
        found.append(Span(word + gap, word + gap + length, label))
        word += gap + length
    return found, word + draw(st.integers(0, 2))


def to_tags(found: list[Span], words: int) -> list[str]:
    tags = ["O"] * words
    for span in found:
        tags[span.start : span.end] = [
            f"B-{span.label}",
            *[f"I-{span.label}"] * (span.end - span.start - 1),
        ]
    return tags


@given(span_lists())
def test_spans_are_the_inverse_of_tags(case):
    expected, words = case
    tags = to_tags(expected, words)
    assert is_legal(tags)
    assert spans(tags) == expected


@given(span_lists())
def test_spans_are_those_the_metric_counts(case):
    tags = to_tags(*case)
    assert [(s.start, s.end, s.label) for s in spans(tags)] == strict_spans(tags)


def test_the_score_of_a_span_is_the_geometric_mean_of_its_words():
    found = spans(["B-a", "I-a", "O", "B-b"], [0.9, 0.4, 0.1, 0.7])
    assert [(s.start, s.end, s.label) for s in found] == [(0, 2, "a"), (3, 4, "b")]
    assert found[0].score == pytest.approx((0.9 * 0.4) ** 0.5)
    assert found[1].score == pytest.approx(0.7)


def test_a_probability_of_zero_gives_a_finite_score():
    (span,) = spans(["B-a"], [0.0])
    assert 0 < span.score <= 1e-11
