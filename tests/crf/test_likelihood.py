"""Scores, sums over paths and marginals against all paths of a text; what must not change them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from tests.crf.gradients import gradients
from tests.crf.oracle import SCHEMES, Batch, enumerate_paths, random_batch
from tfdistil.crf import decoding
from tfdistil.crf.chain import constrained
from tfdistil.crf.constraints import IMPOSSIBLE, legal_steps
from tfdistil.crf.likelihood import (
    are_legal,
    log_marginals,
    log_partition,
    log_probabilities,
    marginals,
    path_scores,
)
from tfdistil.crf.paths import k_best
from tfdistil.tasks.iob2 import allowed_transitions

LENGTHS = [4, 1, 3, 6, 2, 0, 5]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def arguments(batch: Batch):
    return batch.emissions, batch.potentials, batch.mask


@every_scheme
def test_the_partition_is_the_sum_over_all_paths(scheme):
    batch = random_batch(0, LENGTHS, scheme, words=7)
    found = np.asarray(log_partition(*arguments(batch)))
    np.testing.assert_allclose(found, [text.log_z for text in batch.texts()], rtol=1e-5, atol=1e-6)


@every_scheme
def test_scores_and_probabilities_of_paths(scheme):
    batch = random_batch(1, LENGTHS, scheme, words=7)
    tags = np.full((len(LENGTHS), 3, 7), 2, "int32")
    texts = batch.texts()
    rng = np.random.default_rng(0)
    picked = [rng.integers(0, len(text.paths), 3) for text in texts]
    for i, text in enumerate(texts):
        tags[i, :, : batch.lengths[i]] = text.paths[picked[i]]
    emissions, potentials, mask = arguments(batch)
    scores = path_scores(emissions, potentials, tags, mask)
    log_p = log_probabilities(emissions, potentials, tags, mask)
    for i, text in enumerate(texts):
        np.testing.assert_allclose(scores[i], text.scores[picked[i]], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(log_p[i], text.log_p[picked[i]], rtol=1e-5, atol=1e-5)


@every_scheme
def test_a_path_is_legal_by_its_steps(scheme):
    batch = random_batch(2, [3, 1, 0, 2], scheme, words=4)
    labels = len(batch.potentials[0])
    every = np.array([*product(range(labels), repeat=4)], "int32")
    tags = np.broadcast_to(every, (4, *every.shape))
    found = np.asarray(are_legal(batch.potentials, tags, batch.mask))
    for own, length, text in zip(found, batch.lengths, batch.texts(), strict=True):
        legal = {*map(tuple, text.paths)}
        assert own.tolist() == [tuple(path[:length]) in legal for path in every]


@every_scheme
def test_marginals_are_sums_over_the_paths_through_a_label(scheme):
    batch = random_batch(2, LENGTHS, scheme, words=7)
    found = np.asarray(marginals(*arguments(batch)))
    assert (found[batch.mask == 0] == 0).all()
    for i, text in enumerate(batch.texts()):
        expected = text.marginals(found.shape[-1])
        np.testing.assert_allclose(found[i, : batch.lengths[i]], expected, rtol=1e-4, atol=1e-7)


@every_scheme
def test_the_gradient_of_the_partition_is_the_marginals(scheme):
    batch = random_batch(3, LENGTHS, scheme, words=7)
    own, steps = gradients(lambda e, p: ops.sum(log_partition(e, p, batch.mask)), batch)
    np.testing.assert_allclose(own, marginals(*arguments(batch)), atol=1e-6)
    expected = np.zeros_like(batch.potentials)
    for text in batch.texts():
        for path, log_p in zip(text.paths, text.log_p, strict=True):
            if len(path):
                places = ([*path[:-1], -2, -1], [*path[1:], path[0], path[-1]])
                np.add.at(expected, places, np.exp(log_p))
    np.testing.assert_allclose(steps, expected, rtol=1e-4, atol=1e-5)


def test_small_differences_of_long_texts_are_kept():
    """Where one path has nearly all of the mass, log p is less than the rounding of its score."""
    batch = random_batch(4, [200], "iob2")
    batch.emissions[:, :, 0] += 14.0
    batch.potentials[0, 0] += 3
    (best,), (p,) = decoding.k_best(batch.emissions[0], batch.potentials, 1)
    assert 1e-4 < -np.log(p) < 1e-1
    log_p = log_probabilities(batch.emissions, batch.potentials, best[None, None], batch.mask)
    assert float(log_p[0, 0]) == pytest.approx(np.log(p), abs=1e-5)  # of scores near 3000


def test_extreme_scores_give_finite_gradients():
    batch = random_batch(5, [6, 3], "iobes")
    batch.emissions[:] *= 300
    tags = np.zeros((2, 1, 6), "int32")

    def loss(emissions, potentials):
        found = log_marginals(emissions, potentials, batch.mask)
        return ops.sum(found) - ops.sum(log_probabilities(emissions, potentials, tags, batch.mask))

    for gradient in gradients(loss, batch):
        assert np.isfinite(gradient).all()


# What must not change anything.


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    lengths=st.lists(st.integers(1, 5), min_size=2, max_size=4),
    scheme=st.sampled_from(list(SCHEMES)),
    pad=st.integers(0, 3),
    k=st.integers(1, 5),
)
def test_padding_the_batch_and_shifts_change_nothing(seed, lengths, scheme, pad, k):
    batch = random_batch(seed, lengths, scheme)
    rng = np.random.default_rng(seed)
    i = seed % len(lengths)
    own = batch.emissions[i : i + 1, : lengths[i]]
    shifted = own + rng.normal(scale=5, size=(1, lengths[i], 1)).astype("float32")
    padded = np.pad(shifted, [[0, 0], [0, pad], [0, 0]], constant_values=7.0)
    mask = np.pad(np.ones((1, lengths[i]), "int32"), [[0, 0], [0, pad]])
    together = k_best(*arguments(batch), k)
    alone = k_best(padded, batch.potentials, mask, k)
    np.testing.assert_array_equal(together.count[i], alone.count[0])
    np.testing.assert_allclose(together.log_p[i], alone.log_p[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        together.log_residual[i], alone.log_residual[0], rtol=1e-4, atol=1e-4
    )
    words = slice(0, lengths[i])
    np.testing.assert_array_equal(together.tags[i, :, words], alone.tags[0, :, words])
    np.testing.assert_allclose(
        marginals(*arguments(batch))[i, words],
        marginals(padded, batch.potentials, mask)[0, words],
        atol=1e-5,
    )


# Constraints.


def test_iob2_becomes_a_table_of_steps():
    legal = legal_steps(*allowed_transitions(("O", "B-a", "I-a", "B-b", "I-b")))
    np.testing.assert_array_equal(legal, SCHEMES["iob2"])


def test_what_no_text_may_end_with_is_found_in_what_may_follow():
    legal = legal_steps(*allowed_transitions(("O", "B-a", "I-a", "E-a", "S-a")))
    np.testing.assert_array_equal(legal, SCHEMES["iobes"])


def test_tables_that_do_not_fit_are_refused():
    start, follow = allowed_transitions(("O", "B-a", "I-a"))
    with pytest.raises(ValueError, match=r"3 labels need follow \[3, 3\], got \[2, 3\]"):
        legal_steps(start, follow[:2])


def test_forbidden_potentials_stay_put():
    batch = random_batch(6, [4, 2], "iob2")
    legal = SCHEMES["iob2"]
    free = np.random.default_rng(0).normal(size=legal.shape).astype("float32")
    batch = Batch(batch.emissions, free, batch.mask)

    def loss(emissions, potentials):
        return ops.sum(log_partition(emissions, constrained(potentials, legal), batch.mask))

    _, gradient = gradients(loss, batch)
    assert (gradient[~legal] == 0).all()
    assert (gradient[legal] != 0).any()
    found = np.asarray(constrained(free, legal))
    np.testing.assert_array_equal(found, np.where(legal, free, IMPOSSIBLE))
    assert enumerate_paths(batch.emissions[0], found).paths.shape[0] < 5**4
