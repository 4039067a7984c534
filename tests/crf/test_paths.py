"""Viterbi and its K best, batched and of one text, against all paths of a text."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.crf.oracle import SCHEMES, random_batch
from tfdistil.crf import decoding
from tfdistil.crf.constraints import IMPOSSIBLE, NO_TAG
from tfdistil.crf.paths import BestPaths, k_best, viterbi

LENGTHS = [4, 1, 3, 5, 2, 0, 5]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES)
ties = pytest.mark.parametrize("whole", [False, True], ids=["real", "ties"])


def found(batch, k) -> BestPaths:
    return BestPaths(*map(np.asarray, k_best(*arguments(batch), k)))


def arguments(batch):
    return batch.emissions, batch.potentials, batch.mask


@ties
@every_scheme
def test_viterbi_finds_the_best_path(scheme, whole):
    for seed in range(5):
        batch = random_batch(seed, LENGTHS, scheme, words=6, whole=whole)
        tags = np.asarray(viterbi(*arguments(batch)))
        assert tags.dtype == np.int32
        assert (tags[batch.mask == 0] == NO_TAG).all()
        for i, text in enumerate(batch.texts()):
            length = batch.lengths[i]
            assert tags[i, :length].tolist() == text.paths[0].tolist()
            alone = decoding.viterbi(batch.emissions[i, :length], batch.potentials)
            assert alone.dtype == np.int32
            assert alone.tolist() == text.paths[0].tolist()


@ties
@every_scheme
@pytest.mark.parametrize("k", [1, 2, 7, 32])
def test_the_k_best_are_those_of_all_paths_in_order(scheme, k, whole):
    batch = random_batch(k, LENGTHS, scheme, words=6, whole=whole)
    best = found(batch, k)
    assert [best.tags.dtype, best.count.dtype] == [np.int32, np.int32]
    assert [best.log_p.dtype, best.log_residual.dtype] == [np.float32, np.float32]
    assert best.tags.shape == (len(LENGTHS), k, 6)
    for i, text in enumerate(batch.texts()):
        length, count = batch.lengths[i], min(k, len(text.paths))
        assert best.count[i] == count
        np.testing.assert_array_equal(best.tags[i, :count, :length], text.paths[:count])
        np.testing.assert_allclose(best.log_p[i, :count], text.log_p[:count], atol=2e-5)
        assert (best.tags[i, count:] == NO_TAG).all()
        assert (best.tags[i, :, length:] == NO_TAG).all()
        assert (best.log_p[i, count:] == IMPOSSIBLE).all()
        rest = text.log_residual(text.paths[:count])
        np.testing.assert_allclose(best.log_residual[i], rest, atol=2e-5)

        tags, p = decoding.k_best(batch.emissions[i, :length], batch.potentials, k)
        assert tags.dtype == np.int32
        np.testing.assert_array_equal(tags, text.paths[:count])
        np.testing.assert_allclose(p, np.exp(text.log_p[:count]), rtol=1e-9)


@every_scheme
def test_marginals_of_one_text(scheme):
    batch = random_batch(3, LENGTHS, scheme)
    for i, text in enumerate(batch.texts()):
        own = batch.emissions[i, : batch.lengths[i]]
        p = decoding.marginals(own, batch.potentials)
        np.testing.assert_allclose(p, text.marginals(own.shape[1]), rtol=1e-6, atol=1e-12)


def test_no_emission_makes_a_forbidden_path_legal():
    """Label 2 is I of a type, which must follow B."""
    batch = random_batch(0, [3, 2], "iob2")
    batch.emissions[:, 0, 2] = 3000.0
    best = found(batch, 4)
    assert (best.tags[:, :, 0] != 2).all()
    assert (np.asarray(viterbi(*arguments(batch)))[:, 0] != 2).all()
    batch.emissions[:, 0, 2] = 1e9  # decoding has no limit
    assert decoding.viterbi(batch.emissions[0], batch.potentials)[0] != 2
    assert (decoding.k_best(batch.emissions[0], batch.potentials, 4)[0][:, 0] != 2).all()


def test_a_long_text_with_large_scores():
    """Sums beyond the score of what is forbidden; every path but one is far from the best."""
    batch = random_batch(1, [400, 300], "iob2")
    batch.emissions[:] *= 40
    best = found(batch, 8)
    assert best.count.tolist() == [8, 8]
    for i, length in enumerate(batch.lengths):
        tags, p = decoding.k_best(batch.emissions[i, :length], batch.potentials, 8)
        np.testing.assert_array_equal(best.tags[i, :, :length], tags)
        np.testing.assert_allclose(best.log_p[i], np.log(p), rtol=1e-4, atol=1e-3)


def test_it_compiles_for_all_lengths_at_once():
    labels = 5
    compiled = tf.function(
        lambda *batch: k_best(*batch, 3),
        input_signature=[
            tf.TensorSpec((None, None, labels)),
            tf.TensorSpec((labels + 2, labels)),
            tf.TensorSpec((None, None), "int32"),
        ],
    )
    for words in (1, 4):
        batch = random_batch(words, [1, words])
        for one, other in zip(compiled(*arguments(batch)), found(batch, 3), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
    assert compiled.experimental_get_tracing_count() == 1


def test_decoding_one_text_needs_numpy_alone():
    code = "import sys, tfdistil.crf.decoding; sys.exit('keras' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
