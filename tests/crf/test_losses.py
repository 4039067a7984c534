"""Each loss and its gradient against the sum over all paths of a text."""

from __future__ import annotations

from itertools import starmap

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import log_softmax, softmax

from tests.crf.gradients import finite_differences, gradients
from tests.crf.oracle import SCHEMES, Batch, enumerate_paths, random_batch
from tfdistil.crf.constraints import IMPOSSIBLE, NO_TAG
from tfdistil.crf.losses import (
    counted_texts,
    crf_nll,
    fuzzy_cross_entropy,
    sequence_cross_entropy,
    token_emissions,
    token_marginals,
)
from tfdistil.crf.paths import k_best

LENGTHS = [3, 1, 4, 0]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def teacher_and_student(scheme, k) -> tuple[Batch, Batch, tuple]:
    teacher, student = (random_batch(seed, LENGTHS, scheme, words=5) for seed in (1, 2))
    best = k_best(teacher.emissions, teacher.potentials, teacher.mask, k)
    return teacher, student, tuple(map(np.asarray, best))


def check(loss, oracle, student: Batch, tolerance=2e-5):
    """Value and gradients of ``loss(emissions, potentials)``.

    The oracle gives that of one text, ``oracle(i, text's emissions, all paths of the student)``.
    """

    def mean(emissions, potentials):
        values = []
        for i, length in enumerate(LENGTHS):
            if length:
                own = emissions[i, :length]
                values.append(oracle(i, own, enumerate_paths(own, potentials)))
        return np.mean(values)

    found = float(loss(tf.constant(student.emissions), tf.constant(student.potentials)))
    assert found == pytest.approx(mean(student.emissions, student.potentials), rel=1e-5, abs=1e-6)
    expected = finite_differences(mean, student.emissions, student.potentials)
    for gradient, reference in zip(gradients(loss, student), expected, strict=True):
        np.testing.assert_allclose(gradient, reference, atol=tolerance)


@every_scheme
def test_negative_log_likelihood(scheme):
    _, student, (tags, *_) = teacher_and_student(scheme, 1)

    def oracle(i, own, paths):
        return -paths.log_p_of(tags[i, 0, : len(own)])

    check(lambda e, p: crf_nll(e, p, tags[:, 0], student.mask), oracle, student)


def shares(teacher, tags, count):
    """For each text: the teacher's probabilities of its listed paths, and of the others."""
    for i, text in enumerate(teacher.texts()):
        own = tags[i, : count[i], : teacher.lengths[i]]
        yield own, np.exp([*map(text.log_p_of, own)]), np.exp(text.log_residual(own))


@every_scheme
@pytest.mark.parametrize("k", [1, 3, 30])
def test_sequence_cross_entropy(scheme, k):
    teacher, student, best = teacher_and_student(scheme, k)
    targets = [*shares(teacher, best[0], best[3])]

    def oracle(i, own, paths):
        tags, p, rest = targets[i]
        listed = sum(p * [*map(paths.log_p_of, tags)])
        return -listed - (rest * paths.log_residual(tags) if rest else 0.0)

    check(lambda e, p: sequence_cross_entropy(e, p, *best, student.mask), oracle, student)


@every_scheme
@pytest.mark.parametrize("k", [1, 3, 30])
def test_fuzzy_cross_entropy(scheme, k):
    teacher, student, best = teacher_and_student(scheme, k)
    targets = [*shares(teacher, best[0], best[3])]

    def oracle(i, own, paths):
        tags, p, rest = targets[i]
        listed = p.sum() * np.logaddexp.reduce([*map(paths.log_p_of, tags)])
        return -listed - (rest * paths.log_residual(tags) if rest else 0.0)

    check(lambda e, p: fuzzy_cross_entropy(e, p, *best, student.mask), oracle, student)


@every_scheme
def test_token_emissions(scheme):
    teacher, student, _ = teacher_and_student(scheme, 1)

    def oracle(i, own, paths):
        p = softmax(teacher.emissions[i, : len(own)].astype("f8"), axis=-1)
        return -(p * log_softmax(own, axis=-1)).sum()

    check(lambda e, p: token_emissions(e, teacher.emissions, student.mask), oracle, student)


@every_scheme
def test_token_marginals(scheme):
    teacher, student, _ = teacher_and_student(scheme, 1)
    targets = [text.marginals(student.emissions.shape[-1]) for text in teacher.texts()]

    def oracle(i, own, paths):
        p, q = targets[i], paths.marginals(own.shape[-1])
        return -(p[p > 0] * np.log(q[p > 0])).sum()

    signals = teacher.emissions, teacher.potentials, student.mask
    check(lambda e, p: token_marginals(e, p, *signals), oracle, student)


def test_one_path_makes_the_fuzzy_loss():
    _, student, best = teacher_and_student("iob2", 1)
    losses = [
        lambda e, p, loss=loss: loss(e, p, *best, student.mask)
        for loss in (sequence_cross_entropy, fuzzy_cross_entropy)
    ]
    one, other = (float(loss(student.emissions, student.potentials)) for loss in losses)
    assert one == pytest.approx(other, rel=1e-6)
    for pair in zip(*(gradients(loss, student) for loss in losses), strict=True):
        np.testing.assert_allclose(*pair, atol=1e-6)


