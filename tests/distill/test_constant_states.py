"""A stage on states that are alike in all texts is called by its name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tfdistil.distill.constant_states import constant_states
from tfdistil.distill.terms import bind_terms
from tfdistil.recipe.schema.stages import TermSpec
from tfdistil.tasks import Classes, Tags

STATE = np.random.default_rng(0).normal(size=12).astype(np.float32)
STATE[3] = 9.5  # as lower layers of a BERT have it


@dataclass
class States:
    """A stream of texts whose states differ from `STATE` by ``spread``."""

    signal: str
    spread: float

    def epoch_rows(self, generator):
        return np.arange(40)

    def batch(self, chosen, generator):
        off = generator.normal(size=(len(chosen), len(STATE))) * self.spread
        return {f"teacher/{self.signal}": STATE + off}


def said(loss: str, task, signal: str, spread: float) -> list[str]:
    terms = bind_terms([TermSpec(loss=loss, stream="train", layer=3)], task.outputs)
    return list(constant_states(terms, {"train": States(signal, spread)}, seed=1))


@pytest.mark.parametrize("loss", ["hidden_kl", "hidden_mse"])
def test_states_of_texts_that_are_alike(loss):
    (line,) = said(loss, Classes(["a", "b"]), "sentence/3", 0.01)
    assert f"{loss}.sequence.train: the teacher's sentence/3 is nearly the same" in line
    assert "Take a later `layer`, or a teacher with `pooling: mean`" in line


@pytest.mark.parametrize("loss", ["hidden_kl", "hidden_mse"])
def test_states_of_texts_that_differ(loss):
    assert said(loss, Classes(["a", "b"]), "sentence/3", 2.0) == []


def test_states_of_words_are_not_looked_at():
    assert said("hidden_kl", Tags(["O", "B-a", "I-a"]), "hidden/3", 0.01) == []


def test_the_share_is_the_loss_of_the_mean_against_that_of_zeros():
    """By hand for the squared error: variance against the mean square."""
    (line,) = said("hidden_mse", Classes(["a", "b"]), "sentence/3", 0.01)
    states = States("sentence/3", 0.01)
    generator = np.random.default_rng(1)
    chosen = generator.permutation(states.epoch_rows(generator))
    found = states.batch(chosen, generator)["teacher/sentence/3"]
    share = found.var(axis=0).mean() / (found**2).mean()
    assert f"has {share:.0e} of the loss of zeros" in line
