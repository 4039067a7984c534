"""Multi-grained distillation (Zhou et al. 2021): one stage, CRF signals, learned weights."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import ops
from scipy.special import xlogy

from tests.crf.oracle import enumerate_paths
from tfdistil.crf.constraints import IMPOSSIBLE, legal_steps
from tfdistil.crf.losses import fuzzy_cross_entropy, sequence_cross_entropy
from tfdistil.crf.paths import k_best
from tfdistil.distill.crf_objectives import texts
from tfdistil.distill.derived import derive
from tfdistil.distill.objectives import objective
from tfdistil.distill.rows import encode_rows
from tfdistil.distill.schedule import Schedule
from tfdistil.distill.signals import load_signals, store_signals
from tfdistil.heads.best_paths import PARTS, best_paths
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


class CrfTeacher(keras.Model):
    """An encoder and transitions; the best paths of both are derived from them."""

    def __init__(self, encoder, task):
        super().__init__(name="teacher")
        self.encoder, self.barred = encoder, barred(task)
        self.steps = self.add_weight(
            self.barred.shape, keras.initializers.RandomNormal(1.0, seed=11)
        )

    def call(self, inputs, training=False):
        logits = self.encoder(inputs, training=training)["logits/tags"]
        return {"logits/tags": logits, "logits/tags/potentials": self.steps + self.barred}

    def level(self, signal):
        levels = {"logits/tags": "subword", "logits/tags/potentials": "model"}
        return "derived" if self.derivations([signal]) else levels[signal]

    def derivations(self, names):
        found = best_paths("logits/tags", names, self.barred.shape[1])
        return [] if found is None else [found]


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


@pytest.mark.parametrize("max_length", [None, 6])
def test_the_stored_paths_are_the_teachers_most_probable(
    models, sets, task, tmp_path, tokenizer, max_length
):
    """Of whole texts, also where its windows hold four pieces."""
    teacher, examples = models["teacher"].model, sets["held_out"]
    rows = encode_rows(examples, models["teacher"].featurizer, task)
    windows = encode_rows(
        examples, SubwordFeaturizer.from_tokenizer(tokenizer, max_length or 64), task
    )
    assert (len(windows) > len(rows)) == (max_length is not None)
    read = ["logits/tags", "logits/tags/potentials"]
    store_signals(teacher, windows, {tmp_path / "cache": read})
    stored = load_signals(tmp_path / "cache", rows)
    names = [f"logits/tags/{part}/{BEST}" for part in PARTS]
    derived = derive(teacher.derivations(names), stored, rows, tmp_path / "cache")
    inputs = rows.inputs(range(len(rows)))
    batch = derived.batch(rows, range(len(rows)), inputs)
    scores = stored.batch(rows, range(len(rows)), inputs)
    tags, log_p, log_residual, count = (batch[name] for name in names)
    assert tags.dtype == np.int8
    for i, example in enumerate(examples):
        emissions = scores["logits/tags"][i, : len(example.words)]
        expected = enumerate_paths(emissions, scores["logits/tags/potentials"])
        n = min(BEST, len(expected.paths))
        assert count[i] == n
        np.testing.assert_array_equal(tags[i, : len(example.words), :n].T, expected.paths[:n])
        np.testing.assert_allclose(log_p[i, :n], expected.log_p[:n], rtol=1e-4, atol=1e-4)
        assert (log_p[i, n:] == IMPOSSIBLE).all()
        rest = expected.log_residual(expected.paths[:n])
        np.testing.assert_allclose(log_residual[i], rest, rtol=1e-4, atol=1e-4)
    assert set(count) == {3, BEST}  # the ragged case is among them


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


ONE_PASS = STAGES.replace("epochs: 4", "epochs: 1")
IN_THE_STEP = ONE_PASS.replace("fuzzy_", "stepwise_fuzzy_").replace(
    "sequence_", "stepwise_sequence_"
)
"""The same stage with the teacher's K best paths found in each step."""


def test_lists_from_disk_train_as_lists_found_in_the_step(
    recipe, models, sets, task, tmp_path, curves
):
    """Of whole texts; what windows have is in tests/distill/test_derived.py."""
    own = ("{head}/{output}", "{head}/{output}/potentials")
    theirs = ("{teacher_head}/{output}", "{teacher_head}/{output}/potentials")
    for loss in (fuzzy_cross_entropy, sequence_cross_entropy):

        @objective(f"stepwise_{loss.__name__}", student=own, teacher=theirs, count=texts)
        def stepwise(student, teacher, mask, k: int, loss=loss):
            best = map(ops.stop_gradient, k_best(*teacher, mask, k))
            return loss(*student, *best, mask)

    student = models["student"].model
    start, runs = student.get_weights(), []
    for number, (stages, signals) in enumerate(
        ((ONE_PASS, "cached"), (ONE_PASS, "live"), (IN_THE_STEP, "cached"))
    ):
        student.set_weights(start)
        (stage,) = recipe(MODELS, f"{stages}    signals: {signals}\n").distill
        folder = tmp_path / str(number)
        folder.mkdir()
        schedule = Schedule(models, sets, task, folder, seed=3)
        assert schedule.run([stage])["student"] == 5
        runs.append((curves(schedule)("multi_grained"), student.get_weights()))
        lists = [*folder.glob("cache/*/*.paths.*/*.shard")]
        assert len(lists) == (3, 0, 3)[number]  # of each set; the last has hard labels of them
    for curve, weights in runs[:2]:
        np.testing.assert_allclose(curve, runs[2][0], rtol=1e-4)
        for one, other in zip(weights, runs[2][1], strict=True):
            np.testing.assert_allclose(one, other, atol=2e-4)
    assert abs(runs[0][1][0] - start[0]).max() > 0.01  # it did learn
