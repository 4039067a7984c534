"""CAMeMBERT (DeGenaro and Kalita 2022): a cascade is stages that name teacher and student."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tfdistil.distill.distiller import Distiller
from tfdistil.distill.rows import encode_rows
from tfdistil.distill.schedule import Schedule
from tfdistil.distill.terms import bind_terms
from tfdistil.encoders import Encoder
from tfdistil.errors import RecipeError
from tfdistil.models.masked_language import copy_body
from tfdistil.padding import MULTIPLE
from tfdistil.recipe.schema.stages import StageSpec, TermSpec
from tfdistil.tasks import Tags
from tfdistil.text.subwords import SubwordFeaturizer

# A recipe needs a `student`, which is the last of the cascade.
MODELS = """
  teacher: {scratch: {layers: 3, hidden_dim: 8}}
  assistant: {kind: without_top_layer}
  student: {kind: without_top_layer}
"""
# Rows are [student, teacher, teacher]: a layer learns the mean of two neighbours.
STAGES = """
  - name: two_layers
    teacher: teacher
    student: assistant
    terms:
      - {loss: attention_mse, stream: transfer, weight: 0.5, layers: [[1, 1, 2], [2, 2, 3]]}
      - {loss: states_mse, stream: transfer, weight: 0.5, layers: [[0, 0, 1], [1, 1, 2], [2, 2, 3]]}
    groups: [layer_2, layer_1]
    optimizer: {learning_rate: 1.0e-3}
    batch_size: 8
    stop: {epochs: 4, monitor: loss, on: transfer_held_out}
  - name: one_layer
    teacher: assistant
    student: student
    terms:
      - {loss: attention_mse, stream: transfer, weight: 1, layers: [[1, 1, 2]]}
      - {loss: states_mse, stream: transfer, weight: 1, layers: [[0, 0, 1], [1, 1, 2]]}
    groups: [layer_1]
    optimizer: {learning_rate: 1.0e-3}
    batch_size: 8
    stop: {epochs: 4, monitor: loss, on: transfer_held_out}
