"""Multi-grained distillation (Zhou et al. 2021): one stage, CRF signals, learned weights."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import ops
from scipy.special import xlogy

from tests.crf.oracle import enumerate_paths
from tfdistil.crf.constraints import IMPOSSIBLE, legal_steps
from tfdistil.crf.paths import k_best
from tfdistil.distill.forward import JOINS, at_tokens
from tfdistil.distill.rows import encode_rows
from tfdistil.distill.schedule import Schedule
from tfdistil.distill.signals import load_signals, store_signals
from tfdistil.errors import RecipeError
from tfdistil.tasks import Tags
from tfdistil.tasks.iob2 import allowed_transitions
from tfdistil.text.subwords import SubwordFeaturizer

BEST = 4
"""K: more than a text of one word has legal tags."""

MODELS = """
  teacher: {scratch: {layers: 1, hidden_dim: 8}}
  student: {kind: tagger}
"""
# Equation 9, with equation 10 on marginals beside it.
STAGES = """
  - name: multi_grained
    terms:
      - {loss: hard_label_nll, stream: [train, transfer]}
      - {loss: fuzzy_cross_entropy, stream: [train, transfer], k: 4}
      - {loss: sequence_cross_entropy, stream: [train, transfer], k: 4}
      - {loss: token_marginals, stream: [train, transfer]}
    weighting: uncertainty
    optimizer: {learning_rate: 5.0e-2}
    batch_size: 8
    stop: {epochs: 4, monitor: loss, on: held_out}
