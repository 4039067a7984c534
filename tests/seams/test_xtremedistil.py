"""XtremeDistil (Mukherjee & Awadallah 2020): D0, D2, D3.1, D3.2, D4.1 and D4.2 are stages."""

from __future__ import annotations

from itertools import pairwise

import keras
import numpy as np
import pytest

from tests.others_long import others_long
from tfdistil.distill.schedule import Schedule
from tfdistil.tasks import Tags

MODELS = """
  teacher: {scratch: {layers: 2, hidden_dim: 8}}
  student: {kind: tiny, projection: true, head_input: projection, heads: [logits, labels]}
"""
# A short phase that is monitored on what it minimises.
SHORT = """optimizer: {learning_rate: 2.0e-2}
    batch_size: 8
    stop: {epochs: 3, monitor: loss, on: transfer_held_out}"""
LABELLED = SHORT.replace("transfer_held_out", "dev")
REPRESENTATION = f"""
  - name: representation
    terms: [{{loss: hidden_kl, stream: transfer, layer: 1}}]
    groups: [projection, encoder, embedding]
    {SHORT}"""
LOGITS = f"""
  - name: logits
    terms: [{{loss: logit_mse, stream: transfer, head: logits}}]
    {SHORT}"""
LABELS = f"""
  - name: labels
    terms: [{{loss: cross_entropy, stream: train, head: labels}}]
    {LABELLED}"""
BOTH = f"""
  - name: both
    terms:
      - {{loss: cross_entropy, stream: train, head: labels}}
      - {{loss: logit_mse, stream: transfer, head: logits}}
    {LABELLED}"""
GRADUALLY = "\n    unfreeze: top_down"
SCHEDULES = {
    "D3.1": REPRESENTATION + BOTH,
    "D3.2": REPRESENTATION + BOTH + GRADUALLY,
    "D4.1": REPRESENTATION + LOGITS + LABELS,
    "D4.2": REPRESENTATION + LOGITS + GRADUALLY + LABELS + GRADUALLY,
}
GROUPS = ["heads", "projection", "encoder", "embedding"]


class TinyStudent(keras.Model):
    """Embeddings, a convolution, the projection of equation 5, two heads on it."""

    def __init__(self, vocabulary, labels, seed=3):
        super().__init__(name="tiny")
        start = keras.initializers.GlorotUniform(seed)
        self.embedding = keras.layers.Embedding(
            vocabulary, 6, embeddings_initializer=keras.initializers.RandomNormal(0.4, seed=seed)
        )
        self.encoder = keras.layers.Conv1D(
            6, 3, padding="same", activation="tanh", kernel_initializer=start
        )
        self.projection = keras.layers.Dense(8, activation="gelu", kernel_initializer=start)
        self.heads = {
            name: keras.layers.Dense(labels, kernel_initializer=start, name=name)
            for name in ("logits", "labels")
        }
        self({"input_ids": np.zeros((1, 4), "int32")})

    def call(self, inputs, training=False):
        hidden = self.encoder(self.embedding(inputs["input_ids"]))
        projection = self.projection(hidden)
        logits = {f"{name}/tags": head(projection) for name, head in self.heads.items()}
        return {"hidden": hidden, "projection": projection, **logits}

    def level(self, signal):
        return "subword"

    def layer_groups(self):
        heads = [weight for head in self.heads.values() for weight in head.weights]
        rest = (self.projection, self.encoder, self.embedding)
        groups = zip(GROUPS[1:], (layer.weights for layer in rest), strict=True)
        return [("heads", heads), *groups]


@pytest.fixture
def sets(corpus):
    return {
        "train": corpus(20, 1),
        "dev": corpus(13, 2),
        "transfer": corpus(30, 3, labelled=False),
        "transfer_held_out": corpus(13, 4, labelled=False),
    }


@pytest.fixture
def task(sets):
    return Tags.from_examples(sets["train"])


@pytest.fixture
def models(named, encoder, subwords, tokenizer, task):
    labels = len(task.outputs[0].labels)
    return {
        "teacher": named(encoder(2, {"tags": ("word", labels)}), subwords),
        "student": named(TinyStudent(tokenizer.get_vocab_size(), labels), subwords),
    }


def per_word(named_model, examples, signal):
    """A signal at the first pieces of all words, one text at a time: no padding, no gathering."""
    found = []
    for example in examples:
        (window,) = named_model.featurizer.encode(example.words)
        signals = named_model.model({name: a[None] for name, a in window.inputs.items()})
        found.append(np.array(signals[signal])[0, window.tokens])
    return np.concatenate(found).astype(np.float64)


def log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def loss_of(term, models, examples, task):
    """Each of the three losses in closed form, mean over words."""
    teacher, student = models["teacher"], models["student"]
    if term == "representation":
        log_q = log_softmax(per_word(student, examples, "projection"))
        log_p = log_softmax(per_word(teacher, examples, "hidden/1"))
        return (np.exp(log_p) * (log_p - log_q)).sum(-1).mean()
    if term == "logits":
        error = per_word(student, examples, "logits/tags") - per_word(
            teacher, examples, "logits/tags"
        )
        return 0.5 * (error**2).sum(-1).mean()
    gold = np.concatenate([task.targets(example)["tags"] for example in examples])
    log_q = log_softmax(per_word(student, examples, "labels/tags"))
    return -log_q[np.arange(len(gold)), gold].mean()