@pytest.mark.parametrize("loss", [sequence_cross_entropy, fuzzy_cross_entropy])
def test_what_pads_the_list_is_not_read(loss):
    _, student, (tags, log_p, rest, count) = teacher_and_student("iob2", 3)
    expected = loss(student.emissions, student.potentials, tags, log_p, rest, count, student.mask)
    tags = np.concatenate([tags, tags], axis=1)
    for i, real in enumerate(count):
        tags[i, real:] = 3
    log_p = np.where(np.arange(6) < count[:, None], np.tile(log_p, 2), -0.5).astype("float32")
    found = loss(student.emissions, student.potentials, tags, log_p, rest, count, student.mask)
    assert float(found) == pytest.approx(float(expected), rel=1e-6)


def test_no_shape_has_to_be_known_beforehand():
    """Stored signals come with open shapes, labels and K among them."""
    teacher, student, best = teacher_and_student("iob2", 3)
    losses = {
        sequence_cross_entropy: (*best, student.mask),
        fuzzy_cross_entropy: (*best, student.mask),
        token_marginals: (teacher.emissions, teacher.potentials, student.mask),
        crf_nll: (best[0][:, 0], student.mask),
    }
    for loss, rest in losses.items():
        given = student.emissions, student.potentials, *rest
        opened = [tf.TensorSpec([None] * np.ndim(array), array.dtype) for array in given]
        opened[:2] = [tf.TensorSpec((None, None, 5)), tf.TensorSpec((7, 5))]
        assert float(tf.function(loss, opened)(*given)) == pytest.approx(float(loss(*given)))


def test_texts_that_are_counted():
    mask = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]])
    tags = np.array([[2, 0, NO_TAG], [NO_TAG, 0, 0], [1, 1, 1], [0, 1, 2]])
    assert np.asarray(counted_texts(mask)).tolist() == [1, 1, 0, 1]
    assert np.asarray(counted_texts(mask, tags)).tolist() == [1, 0, 0, 1]


def test_a_text_without_tags_does_not_move_the_likelihood():
    batch = random_batch(4, [3, 2], "iob2")
    tags = np.array([[0, 1, 2], [NO_TAG, 0, 0]])
    found = crf_nll(batch.emissions, batch.potentials, tags, batch.mask)
    alone = crf_nll(batch.emissions[:1], batch.potentials, tags[:1], batch.mask[:1])
    assert float(found) == pytest.approx(float(alone), rel=1e-6)
    own, _ = gradients(lambda e, p: crf_nll(e, p, tags, batch.mask), batch)
    assert (own[1] == 0).all()


def test_a_batch_without_words_loses_nothing():
    batch = random_batch(5, [0, 0], "iob2", words=2)
    best = k_best(batch.emissions, batch.potentials, batch.mask, 3)
    targets = *best, batch.mask
    tags = np.zeros((2, 2), "int32")
    own = batch.emissions, batch.potentials
    losses = [
        (crf_nll, (tags, batch.mask)),
        (sequence_cross_entropy, targets),
        (fuzzy_cross_entropy, targets),
        (token_marginals, (*own, batch.mask)),
    ]
    assert list(starmap(lambda loss, rest: float(loss(*own, *rest)), losses)) == [0.0] * 4
    assert float(token_emissions(own[0], own[0], batch.mask)) == 0
    for loss, rest in losses:
        for gradient in gradients(lambda e, p, f=loss, rest=rest: f(e, p, *rest), batch):
            assert (gradient == 0).all()


def test_improbable_labels_are_not_forbidden_ones():
    """200 words, another label ahead by 26 on each: 5200 nats, more than `IMPOSSIBLE` / 2."""
    emissions = np.zeros((1, 200, 2), "float32")
    emissions[:, :, 1] = 26
    gold, mask = np.zeros((1, 200), "int32"), np.ones((1, 200), "int32")
    batch = Batch(emissions, np.zeros((4, 2), "float32"), mask)
    loss = lambda e, p: crf_nll(e, p, gold, mask)  # noqa: E731
    assert float(loss(emissions, batch.potentials)) == pytest.approx(5200, rel=1e-5)
    of_emissions, _ = gradients(loss, batch)
    np.testing.assert_allclose(of_emissions[0], [[-1, 1]] * 200, atol=1e-5)


def test_a_student_far_off_has_finite_losses_and_gradients():
    _, student, best = teacher_and_student("iob2", 3)
    student.emissions[:] *= 200
    for loss in (sequence_cross_entropy, fuzzy_cross_entropy):
        found = loss(student.emissions, student.potentials, *best, student.mask)
        assert 10 < float(found) < -IMPOSSIBLE
        for gradient in gradients(lambda e, p, f=loss: f(e, p, *best, student.mask), student):
            assert np.isfinite(gradient).all()