"""
OF = {"two_layers": ("assistant", "teacher"), "one_layer": ("student", "assistant")}
"""The models of each stage."""


@pytest.fixture
def sets(corpus):
    return {
        "transfer": corpus(40, 1, labelled=False),
        "transfer_held_out": corpus(13, 2, labelled=False),
    }


@pytest.fixture
def cascade(named, on_demand, encoder, subwords):
    """Makes the models: each next one when its stage begins, from the one before as it is then."""

    def without_top_layer(larger):
        config = replace(larger.model.config, layers=larger.model.config.layers - 1)
        smaller = Encoder(config, attention=True, seed=2)
        copy_body(larger.model, smaller)
        return named(smaller, subwords)

    def make():
        return on_demand(
            {
                "teacher": lambda models: named(encoder(3, attention=True), subwords),
                "assistant": lambda models: without_top_layer(models["teacher"]),
                "student": lambda models: without_top_layer(models["assistant"]),
            }
        )

    return make


def weights(model):
    """Group to arrays."""
    return {name: [np.array(w) for w in group] for name, group in model.layer_groups()}


def assert_same(one, other):
    for name, arrays in one.items():
        for array, twin in zip(arrays, other[name], strict=True):
            np.testing.assert_array_equal(array, twin, err_msg=name)


def equation_3(student, teacher, examples):
    """The loss of a model with one layer fewer, one text at a time: nothing is padded."""
    layers = student.model.config.layers
    squares = {}
    for example in examples:
        (window,) = student.featurizer.encode(example.words)
        inputs = {name: array[None] for name, array in window.inputs.items()}
        s, t = student.model(inputs), teacher.model(inputs)
        for kind, first in (("attention", 1), ("hidden", 0)):
            for j in range(first, layers + 1):
                target = (np.array(t[f"{kind}/{j}"]) + np.array(t[f"{kind}/{j + 1}"])) / 2
                error = (np.array(s[f"{kind}/{j}"]) - target) ** 2
                squares.setdefault((kind, j), []).append(error.ravel())
    return sum(np.concatenate(errors).mean() for errors in squares.values()) / layers


@pytest.fixture
def schedule(sets, tmp_path, watch):
    """Makes a schedule, as each time the command starts, and what notes the losses it begins at."""

    def make(models):
        before = {}

        def note(phase, student, teacher):
            before[phase] = equation_3(models[student], models[teacher], sets["transfer_held_out"])

        def callbacks(phase, updates):
            note(phase, *OF[phase])
            return watch(phase, updates)

        made = Schedule(models, sets, Tags(("O",)), tmp_path, seed=3, callbacks=callbacks)
        return made, before

    return make


def test_each_student_teaches_the_next(recipe, cascade, schedule, sets, curves, watch):
    """Stopped between the stages, and gone on with models made anew."""
    stages = recipe(MODELS, STAGES).distill
    stopped = cascade()
    begun, first = schedule(stopped)
    assert begun.run(stages[:1]) == {"assistant": 4 * 5}
    assert "student" not in stopped.made

    models = cascade()
    original = weights(models["teacher"].model)
    resumed, second = schedule(models)
    assert resumed.run(stages) == {"assistant": 4 * 5, "student": 4 * 5}
    assert list(first) == ["two_layers"]
    assert list(second) == ["one_layer"]
    assert_same(weights(stopped["assistant"].model), weights(models["assistant"].model))

    curve, before = curves(resumed), first | second
    for phase, groups in (("two_layers", {"layer_2", "layer_1"}), ("one_layer", {"layer_1"})):
        student, teacher = (models[name] for name in OF[phase])
        after = equation_3(student, teacher, sets["transfer_held_out"])
        assert curve(phase)[0] == pytest.approx(before[phase], rel=1e-4)
        assert min(curve(phase)) == pytest.approx(after, rel=1e-4)
        assert after < 0.7 * before[phase]
        assert watch.moved(phase) == groups  # the embeddings stay the teacher's

    # A student starts as its teacher is by then, without the top layer, and leaves it as it is.
    assert_same(original, weights(models["teacher"].model))
    start, trained = watch.before["one_layer"], weights(models["assistant"].model)
    assert {name.split(" ")[0] for name in start} == {"layer_1", "embeddings"}
    for name in ("layer_1", "embeddings"):
        mine = [array for key, array in start.items() if key.startswith(name)]
        assert_same({name: mine}, trained)
    assert any((a != b).any() for a, b in zip(trained["layer_1"], original["layer_1"], strict=True))


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ("[1, 2]", r"'layers' is \[1, 2\]"),
        ("[[1, 1], [2, 2]]", r"attention/\{layers\[2\]\}"),
        ("[[1, 1, 2], [2, 2, 3, 4]]", r"'layers' has the row \[2, 2, 3, 4\]; a row has 3 numbers"),
    ],
)
def test_a_matrix_without_enough_columns_is_an_error(recipe, layers, message):
    stage = recipe(MODELS, STAGES.replace("[[1, 1, 2], [2, 2, 3]]", layers)).distill[0]
    with pytest.raises(RecipeError, match=message):
        bind_terms(stage.terms, Tags(("O",)).outputs)


def equation_6(student, teacher, examples, length):
    """The loss of a model with one layer fewer, each text padded to a length that counts whole."""
    squares = []
    for example in examples:
        (window,) = student.featurizer.encode(example.words)
        ids = np.zeros((1, length), np.int32)
        ids[0, : window.length] = window.inputs["input_ids"]
        inputs = {"input_ids": ids, "attention_mask": (np.arange(length) < window.length)[None] * 1}
        s, t = student.model(inputs), teacher.model(inputs)
        for name in ("attention/1", "hidden/1"):
            kind = name.split("/")[0]
            target = (np.array(t[f"{kind}/1"]) + np.array(t[f"{kind}/2"])) / 2
            squares.append(((np.array(s[name]) - target) ** 2).mean())
    return sum(squares) / len(examples)


def test_padding_that_counts_is_that_of_max_length(named, encoder, tokenizer, corpus, tmp_path):
    """Each text adds the same, whatever batch it is in and whatever lengths a backend likes."""
    reads = SubwordFeaturizer.from_tokenizer(tokenizer, 45, token_types=False)
    models = {
        name: named(encoder(layers, attention=True, max_positions=45, seed=layers), reads)
        for name, layers in (("teacher", 2), ("student", 1))
    }
    sets = {"transfer": corpus(9, 1, labelled=False)}
    rows = encode_rows(sets["transfer"], reads, None)
    assert len(set(rows.lengths)) > 2
    terms = [
        {"loss": loss, "stream": "transfer", "layers": [[1, 1, 2]], "padding": True}
        for loss in ("attention_mse", "states_mse")
    ]
    expected = equation_6(models["student"], models["teacher"], sets["transfer"], 45)
    for batch_size in (1, 4, 9):
        stop = {"updates": 1, "every": 1, "monitor": "loss", "on": "transfer"}
        rate = {"learning_rate": 1e-12}
        stage = StageSpec(name="s", terms=terms, stop=stop, batch_size=batch_size, optimizer=rate)
        (folder := tmp_path / str(batch_size)).mkdir()
        schedule = Schedule(models, sets, Tags(("O",)), folder, seed=3)
        schedule.run([stage])
        (ended,) = schedule.done["student"]
        assert ended.best == pytest.approx(expected, rel=1e-4)
    without = [dict(term, padding=False) for term in terms]
    assert schedule.check(stage).multiple == 45
    assert schedule.check(StageSpec(name="s", terms=without, stop=stop)).multiple == MULTIPLE


def test_a_teacher_in_training_mode_is_another_at_every_look(encoder, subwords, corpus):
    """As the paper has it; by default dropout of the teacher is off."""
    stage = StageSpec(name="s", terms=[TermSpec(loss="states_mse", layers=[[1, 1, 2], [2, 2, 3]])])
    teacher, student = encoder(3), encoder(2)
    rows = encode_rows(corpus(4, 1), subwords, None)
    batch = {"train": rows.inputs(range(4))}
    for dropout, values in ((False, 1), (True, 3)):
        terms = bind_terms(stage.terms, Tags(("O",)).outputs)
        distiller = Distiller(student, terms, teacher=teacher, teacher_dropout=dropout)
        seen = {float(distiller.compute_loss(batch, y_pred=distiller(batch))) for _ in range(3)}
        assert len(seen) == values


def test_what_selects_the_weights_is_measured_without_dropout(encoder, subwords, corpus):
    """The same weights have the same held-out loss at every check."""
    stage = StageSpec(name="s", terms=[TermSpec(loss="states_mse", layers=[[1, 1, 2], [2, 2, 3]])])
    terms = bind_terms(stage.terms, Tags(("O",)).outputs)
    distiller = Distiller(encoder(2), terms, teacher=encoder(3), teacher_dropout=True)
    batch = {"train": encode_rows(corpus(4, 1), subwords, None).inputs(range(4))}
    seen = set()
    for _ in range(3):
        distiller.reset_metrics()
        seen.add(float(distiller.test_step(batch)["loss"]))
    assert len(seen) == 1