def test_d2_weighs_three_losses_on_two_streams(recipe, models, sets, task, tmp_path, curves, watch):
    """Equation 7 with alpha = 1, beta = 10, gamma = 0.1."""
    stages = recipe(
        MODELS,
        f"""
  - name: joint
    terms:
      - {{loss: cross_entropy, stream: train, weight: 1, head: labels}}
      - {{loss: hidden_kl, stream: transfer, weight: 10, layer: 1}}
      - {{loss: logit_mse, stream: transfer, weight: 0.1, head: logits}}
    {LABELLED}""",
    ).distill
    parts = [loss_of(name, models, sets["dev"], task) for name in ("labels", "representation")]
    expected = parts[0] + 10 * parts[1] + 0.1 * loss_of("logits", models, sets["dev"], task)
    schedule = Schedule(models, sets, task, tmp_path, seed=7, callbacks=watch)
    updates = schedule.run(stages)
    curve = curves(schedule)
    assert updates == {"student": 3 * 4}  # 30 sentences of the longer stream, 8 at a time
    assert curve("joint")[0] == pytest.approx(expected, rel=1e-4)
    assert curve("joint")[-1] < 0.8 * curve("joint")[0]
    names = ["cross_entropy.tags.train", "hidden_kl.word.transfer", "logit_mse.tags.transfer"]
    for name in names:
        values = curve("joint", name)
        assert values[-1] < values[0]
    total = curve("joint", "loss")[0]
    weighted = np.dot([1, 10, 0.1], [curve("joint", name)[0] for name in names])
    assert total == pytest.approx(weighted, rel=1e-4)
    assert watch.moved("joint") == set(GROUPS)


@pytest.mark.parametrize("name", others_long(SCHEDULES, ["D4.2"]))
def test_stages_follow_one_another(name, recipe, models, sets, task, tmp_path, curves, watch):
    stages = recipe(MODELS, SCHEDULES[name]).distill
    first = loss_of("representation", models, sets["transfer_held_out"], task)
    schedule = Schedule(models, sets, task, tmp_path, seed=7, callbacks=watch)
    schedule.run(stages)
    curve = curves(schedule)

    assert curve("representation")[0] == pytest.approx(first, rel=1e-4)
    assert curve("representation")[-1] < 0.9 * first
    assert watch.moved("representation") == set(GROUPS[1:])

    phases = ["representation"]
    for stage in stages[1:]:
        gradual = [f"{stage.name}.{group}" for group in GROUPS]
        phases += gradual if stage.unfreeze == "top_down" else [stage.name]
    assert list(watch.after) == phases
    for before, after in pairwise(phases):
        assert_same(watch.after[before], watch.before[after])
    for phase in phases[1:]:
        unfrozen = GROUPS.index(phase.partition(".")[2] or "embedding") + 1
        assert watch.moved(phase) == set(GROUPS[:unfrozen])
        trained = {"logits": {"logits"}, "labels": {"labels"}}.get(
            phase.partition(".")[0], {"logits", "labels"}
        )
        heads = [name for name in watch.moved_weights(phase) if name.startswith("heads")]
        assert {head.split("/")[-2] for head in heads} == trained
        assert min(curve(phase)) < curve(phase)[0]  # the phase made the student better
    # A stage's last loss is what its student has by then.
    last = stages[-1].name
    if last == "labels":
        best = min(curve(phases[-1]))
        assert loss_of("labels", models, sets["dev"], task) == pytest.approx(best, rel=1e-4)


def assert_same(one, other):
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


def test_d0_is_one_schedule_per_language(
    recipe, named, corpus, subwords, tokenizer, tmp_path, curves
):
    """The same recipe over each language's sentences, with a student of its own, no teacher."""
    stages = recipe(
        MODELS,
        f"""
  - name: labels
    teacher: null
    terms: [{{loss: cross_entropy, stream: train, head: labels}}]
    {LABELLED}""",
    ).distill
    sets = {
        "train": corpus(16, 1) + corpus(16, 2, "it"),
        "dev": corpus(8, 3) + corpus(8, 4, "it"),
    }
    task = Tags.from_examples(sets["train"])
    size = tokenizer.get_vocab_size(), len(task.outputs[0].labels)
    schedules = {
        language: Schedule(
            {"student": named(TinyStudent(*size), subwords)},
            {
                name: [example for example in examples if example.language == language]
                for name, examples in sets.items()
            },
            task,
            tmp_path / language,
            seed=7,
        )
        for language in ("en", "it")
    }
    for language, schedule in schedules.items():
        assert len(schedule.rows("student", "train")) == 16
        schedule.folder.mkdir()
        schedule.run(stages)
        assert curves(schedule)("labels")[-1] < 0.9 * curves(schedule)("labels")[0], language
    students = [schedule.models["student"].model for schedule in schedules.values()]
    assert not np.allclose(students[0].embedding.weights[0], students[1].embedding.weights[0])
