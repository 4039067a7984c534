"""Multi-grained distillation (Zhou et al. 2021): one stage, CRF signals, learned weights."""

from __future__ import annotations

from itertools import product

import keras
import numpy as np
import pytest
from keras import ops

from tests.seams.crf import IMPOSSIBLE, best_paths, log_partition, path_scores
from tests.seams.losses import token_posterior
from tfdistil.distill.forward import JOINS, at_tokens
from tfdistil.distill.objectives import objective
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
      - {loss: crf_nll, stream: [train, transfer]}
      - {loss: sequence_fuzzy, stream: [train, transfer]}
      - {loss: sequence_cross_entropy, stream: [train, transfer]}
      - {loss: token_posterior, stream: [train, transfer]}
    weighting: uncertainty
    optimizer: {learning_rate: 5.0e-2}
    batch_size: 8
    stop: {epochs: 4, monitor: loss, on: held_out}
"""
TERMS = ("crf_nll", "sequence_fuzzy", "sequence_cross_entropy", "token_posterior")


# The objectives. Student signals are emissions and potentials; paths are [B, U, K].


def log_rest(log_p):
    """log(1 - Σ p), kept finite."""
    return ops.log(ops.maximum(1.0 - ops.sum(ops.exp(log_p), axis=-1), 1e-6))


def path_log_probabilities(student, paths, count, mask):
    """Equation 1 of the teacher's paths under the student, ``[B, K]``, those there are."""
    scores = [path_scores(*student, paths[:, :, k], mask) for k in range(BEST)]
    log_q = ops.stack(scores, axis=-1) - ops.expand_dims(log_partition(*student, mask), -1)
    return ops.where(ops.arange(BEST) < ops.expand_dims(count, -1), log_q, IMPOSSIBLE)


def sequence_cross_entropy(student, teacher, mask):
    """Equation 4: over the teacher's K best paths and what is left beside them."""
    paths, log_p, count = teacher
    log_q = path_log_probabilities(student, paths, count, mask)
    kept = ops.sum(ops.exp(log_p) * log_q, axis=-1)
    return ops.mean(-kept - ops.exp(log_rest(log_p)) * log_rest(log_q))


def sequence_fuzzy(student, teacher, mask):
    """Equation 6: binary cross-entropy of the mass on all K paths together."""
    paths, log_p, count = teacher
    log_q = path_log_probabilities(student, paths, count, mask)
    p = ops.sum(ops.exp(log_p), axis=-1)
    return ops.mean(-p * ops.logsumexp(log_q, axis=-1) - (1 - p) * log_rest(log_q))


def crf_nll(student, teacher, target, mask):
    """Equation 7: the gold tags where there are any, else the teacher's best path."""
    gold = ops.all(ops.logical_or(target >= 0, mask == 0), axis=-1, keepdims=True)
    hard = ops.where(gold, ops.maximum(target, 0), teacher[:, :, 0])
    return ops.mean(log_partition(*student, mask) - path_scores(*student, hard, mask))


@pytest.fixture(autouse=True)
def objectives():
    student = ("{head}/{output}", "{head}/potentials")
    paths = {"student": student, "teacher": ("paths", "log_p", "count")}
    texts = {"count": lambda mask, target: ops.shape(mask)[0]}
    objective("sequence_cross_entropy", **paths, **texts)(sequence_cross_entropy)
    objective("sequence_fuzzy", **paths, **texts)(sequence_fuzzy)
    objective("crf_nll", student=student, teacher="paths", target="{output}", **texts)(crf_nll)
    both = {"student": student, "teacher": ("logits/{output}", "potentials")}
    objective("token_posterior", **both)(token_posterior)


def barred(task):
    """`IMPOSSIBLE` where IOB2 forbids a step; the last row is for the start."""
    start, follow = allowed_transitions(task.outputs[0].labels)
    return np.where(np.concatenate([follow, start[None]]), 0, IMPOSSIBLE).astype("float32")


