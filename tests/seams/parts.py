"""Losses and a head that the five systems need and the product does not have yet."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
from keras import ops

from tests.seams.crf import log_partition, marginals, path_scores
from tfdistil.distill.objectives import known_units, masked_mean, objective
from tfdistil.heads.kinds import Head, head_kind
from tfdistil.tasks.decoders import Decoder, decoder


def _pairs(mask, target):
    """Pairs of real pieces, which attention is a mean over."""
    return ops.sum(ops.square(ops.sum(ops.cast(mask, "float32"), axis=1)))


def _neighbours(student, teacher, axis, mask):
    """DeGenaro and Kalita 2022, Equations 4 and 5: a layer learns the mean of two."""
    lower, upper = teacher[: len(student)], teacher[len(student) :]
    return sum(
        masked_mean(ops.mean(ops.square((a + b) / 2 - s), axis=axis), mask)
        for s, a, b in zip(student, lower, upper, strict=True)
    )


@objective(
    "attention_mse",
    student="attention/{layers[0]}",
    teacher=("attention/{layers[1]}", "attention/{layers[2]}"),
    align="piece",
    count=_pairs,
)
def attention_mse(student, teacher, mask):
    """Attention of neighbouring layers, the mean over heads and pairs of real pieces."""
    pairs = ops.expand_dims(mask, 1) * ops.expand_dims(mask, 2)
    return _neighbours(student, teacher, 1, pairs)


@objective(
    "states_mse",
    student="hidden/{layers[0]}",
    teacher=("hidden/{layers[1]}", "hidden/{layers[2]}"),
    align="piece",
    count=known_units,
)
def states_mse(student, teacher, mask):
    """Hidden states of neighbouring layers, the mean over the width and real pieces."""
    return _neighbours(student, teacher, -1, mask)


@objective("softened", student="{head}/{output}", teacher="{teacher_head}/{output}")
def softened(student, teacher, mask, temperature):
    """Singh et al. 2023, Equations 4 and 5: soft targets with both sides softened."""
    p = ops.softmax(teacher / temperature, axis=-1)
    log_q = ops.log_softmax(student / temperature, axis=-1)
    return masked_mean(-ops.sum(p * log_q, axis=-1), mask)


CRF = ("{head}/{output}", "{head}/{output}/potentials")


@objective("crf_nll", student=CRF, target="{output}", count=lambda mask, target: ops.shape(mask)[0])
def crf_nll(student, target, mask):
    """Zhou et al. 2021, Equation 7, on gold tags."""
    return ops.mean(
        log_partition(*student, mask) - path_scores(*student, ops.maximum(target, 0), mask)
    )


@objective(
    "token_posterior",
    student=CRF,
    teacher=("{teacher_head}/{output}", "{teacher_head}/{output}/potentials"),
)
def token_posterior(student, teacher, mask):
    """Zhou et al. 2021, Equation 10 on the marginals of both CRFs."""
    log_q = ops.log(ops.maximum(marginals(*student, mask), 1e-9))
    return masked_mean(-ops.sum(marginals(*teacher, mask) * log_q, axis=-1), mask)


@head_kind("crf")
class Crf(Head):
    """Transitions beside the scores; the last row is for the start of a text."""

    levels = frozenset({"word"})
    extra = MappingProxyType({"potentials": "model"})

    def __init__(self, size, name):
        super().__init__(size, name)
        self.transitions = self.add_weight((size + 1, size), "zeros", name="transitions")

    def signals(self, scores, inputs):
        """The transitions, the same for every text."""
        return {"potentials": ops.convert_to_tensor(self.transitions)}

    def constants(self):
        """What the decoder needs."""
        return {"transitions": np.asarray(self.transitions)}


@decoder("crf")
class CrfDecoder(Decoder):
    """Viterbi over legal paths."""

    def __init__(self, labels, transitions):
        super().__init__(labels)
        self.transitions = transitions

    def words(self, scores, start, follow):
        """The best path; the probability of a word is not asked for here."""
        steps = np.where(follow, self.transitions[:-1], -np.inf)
        best, back = np.where(start, self.transitions[-1], -np.inf), []
        for number, row in enumerate(scores):
            if number:
                onward = best[:, None] + steps
                back.append(onward.argmax(axis=0))
                best = onward.max(axis=0)
            best = best + row
        path = [int(best.argmax())] if len(scores) else []
        for row in reversed(back):
            path.append(int(row[path[-1]]))
        return np.array(path[::-1], int), [1.0] * len(path)
