"""Terms bound to signals, and the loss they add up to."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest
from scipy.special import log_softmax

from tfdistil.distill.distiller import Distiller
from tfdistil.distill.objectives import OBJECTIVES, masked_mean, objective
from tfdistil.distill.streams import RowStream, StreamBatches
from tfdistil.distill.terms import bind_terms, stream_key
from tfdistil.distill.weighting import MOST
from tfdistil.errors import RecipeError
from tfdistil.recipe.schema.stages import TermSpec
from tfdistil.students.bilstm import BiLSTMStudent
from tfdistil.tasks import IGNORE, Output

OUTPUTS = (Output("slots", "word", ("O", "B-a")), Output("intent", "sequence", ("x", "y")))


@pytest.fixture
def own_objectives(monkeypatch):
    """Objectives with layers, registered for one test."""
    others = {name: known for name, known in OBJECTIVES.items() if name != "hidden_mse"}
    monkeypatch.setattr("tfdistil.distill.objectives.OBJECTIVES", others)

    @objective("hidden_mse", student="hidden/{layers[0]}", teacher="hidden/{layers[1]}")
    def hidden_mse(student, teacher, mask):
        return masked_mean(student[0] - teacher[0], mask)

    @objective("mean_of", student="{head}/{output}", teacher="hidden/{layer}")
    def mean_of(student, teacher, mask, factor, shift=0.0):
        return masked_mean(student - teacher, mask) * factor + shift


def bind(*specs, outputs=OUTPUTS):
    return bind_terms([TermSpec(**spec) for spec in specs], outputs)


def test_a_term_stands_for_every_output_or_the_one_it_names():
    terms = bind({"loss": "logit_mse", "head": "h", "weight": 3}, {"loss": "cross_entropy"})
    assert [(t.student, t.teacher, t.target, t.weight) for t in terms] == [
        (("h/slots",), ("logits/slots",), None, 3),
        (("h/intent",), ("logits/intent",), None, 3),
        (("labels/slots",), (), "slots", 1),
        (("labels/intent",), (), "intent", 1),
    ]
    (term,) = bind({"loss": "logit_mse", "output": "intent"})
    assert term.student == ("labels/intent",)


def test_labels_of_terms_tell_them_apart():
    terms = bind(
        {"loss": "logit_mse", "output": "slots"},
        {"loss": "logit_mse", "output": "slots", "stream": ["train", "transfer"]},
        {"loss": "logit_mse", "output": "slots", "weight": 2},
        {"loss": "masked_lm", "stream": "mlm"},
    )
    assert [term.label for term in terms] == [
        "logit_mse.slots.train",
        "logit_mse.slots.train+transfer",
        "logit_mse.slots.train'",
        "masked_lm.mlm",
    ]
    assert [term.stream for term in terms][1] == stream_key(("train", "transfer"))


def test_options_fill_the_names_of_signals_or_go_to_the_function(own_objectives):
    (term,) = bind({"loss": "mean_of", "output": "slots", "layer": 2, "factor": 0.5})
    assert term.teacher == ("hidden/2",)
    assert term.options == {"factor": 0.5}
    assert term.lists == frozenset()
    (term,) = bind({"loss": "hidden_mse", "layers": [[1, 2], [2, 4]]})
    assert term.student == ("hidden/1", "hidden/2")
    assert term.teacher == ("hidden/2", "hidden/4")
    assert term.lists == {"student", "teacher"}
    (term,) = bind({"loss": "hidden_mse", "layers": [[1, 2]]})
    assert term.lists == {"student", "teacher"}  # a list of one is a list


def test_signals_belong_to_the_term():
    """The same function on outputs, on pieces, and between any two layers."""
    plain, pieces, states = bind(
        {"loss": "soft_cross_entropy", "output": "slots"},
        {
            "loss": "soft_cross_entropy",
            "head": "h",
            "student_signal": "{head}/mlm",
            "teacher_signal": "{teacher_head}/mlm",
            "align": "subword",
            "scale": 0.5,
        },
        {
            "loss": "hidden_mse",
            "student_signal": "hidden/{to}",
            "teacher_signal": "hidden/9",
            "to": 3,
        },
    )
    assert plain.objective is pieces.objective
    assert (plain.student, plain.teacher, plain.align) == (
        ("labels/slots",),
        ("logits/slots",),
        "token",
    )
    assert (pieces.student, pieces.teacher, pieces.align) == (
        ("h/mlm",),
        ("logits/mlm",),
        "subword",
    )
    assert (pieces.label, pieces.options, pieces.on_subwords) == (
        "soft_cross_entropy.train",
        {"scale": 0.5},
        True,
    )
    assert (states.student, states.teacher, states.options) == (("hidden/3",), ("hidden/9",), {})


def test_masked_lm_is_cross_entropy_on_subwords():
    (default,) = bind({"loss": "masked_lm"})
    said = {"student_signal": "{head}/mlm", "target": "mlm", "align": "subword"}
    (term,) = bind({"loss": "cross_entropy", **said})
    read = [(t.student, t.teacher, t.target, t.align) for t in (default, term)]
    assert read[0] == read[1] == (("labels/mlm",), (), "mlm", "subword")


def test_the_teachers_head_is_its_first_one_or_the_one_named():
    specs = [
        TermSpec(loss="logit_mse", output="slots"),
        TermSpec(loss="logit_mse", output="slots", teacher_head="other"),
    ]
    first, named = bind_terms(specs, OUTPUTS, teacher_head="labels")
    assert (first.teacher, named.teacher) == (("labels/slots",), ("other/slots",))


def test_a_list_of_names_is_read_in_order(own_objectives):
    names = ["hidden/2", "hidden/1"]
    spec = {"loss": "mean_of", "output": "slots", "factor": 1, "teacher_signal": names}
    (term,) = bind(spec)
    assert term.teacher == ("hidden/2", "hidden/1")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"loss": "cross_entropy", "teacher_signal": "x"}, "the objective takes no teacher"),
        ({"loss": "logit_mse", "target": "mlm"}, "reads 'mlm', but the objective takes no target"),
        ({"loss": "logit_mse", "student_signal": "{head"}, "'{head' is no name of a signal"),
        ({"loss": "logit_mse", "student_signal": "{}"}, "'{}' cannot be filled"),
        ({"loss": "logit_mse", "student_signal": "x/{layer}"}, "needs the key 'layer'"),
        (
            {"loss": "hinge"},
            "unknown loss 'hinge'; there are attention_mse, crf_nll, cross_entropy",
        ),
        ({"loss": "logit_mse", "output": "tags"}, "no output 'tags'; ['intent', 'slots']"),
        ({"loss": "logit_mse", "scale": 2}, "term logit_mse: unknown key 'scale'"),
        ({"loss": "soft_cross_entropy", "sale": 2}, "besides those of every term it has scale"),
        ({"loss": "mean_of", "layer": 1}, "term mean_of: needs the key 'factor'"),
        ({"loss": "mean_of"}, "term mean_of: needs the key 'factor', 'layer'"),
        ({"loss": "hidden_mse", "layers": [[1]]}, "cannot be filled"),
    ],
)
def test_wrong_terms(own_objectives, spec, text):
    with pytest.raises(RecipeError) as caught:
        bind(spec)
    assert text in str(caught.value)


# The loss


@pytest.fixture
def batch(make_examples, make_rows, task, labels):
    """Six sentences with gold tags and random teacher logits, of which some are unlabelled."""
    rows = make_rows(make_examples(6, seed=4))
    found = RowStream(rows, task.outputs).batch(np.arange(len(rows)), np.random.default_rng(0))
    teacher = np.random.default_rng(1).normal(size=(*found["tokens"].shape, labels))
    found["teacher/logits/tags"] = teacher.astype(np.float32)
    found["target/tags"][2] = IGNORE
    return found


SPECS = (
    {"loss": "cross_entropy", "weight": 2.0},
    {"loss": "logit_mse", "weight": 0.5},
    {"loss": "soft_cross_entropy", "stream": "transfer", "scale": 3.0},
)


def loss_of(distiller: Distiller, batches) -> float:
    for metric in distiller.metrics:
        metric.reset_state()
    return float(distiller.compute_loss(x=batches, y_pred=distiller(batches)))


def expected(student, batch) -> list[float]:
    """The three terms of `SPECS` in numpy, each a mean over words."""
    signals = student({"input_ids": batch["input_ids"]})["labels/tags"]
    logits = np.take_along_axis(np.array(signals), batch["tokens"][..., None], axis=1)
    real = batch["token_mask"] == 1
    log_q, teacher = log_softmax(logits, axis=-1), batch["teacher/logits/tags"]
    gold = real & (batch["target/tags"] != IGNORE)
    p = np.exp(log_softmax(3.0 * teacher, axis=-1))
    return [
        -log_q[gold, batch["target/tags"][gold]].mean(),
        (0.5 * (logits - teacher) ** 2).sum(-1)[real].mean(),
        -(p * log_q).sum(-1)[real].mean(),
    ]


def test_the_loss_is_the_weighted_sum(make_tagger, batch, task):
    student = make_tagger().model
    distiller = Distiller(student, bind(*SPECS, outputs=task.outputs))
    parts = expected(student, batch)
    found = loss_of(distiller, {"train": batch, "transfer": batch})
    assert found == pytest.approx(np.dot([2.0, 0.5, 1.0], parts), rel=1e-5)
    metrics = distiller.compute_metrics()
    assert [float(value) for value in metrics.values()] == pytest.approx([found, *parts], rel=1e-5)


def test_means_over_several_batches_are_those_of_all_units(
    make_tagger, make_examples, make_rows, task, batch
):
    """A batch of two short texts does not count as much as one of six."""
    student = make_tagger().model
    rows = make_rows(make_examples(2, seed=5, longest=3))
    small = RowStream(rows, task.outputs).batch([0, 1], np.random.default_rng(0))
    logits = np.random.default_rng(2).normal(size=(*small["tokens"].shape, 5)) * 5
    size = batch["teacher/logits/tags"].shape[-1]
    small["teacher/logits/tags"] = logits[..., :size].astype(np.float32)
    distiller = Distiller(student, bind(*SPECS, outputs=task.outputs))
    for part in (batch, small):
        distiller.compute_loss(
            x={"train": part, "transfer": part},
            y_pred=distiller({"train": part, "transfer": part}),
        )
    wide = {
        name: np.concatenate([array, padded(small[name], array)]) for name, array in batch.items()
    }
    parts = expected(student, wide)
    found = [float(value) for value in distiller.compute_metrics().values()]
    assert found == pytest.approx([np.dot([2.0, 0.5, 1.0], parts), *parts], rel=1e-5)


def padded(array: np.ndarray, like: np.ndarray) -> np.ndarray:
    """With as many tokens as another batch."""
    if array.ndim == 1:
        return array
    width = [(0, 0), (0, like.shape[1] - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
    return np.pad(array, width, constant_values=IGNORE if array.min(initial=0) < 0 else 0)


def test_uncertainty_weighting_is_equation_9(make_tagger, batch, task):
    student = make_tagger().model
    distiller = Distiller(student, bind(*SPECS, outputs=task.outputs), "uncertainty")
    batches = {"train": batch, "transfer": batch}
    parts = expected(student, batch)
    assert loss_of(distiller, batches) == pytest.approx(sum(parts), rel=1e-5)  # λ = 1
    weights = np.array([2.0, 0.5, 3.0])
    parameters = distiller.term_parameters
    assert list(parameters) == [f"{term.label}.log_weight" for term in distiller.terms]
    for parameter, weight in zip(parameters.values(), weights, strict=True):
        parameter.assign(np.log(weight))
    equation = np.dot(weights, parts) - 0.5 * np.log(weights).sum()
    assert loss_of(distiller, batches) == pytest.approx(equation, rel=1e-5)
    assert not {p.path for p in parameters.values()} & {w.path for w in student.weights}
    assert len(distiller.weights) == len(student.weights) + 3


def test_learned_weights_stay_in_their_range(make_tagger, batch, task):
    """The best weight of a loss that vanishes is infinite, and of one that grows it is 0."""
    student = make_tagger().model
    distiller = Distiller(student, bind(*SPECS, outputs=task.outputs), "uncertainty")
    parameters = list(distiller.term_parameters.values())
    distiller.compile(optimizer=keras.optimizers.SGD(1.0))
    distiller.optimizer.build(parameters)
    for gradient in (1e3, -1e3):
        distiller.optimizer.apply([keras.ops.full((), gradient)] * 3)
        expected = -np.sign(gradient) * np.log(MOST)
        np.testing.assert_allclose([float(p) for p in parameters], expected, rtol=1e-6)


def test_regularisers_of_the_student_are_added(make_tagger, batch, task):
    student = make_tagger().model
    distiller = Distiller(student, bind(*SPECS[:1], outputs=task.outputs))
    before = loss_of(distiller, {"train": batch})
    student.head.kernel_regularizer = keras.regularizers.L2(0.1)
    student.head.kernel.regularizer = student.head.kernel_regularizer
    penalty = 0.1 * (np.array(student.head.kernel) ** 2).sum()
    assert loss_of(distiller, {"train": batch}) == pytest.approx(before + penalty, rel=1e-5)


@pytest.mark.parametrize("spec", SPECS, ids=[spec["loss"] for spec in SPECS])
def test_more_padding_is_the_same_loss(make_bilstm, batch, task, spec):
    """A bidirectional student would see padding from the right, were it not masked."""
    distiller = Distiller(make_bilstm().model, bind(spec, outputs=task.outputs))
    wide = {
        name: np.pad(
            array,
            [(0, 0), (0, 11), *[(0, 0)] * (array.ndim - 2)],
            constant_values=IGNORE if name.startswith("target/") else 0,
        )
        for name, array in batch.items()
    }
    wide["input_ids"][batch["input_ids"].shape[0] // 2 :, -3:] = 7  # junk under the mask
    wide["teacher/logits/tags"][:, -2:] = 1e3
    (key,) = distiller.streams
    assert loss_of(distiller, {key: wide}) == pytest.approx(
        loss_of(distiller, {key: batch}), rel=1e-5
    )


def test_the_order_of_rows_is_the_same_loss(make_bilstm, batch, task):
    distiller = Distiller(make_bilstm().model, bind(*SPECS[:2], outputs=task.outputs))
    once = loss_of(distiller, {"train": batch})
    for order in itertools.islice(itertools.permutations(range(6)), 100, 103):
        turned = {name: array[list(order)] for name, array in batch.items()}
        assert loss_of(distiller, {"train": turned}) == pytest.approx(once, rel=1e-5)


def test_sequence_signals_count_texts(batch):
    """Their mean is over texts, however long these are."""
    student = BiLSTMStudent(23, 4, 4, {"intent": ("sequence", 2)}, seed=2)
    teacher = np.random.default_rng(4).normal(size=(6, 2)).astype(np.float32)
    distiller = Distiller(student, bind({"loss": "logit_mse"}, outputs=OUTPUTS[1:]))
    found = loss_of(distiller, {"train": {**batch, "teacher/logits/intent": teacher}})
    error = np.array(student(batch)["labels/intent"]) - teacher
    assert found == pytest.approx((0.5 * error**2).sum(-1).mean(), rel=1e-5)


def test_a_teacher_in_the_step_is_no_part_of_the_weights(make_tagger, teacher, task):
    student = make_tagger().model
    distiller = Distiller(student, bind(*SPECS[:1], outputs=task.outputs), teacher=teacher.model)
    assert {id(w) for w in distiller.weights} == {id(w) for w in student.weights}


def test_a_teacher_with_dropout_is_another_in_each_step(
    make_examples, make_rows, make_tagger, task
):
    """Also where steps are compiled; its generators are no weights, so no model keeps them."""
    (term,) = bind_terms(
        [TermSpec(loss="logit_mse", teacher_head="labels", align="subword")], task.outputs
    )
    rows = RowStream(make_rows(make_examples(6, seed=4)), task.outputs)
    teacher = make_tagger(seed=5, dropout=0.3).model
    spread = {}
    for dropout in (False, True):
        student = make_tagger().model
        distiller = Distiller(student, [term], teacher=teacher, teacher_dropout=dropout)
        distiller.compile(
            optimizer=keras.optimizers.SGD(0.0), jit_compile=keras.backend.backend() == "jax"
        )
        assert len(distiller.weights) == len(student.weights)
        losses = []
        for _ in range(3):
            batches = StreamBatches({"train": rows}, 6, seed=0).dataset()
            fit = distiller.fit(batches, steps_per_epoch=1, shuffle=False, verbose=0)
            losses += fit.history["loss"]
        spread[dropout] = min(abs(a - b) for a, b in itertools.combinations(losses, 2))
    assert spread[False] == pytest.approx(0, abs=1e-6)
    assert spread[True] > 1e-3