LEVELS = {
    "logits/tags": "subword",
    "paths": "token",
    "log_p": "sequence",
    "count": "sequence",
    "potentials": "model",
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
        paths, scores, count = best_paths(emissions, potentials, mask, BEST)
        log_p = scores - ops.expand_dims(log_partition(emissions, potentials, mask), -1)
        found = (logits, paths, log_p, count, potentials)
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
        return {"labels/tags": logits, "labels/potentials": self.steps + self.barred}

    def level(self, signal):
        return {"labels/tags": "subword", "labels/potentials": "model"}[signal]

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


# The oracle: every tag sequence of a text, one by one.


def everything(emissions, potentials):
    """All legal tag sequences ``[n, U]`` of a text, most probable first, and their log P."""
    tokens, labels = emissions.shape
    paths = np.array(list(product(range(labels), repeat=tokens)))
    scores = emissions[np.arange(tokens), paths].sum(-1) + potentials[-1, paths[:, 0]]
    scores += potentials[paths[:, :-1], paths[:, 1:]].sum(-1)
    legal = scores > IMPOSSIBLE / 2
    paths, scores = paths[legal], scores[legal]
    order = np.argsort(-scores, kind="stable")
    top = scores[order[0]]
    return paths[order], (scores - top - np.log(np.exp(scores - top).sum()))[order]


def crf_of(named_model, example, emissions, potentials):
    """`everything` of a model for a text."""
    (window,) = named_model.featurizer.encode(example.words)
    batch = {name: array[None] for name, array in window.inputs.items()}
    batch |= {
        "tokens": window.tokens[None],
        "token_mask": np.ones((1, len(window.tokens)), "int32"),
    }
    signals = named_model.model(batch)
    at = np.array(signals[emissions], "float64")[0, window.tokens]
    return everything(at, np.array(signals[potentials], "float64"))


def term_values(models, examples, task):
    """The four terms in closed form, in the order of `TERMS`."""
    values = []
    for example in examples:
        paths, p = crf_of(models["teacher"], example, "logits/tags", "potentials")
        same, q = crf_of(models["student"], example, "labels/tags", "labels/potentials")
        p = np.exp(p)
        log_q = dict(zip(map(tuple, same), q, strict=True))
        q = np.array([log_q[tuple(path)] for path in paths])
        best, rest = slice(0, BEST), max(1 - p[:BEST].sum(), 1e-6)
        q_sum, q_rest = np.exp(q[best]).sum(), max(1 - np.exp(q[best]).sum(), 1e-6)
        gold = task.targets(example).get("tags", paths[0])
        by_tag = np.eye(len(task.outputs[0].labels))[paths]  # [n, U, L]
        p_tag = np.einsum("n,nul->ul", p, by_tag)
        q_tag = np.maximum(np.einsum("n,nul->ul", np.exp(q), by_tag), 1e-9)
        values.append(
            (
                -log_q[tuple(gold)],
                -p[best].sum() * np.log(q_sum) - (1 - p[best].sum()) * np.log(q_rest),
                -(p[best] * q[best]).sum() - rest * np.log(q_rest),
                -(p_tag * np.log(q_tag)).sum(-1),
            )
        )
    *of_texts, of_units = zip(*values, strict=True)
    return np.array([*(np.mean(value) for value in of_texts), np.concatenate(of_units).mean()])


def test_the_teachers_paths_are_its_most_probable(models, sets, task, tmp_path):
    teacher, examples = models["teacher"], sets["held_out"]
    rows = encode_rows(examples, teacher.featurizer, task)
    store_signals(teacher.model, rows, list(LEVELS), tmp_path / "cache")
    stored = load_signals(tmp_path / "cache", rows)
    batch = stored.batch(rows, range(len(rows)), rows.inputs(range(len(rows))))
    assert batch["paths"].dtype == np.int32
    potentials = np.array(teacher.model.steps) + teacher.model.barred
    np.testing.assert_array_equal(batch["potentials"], potentials)
    for i, example in enumerate(examples):
        paths, log_p = crf_of(teacher, example, "logits/tags", "potentials")
        count = min(BEST, len(paths))
        assert batch["count"][i] == count
        found = batch["paths"][i, : len(example.words), :count].T
        np.testing.assert_array_equal(found, paths[:count])
        np.testing.assert_allclose(batch["log_p"][i, :count], log_p[:count], rtol=1e-3, atol=1e-4)
        assert (batch["log_p"][i, count:] < IMPOSSIBLE / 2).all()
    assert set(batch["count"]) == {3, BEST}  # the ragged case is among them


def test_paths_of_a_text_in_several_windows_are_refused(models, sets, task, tmp_path, tokenizer):
    teacher = models["teacher"].model
    rows = encode_rows(sets["train"], SubwordFeaturizer.from_tokenizer(tokenizer, 6), task)
    with pytest.raises(RecipeError, match="the signals paths, log_p make none of the whole text"):
        store_signals(teacher, rows, ["logits/tags", "paths", "log_p"], tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    store_signals(teacher, rows, ["logits/tags", "potentials"], tmp_path / "cache")


def test_one_stage_learns_from_paths_on_pooled_sets(
    recipe, models, sets, task, tmp_path, curves, watch
):
    (stage,) = recipe(MODELS, STAGES).distill
    schedule = Schedule(models, sets, task, tmp_path, seed=3, callbacks=watch)
    before = term_values(models, sets["held_out"], task)
    assert schedule.run([stage]) == {"student": 4 * 5}  # 16 + 24 sentences, 8 at a time
    curve = curves(schedule)
    names = [f"{term}.tags.train+transfer" for term in TERMS]
    for name in names:
        values = curve("multi_grained", name)
        assert values[-1] < values[0], name
    assert watch.moved("multi_grained") == set(GROUPS)

    # Equation 9: all weights are 1 at first, and learn.
    monitored = curve("multi_grained")
    assert monitored[0] == pytest.approx(before.sum(), rel=1e-4)
    assert monitored[-1] == min(monitored) < 0.8 * monitored[0]
    after = term_values(models, sets["held_out"], task)
    learned = schedule.done["student"][0].parameters
    log_weights = np.array([learned[f"{name}.log_weight"] for name in names])
    assert (log_weights != 0).all()
    last = [curve("multi_grained", f"{name}.log_weight")[-1] for name in names]
    np.testing.assert_allclose(log_weights, last, rtol=1e-4)
    expected = np.exp(log_weights) @ after - log_weights.sum() / 2
    assert monitored[-1] == pytest.approx(expected, rel=1e-3)
    assert len(list((tmp_path / "cache").iterdir())) == 3  # each set once, not each pool
