"""Eliquare (Singh et al. 2023): one stage on a stream that is masked afresh in every pass."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from tfdistil.distill.masking import masking
from tfdistil.distill.noise import NOISE, noise
from tfdistil.distill.rows import bucketed_batches
from tfdistil.distill.schedule import Schedule
from tfdistil.encoders import Encoder
from tfdistil.tasks import Tags

MODELS = """
  teacher: {scratch: {layers: 4, hidden_dim: 8}}
  student: {kind: alternate_layers, heads: [logits]}
"""
# Equation 8 with the paper's weights and temperature.
STAGES = """
  - name: language
    terms:
      - {loss: softened_cross_entropy, stream: transfer, weight: 5}
      - {loss: hidden_cosine, stream: transfer, weight: 1}
      - {loss: masked_lm, stream: transfer, weight: 2}
    noise: [{kind: watched, probability: 0.3}]
    optimizer: {learning_rate: 1.0e-2}
    batch_size: 8
    stop: {epochs: 8, monitor: loss, on: transfer_held_out}
"""
ALTERNATE = {1: 1, 2: 3}
"""Layer n of the student starts as layer 2n - 1 of the teacher."""


@pytest.fixture
def models(named, encoder, subwords):
    teacher = encoder(4, heads={"logits": "mlm"})
    teacher.word_embeddings.assign(teacher.word_embeddings * 5)  # an opinion
    student = Encoder(replace(teacher.config, layers=2), heads={"logits": "mlm"}, seed=3)
    theirs = dict(teacher.layer_groups())
    for name, weights in student.layer_groups():
        number = name.removeprefix("layer_")
        source = f"layer_{ALTERNATE[int(number)]}" if number.isdecimal() else name
        for weight, start in zip(weights, theirs[source], strict=True):
            weight.assign(start)
    return {"teacher": named(teacher, subwords), "student": named(student, subwords)}


@pytest.fixture
def sets(corpus):
    """One language of the teacher's two."""
    return {
        "transfer": corpus(40, 1, "it", labelled=False),
        "transfer_held_out": corpus(8, 2, "it", labelled=False),
    }


class Draws:
    """Masking that remembers what it was given and what came of it."""

    def __init__(self):
        self.pairs = []

    def masking(self, featurizer, texts, probability=0.15):
        mask = masking(featurizer, texts, probability)

        def transform(batch, words, generator):
            self.pairs.append((batch["input_ids"], mask(batch, words, generator)))
            return self.pairs[-1][1]

        return transform

    def of(self, text):
        """What one batch of texts was masked to, each time, and all the others."""
        same = [np.array_equal(before, text) for before, _ in self.pairs]
        found = {True: [], False: []}
        for is_it, pair in zip(same, self.pairs, strict=True):
            found[is_it].append(pair)
        return [after for _, after in found[True]], found[False]


def versions(pairs):
    """Each text with all it was masked to."""
    found = defaultdict(set)
    for texts, batch in pairs:
        for before, after in zip(texts, batch["input_ids"], strict=True):
            found[before.tobytes()].add(after.tobytes())
    return found


@pytest.fixture
def draws(monkeypatch):
    monkeypatch.setattr("tfdistil.distill.noise.NOISE", dict(NOISE))
    watched = Draws()
    noise("watched", held_out=True, targets=["mlm"])(watched.masking)
    return watched


def log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def equation_8(models, batch, seen_by_teacher):
    """The three weighted losses on a batch."""
    student = {name: np.array(x) for name, x in models["student"].model(batch).items()}
    inputs = {**batch, "input_ids": seen_by_teacher}
    teacher = {name: np.array(x) for name, x in models["teacher"].model(inputs).items()}
    real = batch["attention_mask"] == 1
    p = np.exp(log_softmax(teacher["logits/mlm"][real] / 2.0))
    soft = -4 * (p * log_softmax(student["logits/mlm"][real] / 2.0)).sum(-1).mean()
    s, t = student["hidden/2"][real], teacher["hidden/4"][real]
    norms = np.linalg.norm(s, axis=-1) * np.linalg.norm(t, axis=-1)
    cosine = (1 - (s * t).sum(-1) / norms).mean()
    chosen = batch["target/mlm"] >= 0
    log_q = log_softmax(student["logits/mlm"][chosen])
    hard = -np.take_along_axis(log_q, batch["target/mlm"][chosen][:, None], axis=-1).mean()
    return 5 * soft + cosine + 2 * hard


def least(models, batch):
    """What the softened targets leave of the loss whatever the student says: their entropy."""
    logits = np.array(models["teacher"].model(batch)["logits/mlm"])[batch["attention_mask"] == 1]
    log_p = log_softmax(logits / 2.0)
    return -5 * 4 * (np.exp(log_p) * log_p).sum(-1).mean()


def test_teacher_and_student_see_the_same_fresh_masks(
    recipe, models, sets, tmp_path, curves, watch, draws
):
    stages = recipe(MODELS, STAGES, head="logits").distill
    teacher, student = (models[name].model for name in ("teacher", "student"))
    start, of_teacher = student.get_weights(), teacher.get_weights()
    schedule = Schedule(models, sets, Tags(("O",)), tmp_path, seed=3, callbacks=watch)
    assert schedule.run(stages) == {"student": 8 * 5}
    curve = curves(schedule)("language")

    # What is trained on is drawn afresh, what is selected on is the same at every check.
    rows = schedule.rows("student", "transfer_held_out")
    (order,) = bucketed_batches(rows.lengths, 8, None)
    text = rows.inputs(order)["input_ids"]
    (batch, *again), training = draws.of(text)
    repeated = [np.array_equal(batch["input_ids"], other["input_ids"]) for other in again]
    assert sum(repeated) >= 9  # the other draws are those that are made ahead and not used
    assert len(training) >= 8 * 5
    assert all(len(masked) > 1 for masked in versions(training).values())
    assert (batch["input_ids"] != text).any()
    best = equation_8(models, batch, batch["input_ids"])
    assert min(curve) == pytest.approx(best, rel=1e-4)
    floor = least(models, batch)
    assert 0 < best - floor < 0.95 * (curve[0] - floor)
    student.set_weights(start)
    assert curve[0] == pytest.approx(equation_8(models, batch, batch["input_ids"]), rel=1e-4)
    assert curve[0] != pytest.approx(equation_8(models, batch, text), rel=1e-4)
    names = (
        "loss",
        "softened_cross_entropy.transfer",
        "hidden_cosine.transfer",
        "masked_lm.transfer",
    )
    loss, soft, cosine, hard = (np.array(curves(schedule)("language", name)) for name in names)
    np.testing.assert_allclose(loss, 5 * soft + cosine + 2 * hard, rtol=1e-4)
    assert hard[-1] < 0.9 * hard[0]

    assert watch.moved("language") == {"heads", "layer_2", "layer_1", "embeddings"}
    for weight, before in zip(teacher.get_weights(), of_teacher, strict=True):
        np.testing.assert_array_equal(weight, before)
    assert not (tmp_path / "cache").exists()  # no signal is worth keeping


def test_the_student_starts_from_alternate_layers(models):
    teacher, student = (dict(models[name].model.layer_groups()) for name in ("teacher", "student"))
    pairs = {"layer_1": "layer_1", "layer_2": "layer_3", "embeddings": "embeddings"}
    for mine, theirs in pairs.items():
        for weight, source in zip(student[mine], teacher[theirs], strict=True):
            np.testing.assert_array_equal(weight, source)