"""
TERMS = (
    "hard_label_nll.tags.train+transfer",
    "fuzzy_cross_entropy.tags.train+transfer",
    "sequence_cross_entropy.tags.train+transfer",
    "token_marginals.tags.train+transfer",
)


def barred(task):
    """`IMPOSSIBLE` where IOB2 forbids a step."""
    legal = legal_steps(*allowed_transitions(task.outputs[0].labels))
    return np.where(legal, 0, IMPOSSIBLE).astype("float32")


LEVELS = {
    "logits/tags": "subword",
    "paths": "token",
    "log_p": "sequence",
    "log_residual": "sequence",
    "count": "sequence",
    "logits/tags/potentials": "model",
}


class CrfTeacher(keras.Model):
    """An encoder, transitions, and the K best paths of both as signals."""

    def __init__(self, encoder, task):
        super().__init__(name="teacher")
        self.encoder, self.barred = encoder, barred(task)
        self.steps = self.add_weight(
            self.barred.shape, keras.initializers.RandomNormal(1.0, seed=11)
        )

    def call(self, inputs, training=False):
        logits = self.encoder(inputs, training=training)["logits/tags"]
        potentials, mask = self.steps + self.barred, inputs["token_mask"]
        emissions = at_tokens(logits, inputs["tokens"])
        paths, *rest = k_best(emissions, potentials, mask, BEST)
        found = (logits, ops.swapaxes(paths, 1, 2), *rest, potentials)
        return dict(zip(LEVELS, found, strict=True))

    def level(self, signal):
        return LEVELS[signal]

    def join(self, signal):
        """The best paths of two windows are not those of the text: none, but of the logits."""
        return JOINS["subword"] if signal == "logits/tags" else None


class CrfStudent(keras.Model):
    """Embeddings, a convolution, emissions; its transitions are a signal of the model."""

    def __init__(self, vocabulary, task):
        super().__init__(name="student")
        self.embedding = keras.layers.Embedding(vocabulary, 6)
        self.encoder = keras.layers.Conv1D(6, 3, padding="same", activation="tanh")
        self.emissions = keras.layers.Dense(len(task.outputs[0].labels))
        self.barred = barred(task)
        self.steps = self.add_weight(self.barred.shape, "zeros")
        self({"input_ids": np.zeros((1, 4), "int32")})

    def call(self, inputs, training=False):
        logits = self.emissions(self.encoder(self.embedding(inputs["input_ids"])))
        return {"labels/tags": logits, "labels/tags/potentials": self.steps + self.barred}

    def level(self, signal):
        return {"labels/tags": "subword", "labels/tags/potentials": "model"}[signal]

    def layer_groups(self):
        layers = (self.emissions, self.encoder, self.embedding)
        weights = ([self.steps], *(layer.weights for layer in layers))
        return list(zip(GROUPS, weights, strict=True))


GROUPS = ("crf", "head", "encoder", "embedding")


@pytest.fixture
def sets(corpus):
    return {
        "train": corpus(16, 1),
        "transfer": corpus(24, 2, labelled=False),
        "held_out": corpus(7, 3) + corpus(6, 4, labelled=False),
    }


@pytest.fixture
def task(sets):
    return Tags.from_examples(sets["train"])


@pytest.fixture
def models(named, encoder, subwords, tokenizer, task):
    body = encoder(1, {"tags": ("word", len(task.outputs[0].labels))})
    student = CrfStudent(tokenizer.get_vocab_size(), task)
    return {"teacher": named(CrfTeacher(body, task), subwords), "student": named(student, subwords)}


def crf_of(named_model, example, emissions, potentials):
    """All legal paths of a text, most probable first."""
    (window,) = named_model.featurizer.encode(example.words)
    batch = {name: array[None] for name, array in window.inputs.items()}
    batch |= {
        "tokens": window.tokens[None],
        "token_mask": np.ones((1, len(window.tokens)), "int32"),
    }
    signals = named_model.model(batch)
    return enumerate_paths(np.array(signals[emissions])[0, window.tokens], signals[potentials])


def term_values(models, examples, task):
    """The terms in closed form, in the order of `TERMS`: each a mean over the texts it reads."""
    values = []
    for example in examples:
        theirs = crf_of(models["teacher"], example, "logits/tags", "logits/tags/potentials")
        own = crf_of(models["student"], example, "labels/tags", "labels/tags/potentials")
        labels = len(task.outputs[0].labels)
        best = theirs.paths[:BEST]
        p, log_q = np.exp(theirs.log_p[:BEST]), np.array([*map(own.log_p_of, best)])
        rest = np.exp(theirs.log_residual(best)) * own.log_residual(best)
        gold = task.targets(example).get("tags")
        values.append(
            (
                -own.log_p_of(best[0] if gold is None else gold),
                -p.sum() * np.logaddexp.reduce(log_q) - rest,
                -(p * log_q).sum() - rest,
                -xlogy(theirs.marginals(labels), own.marginals(labels)).sum(),
            )
        )
    return np.mean(values, axis=0)


def test_the_teachers_paths_are_its_most_probable(models, sets, task, tmp_path):
    teacher, examples = models["teacher"], sets["held_out"]
    rows = encode_rows(examples, teacher.featurizer, task)
    store_signals(teacher.model, rows, list(LEVELS), tmp_path / "cache")
    stored = load_signals(tmp_path / "cache", rows)
    batch = stored.batch(rows, range(len(rows)), rows.inputs(range(len(rows))))
    assert batch["paths"].dtype == np.int32
    potentials = np.array(teacher.model.steps) + teacher.model.barred
    np.testing.assert_array_equal(batch["logits/tags/potentials"], potentials)
    for i, example in enumerate(examples):
        expected = crf_of(teacher, example, "logits/tags", "logits/tags/potentials")
        paths, log_p = expected.paths, expected.log_p
        count = min(BEST, len(paths))
        assert batch["count"][i] == count
        found = batch["paths"][i, : len(example.words), :count].T
        np.testing.assert_array_equal(found, paths[:count])
        np.testing.assert_allclose(batch["log_p"][i, :count], log_p[:count], rtol=1e-3, atol=1e-4)
        assert (batch["log_p"][i, count:] == IMPOSSIBLE).all()
    assert set(batch["count"]) == {3, BEST}  # the ragged case is among them


def test_paths_of_a_text_in_several_windows_are_refused(models, sets, task, tmp_path, tokenizer):
    teacher = models["teacher"].model
    rows = encode_rows(sets["train"], SubwordFeaturizer.from_tokenizer(tokenizer, 6), task)
    with pytest.raises(RecipeError, match="the signals paths, log_p make none of the whole text"):
        store_signals(teacher, rows, ["logits/tags", "paths", "log_p"], tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    store_signals(teacher, rows, ["logits/tags", "logits/tags/potentials"], tmp_path / "cache")


def test_one_stage_learns_from_paths_on_pooled_sets(
    recipe, models, sets, task, tmp_path, curves, watch
):
    (stage,) = recipe(MODELS, STAGES).distill
    schedule = Schedule(models, sets, task, tmp_path, seed=3, callbacks=watch)
    before = term_values(models, sets["held_out"], task)
    assert schedule.run([stage]) == {"student": 4 * 5}  # 16 + 24 sentences, 8 at a time
    curve = curves(schedule)
    for name in TERMS:
        values = curve("multi_grained", name)
        assert values[-1] < values[0], name
    assert watch.moved("multi_grained") == set(GROUPS)

    # Equation 9: all weights are 1 at first, and learn.
    monitored = curve("multi_grained")
    assert monitored[0] == pytest.approx(before.sum(), rel=1e-4)
    assert monitored[-1] == min(monitored) < 0.8 * monitored[0]
    after = term_values(models, sets["held_out"], task)
    learned = schedule.done["student"][0].parameters
    log_weights = np.array([learned[f"{name}.log_weight"] for name in TERMS])
    assert (log_weights != 0).all()
    last = [curve("multi_grained", f"{name}.log_weight")[-1] for name in TERMS]
    np.testing.assert_allclose(log_weights, last, rtol=1e-4)
    expected = np.exp(log_weights) @ after - log_weights.sum() / 2
    assert monitored[-1] == pytest.approx(expected, rel=1e-3)
    assert len(list((tmp_path / "cache").iterdir())) == 3  # each set once, not each pool
