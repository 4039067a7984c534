"""A small student, really trained, with a real tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import pytest

from tfdistil.data.example import Example

ARTISTS = ["blur", "the beatles", "nina simone", "bob marley", "kate bush", "ella"]
ROOMS = ["kitchen", "living room", "garage", "bath", "small office"]
CITIES = ["berlin", "new york", "rome", "las vegas", "oslo"]
TEMPLATES = [
    ("play some {artist} in the {room}", "music"),
    ("i want to hear {artist} please", "music"),
    ("turn off the lights in the {room}", "lights"),
    ("lights on in the {room} and play {artist}", "lights"),
    ("will it rain in {city} tomorrow", "weather"),
    ("what is the weather like in {city}", "weather"),
]
VALUES = {"artist": ARTISTS, "room": ROOMS, "city": CITIES}


def sentence(rng: np.random.Generator) -> Example:
    text, label = TEMPLATES[rng.integers(len(TEMPLATES))]
    words, tags = [], []
    for part in text.split():
        if part.startswith("{"):
            kind = part.strip("{}")
            value = str(rng.choice(VALUES[kind])).split()
            words += value
            tags += [f"B-{kind}", *[f"I-{kind}"] * (len(value) - 1)]
        else:
            words.append(part)
            tags.append("O")
    return Example(tuple(words), tuple(tags), label, language="en")


def document(rng: np.random.Generator, least: int) -> Example:
    """Sentences with one intent, ``least`` words or more together."""
    first = sentence(rng)
    words, tags = list(first.words), list(first.tags)
    while len(words) < least:
        more = sentence(rng)
        if more.label == first.label:
            words += more.words
            tags += more.tags
    return Example(tuple(words), tuple(tags), first.label, language="en")


@dataclass(frozen=True)
class Trained:
    """What `export_student` takes, and labelled sentences it has not been trained on."""

    student: Any
    task: Any
    featurizer: Any
    splitter: Any
    dev: list[Example]
    train: list[Example]


def fit(
    student, featurizer, task, examples, epochs: int, rate: float = 0.01, head: str = "labels"
) -> None:
    """Train on labelled examples with plain cross-entropies, or the likelihood of a CRF."""
    import tensorflow as tf

    from tfdistil.distill.crf_objectives import crf_nll
    from tfdistil.distill.rows import encode_rows

    rows = encode_rows(examples, featurizer, task)
    optimizer = keras.optimizers.Adam(rate)
    optimizer.build(student.trainable_variables)

    @tf.function(reduce_retracing=True)
    def step(batch, targets):
        with tf.GradientTape() as tape:
            signals = student(batch, training=True)
            loss = tf.constant(0.0)
            for output in task.outputs:
                logits, gold = signals[f"{head}/{output.name}"], targets[output.name]
                if output.level == "word":
                    logits = tf.gather(logits, batch["tokens"], batch_dims=1)
                potentials = signals.get(f"{head}/{output.name}/potentials")
                if potentials is not None:
                    loss += crf_nll((logits, potentials), gold, tf.cast(gold >= 0, tf.int32))
                    continue
                each = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(gold, 0), logits)
                loss += tf.reduce_mean(each * tf.cast(gold >= 0, tf.float32))
        weights = student.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)

    rng = np.random.default_rng(0)
    for _ in range(epochs):
        order = rng.permutation(len(rows))
        for start in range(0, len(order), 32):
            chosen = order[start : start + 32]
            batch = rows.inputs(chosen, multiple=32)
            tokens = batch["tokens"].shape[1]
            targets = {o.name: rows.target(o.name, o.level, chosen, tokens) for o in task.outputs}
            step(*tf.nest.map_structure(tf.constant, (batch, targets)))


@pytest.fixture(scope="session")
def trained() -> Trained:
    from tfdistil.students import build_student
    from tfdistil.tasks import IntentSlots
    from tfdistil.text.subwords import SubwordFeaturizer
    from tfdistil.text.train_tokenizer import train_wordpiece
    from tfdistil.text.words import WordSplitter

    rng = np.random.default_rng(0)
    train, dev = ([sentence(rng) for _ in range(n)] for n in (320, 120))
    tokenizer = train_wordpiece([" ".join(e.words) for e in train], 150)
    featurizer = SubwordFeaturizer.from_tokenizer(tokenizer, 48)
    task = IntentSlots.from_examples(train)
    student = build_student(
        "bilstm",
        vocabulary=tokenizer.get_vocab_size(),
        embedding=16,
        hidden_dim=24,
        outputs={o.name: (o.level, len(o.labels)) for o in task.outputs},
        seed=1,
    )
    fit(student, featurizer, task, train, 14)
    return Trained(student, task, featurizer, WordSplitter("unicode"), dev, train)
