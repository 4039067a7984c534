"""The mass of all paths that are not listed, against the sum over them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from tests.crf.gradients import finite_differences, gradients
from tests.crf.oracle import SCHEMES, Batch, enumerate_paths, random_batch
from tfdistil.crf.constraints import IMPOSSIBLE
from tfdistil.crf.residual import log_residual

LENGTHS = [4, 1, 3, 5, 2, 0, 5]


def listed(batch: Batch, k: int, choose):
    """Paths of each text, ``choose(paths, k)``, as a padded list with noise where there is none."""
    tags = np.full((len(batch.mask), k, batch.mask.shape[1]), 1, "int32")
    count = np.zeros(len(batch.mask), "int32")
    for i, text in enumerate(batch.texts()):
        chosen = choose(text.paths, k)
        count[i] = len(chosen)
        tags[i, : len(chosen), : batch.lengths[i]] = chosen
    return tags, count


def best(paths, k):
    return paths[:k]


def anything(paths, k):
    return paths[np.random.default_rng(len(paths)).permutation(len(paths))[:k]]


def residual(batch, tags, count):
    return np.asarray(log_residual(batch.emissions, batch.potentials, tags, count, batch.mask))


def expected(batch, tags, count):
    return [
        text.log_residual(tags[i, : count[i], : batch.lengths[i]])
        for i, text in enumerate(batch.texts())
    ]


@pytest.mark.parametrize("choose", [best, anything])
@pytest.mark.parametrize("k", [1, 4, 32])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_is_the_mass_of_the_other_paths(scheme, k, choose):
    batch = random_batch(k, LENGTHS, scheme, words=6)
    tags, count = listed(batch, k, choose)
    np.testing.assert_allclose(
        residual(batch, tags, count), expected(batch, tags, count), rtol=1e-5, atol=1e-5
    )


def test_order_and_repetition_do_not_matter_nor_what_is_beyond_the_count():
    batch = random_batch(0, LENGTHS, "iob2")
    tags, count = listed(batch, 4, best)
    reference = residual(batch, tags, count)
    full = count == 4
    found = residual(batch, tags[:, [3, 0, 2, 1]], count)
    np.testing.assert_allclose(found[full], reference[full], rtol=1e-6)
    twice = np.concatenate([tags, tags], axis=1)
    found = residual(batch, twice, np.where(full, 8, count).astype("int32"))
    np.testing.assert_allclose(found, reference, rtol=1e-6)
    np.testing.assert_array_equal(residual(batch, twice, count), reference)


@pytest.mark.parametrize("offset", [5.0, 20.0, 60.0])
def test_a_tiny_residual_is_exact_relative_to_itself(offset):
    """At 20 it is 1e-8, which 1 - p in float32 has as 0 or as 6e-8; at 60 it is 1e-25."""
    batch = random_batch(1, [5, 4], "iob2")
    batch.emissions[:, :, 1] += offset
    batch.potentials[1, 1] += 4
    tags, count = listed(batch, 3, best)
    found = np.exp(residual(batch, tags, count).astype("f8"))
    np.testing.assert_allclose(found, np.exp(expected(batch, tags, count)), rtol=1e-4)


def test_its_gradient_is_that_of_the_sum():
    batch = random_batch(2, [4], "iob2")
    batch.emissions[:, :, 0] += 4
    tags, count = listed(batch, 5, best)

    def oracle(emissions, potentials):
        return enumerate_paths(emissions[0], potentials).log_residual(tags[0])

    found = gradients(lambda e, p: ops.sum(log_residual(e, p, tags, count, batch.mask)), batch)
    own, steps = finite_differences(oracle, batch.emissions, batch.potentials)
    np.testing.assert_allclose(found[0], own, atol=1e-5)
    np.testing.assert_allclose(found[1], steps, atol=1e-5)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_where_all_paths_are_listed_nothing_is_left_and_nothing_moves(scheme):
    batch = random_batch(3, [2, 1, 0], scheme, words=3)
    tags, count = listed(batch, 40, best)
    assert (residual(batch, tags, count) == IMPOSSIBLE).all()
    found = gradients(lambda e, p: ops.sum(log_residual(e, p, tags, count, batch.mask)), batch)
    assert all((gradient == 0).all() for gradient in found)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    scheme=st.sampled_from(list(SCHEMES)),
    k=st.integers(1, 6),
    scale=st.sampled_from([0.1, 1.0, 8.0]),
)
def test_it_holds_for_any_list(seed, lengths, scheme, k, scale):
    batch = random_batch(seed, lengths, scheme)
    batch.emissions[:] *= scale
    tags, count = listed(batch, k, anything)
    np.testing.assert_allclose(
        residual(batch, tags, count), expected(batch, tags, count), rtol=1e-4, atol=1e-4
    )
