"""What every objective must do. A new objective is one line in `CASES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from scipy.special import log_softmax, rel_entr, softmax

from tfdistil.distill.objectives import (
    LOGIT_TARGETS,
    OBJECTIVES,
    Objective,
    Signals,
    find_objective,
    masked_mean,
    objective,
)
from tfdistil.errors import RecipeError
from tfdistil.students.bilstm import BiLSTMStudent

LABELS = 5
ROWS = {"tokens": (3, 4), "texts": (6,)}
"""Leading shapes at word and at sequence level."""


@dataclass(frozen=True)
class Case:
    """The value of an objective at each token, in numpy; and its options.

    ``value(student, teacher, target, **options)`` gives ``[...]``, and NaN where a token does not
    count although its mask is 1.
    """

    value: Callable[..., np.ndarray]
    options: Mapping[str, Any] = field(default_factory=dict)


def gold(student, teacher, target):
    """-log p of the target, where there is one."""
    log_p = log_softmax(student, axis=-1)
    picked = np.take_along_axis(log_p, np.maximum(target, 0)[..., None], axis=-1)[..., 0]
    return np.where(target >= 0, -picked, np.nan)


def half_square(student, teacher, target, target_as="logits"):
    if target_as == "log_p":
        teacher = log_softmax(teacher, axis=-1)
    elif target_as == "log_odds":
        p = softmax(teacher, axis=-1)
        teacher = np.log(p) - np.log1p(-p)
    return 0.5 * ((student - teacher) ** 2).sum(-1)


def divergence(student, teacher, target):
    return rel_entr(softmax(teacher, axis=-1), softmax(student, axis=-1)).sum(-1)


def mean_square(student, teacher, target):
    return ((student - teacher) ** 2).mean(-1)


def soft(student, teacher, target, scale=1.0):
    return -(softmax(scale * teacher, axis=-1) * log_softmax(student, axis=-1)).sum(-1)


def sure_labels(student, teacher, target, least=0.9):
    p, best = softmax(teacher, axis=-1), teacher.argmax(-1)[..., None]
    picked = np.take_along_axis(log_softmax(student, axis=-1), best, axis=-1)[..., 0]
    return np.where(p.max(-1) >= least, -picked, 0.0)


def softened(student, teacher, target, temperature=2.0, squared=True):
    factor = temperature**2 if squared else 1
    return factor * soft(student / temperature, teacher / temperature, target)


def angle(student, teacher, target):
    norms = np.linalg.norm(student, axis=-1) * np.linalg.norm(teacher, axis=-1)
    return 1 - (student * teacher).sum(-1) / norms


CASES = {
    "cross_entropy": Case(gold),
    "masked_lm": Case(gold),
    "logit_mse": Case(half_square),
    "logit_mse, log p": Case(half_square, {"target_as": "log_p"}),
    "logit_mse, log odds": Case(half_square, {"target_as": "log_odds"}),
    "hidden_kl": Case(divergence),
    "hidden_mse": Case(mean_square),
    "soft_cross_entropy": Case(soft),
    "soft_cross_entropy, scaled": Case(soft, {"scale": 2.5}),
    "hard_label_cross_entropy": Case(sure_labels, {"least": 0.3}),
    "hard_label_cross_entropy, all": Case(sure_labels, {"least": 0.0}),
    "softened_cross_entropy": Case(softened),
    "softened_cross_entropy, plain": Case(softened, {"temperature": 1.3, "squared": False}),
    "hidden_cosine": Case(angle),
}

every_objective = pytest.mark.parametrize("name", CASES)
every_level = pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS.keys())


def of(name: str) -> Objective:
    return find_objective(name.partition(",")[0])


def draw(rows, seed=0) -> dict[str, np.ndarray]:
    """Signals, targets of which some are missing, and a mask with holes, but of some tokens."""
    rng = np.random.default_rng(seed)
    found = {
        "student": rng.normal(size=(*rows, LABELS)),
        "teacher": rng.normal(size=(*rows, LABELS)),
        "target": rng.integers(-1, LABELS, rows),
        "mask": rng.integers(0, 2, rows),
    }
    found["mask"].flat[:2] = 1, 0
    found["target"].flat[0] = 1
    return found


def call(name: str, inputs: Mapping[str, Any]) -> Any:
    """The objective on those of the inputs that it declares."""
    rule = of(name)
    given = {"student": inputs["student"], "mask": ops.convert_to_tensor(inputs["mask"], "int32")}
    if rule.signals.teacher:
        given["teacher"] = ops.convert_to_tensor(inputs["teacher"], "float32")
    if rule.signals.target:
        given["target"] = ops.convert_to_tensor(inputs["target"], "int32")
    return rule.function(**given, **CASES[name].options)


def value_and_gradient(name: str, inputs: Mapping[str, Any], dtype="float32"):
    student = tf.constant(inputs["student"], dtype)
    with tf.GradientTape() as tape:
        tape.watch(student)
        value = call(name, inputs | {"student": student})
    return value, tape.gradient(value, student).numpy()


def expected(name: str, inputs: Mapping[str, Any]) -> float:
    """The oracle: the mean over the tokens that count, 0 if there are none."""
    case = CASES[name]
    values = case.value(inputs["student"], inputs["teacher"], inputs["target"], **case.options)
    values = values[(inputs["mask"] == 1) & ~np.isnan(values)]
    return float(values.mean()) if values.size else 0.0


ON_PATHS = {
    "crf_nll",
    "fuzzy_cross_entropy",
    "hard_label_nll",
    "sequence_cross_entropy",
    "token_emissions",
    "token_marginals",
}
"""Of CRFs, which are no mean over tokens: test_crf_objectives.py."""
OF_LAYERS = {"attention_mse", "states_mse"}
"""Which read several signals: test_encoder_objectives.py."""


def test_every_objective_is_under_contract():
    assert {name.partition(",")[0] for name in CASES} | ON_PATHS | OF_LAYERS == set(OBJECTIVES)


@every_objective
@every_level
def test_the_value_is_the_oracles(name, rows):
    for seed in range(3):
        inputs = draw(rows, seed)
        value, _ = value_and_gradient(name, inputs)
        assert value.shape == ()
        assert value.dtype == tf.float32
        np.testing.assert_allclose(value, expected(name, inputs), rtol=1e-5)


@every_objective
@every_level
def test_the_gradient_is_that_of_finite_differences(name, rows):
    inputs = draw(rows)
    _, gradient = value_and_gradient(name, inputs)
    step = 1e-5
    differences = np.zeros_like(inputs["student"])
    for index in np.ndindex(differences.shape):
        shift = np.zeros_like(differences)
        shift[index] = step
        up = expected(name, inputs | {"student": inputs["student"] + shift})
        down = expected(name, inputs | {"student": inputs["student"] - shift})
        differences[index] = (up - down) / (2 * step)
    assert np.abs(differences).max() > 1e-2  # there is something to compare
    np.testing.assert_allclose(gradient, differences, atol=1e-6)


@every_objective
@every_level
def test_masked_positions_change_nothing_and_get_no_gradient(name, rows):
    inputs = draw(rows)
    value, gradient = value_and_gradient(name, inputs)
    hidden = inputs["mask"] == 0
    assert hidden.any()
    assert np.all(gradient[hidden] == 0)
    assert np.abs(gradient[~hidden]).max() > 0
    other = draw(rows, seed=9)
    changed = dict(inputs)
    for key in ("student", "teacher", "target"):
        changed[key] = inputs[key].copy()
        changed[key][hidden] = other[key][hidden] * (100 if key != "target" else 1)
    again, new_gradient = value_and_gradient(name, changed)
    assert float(again) == float(value)
    np.testing.assert_array_equal(new_gradient, gradient)


@every_objective
@every_level
def test_an_empty_mask_gives_zero(name, rows):
    inputs = draw(rows) | {"mask": np.zeros(rows, int)}
    value, gradient = value_and_gradient(name, inputs)
    assert float(value) == 0.0
    assert np.all(gradient == 0)


@every_objective
def test_unlabelled_units_count_only_where_there_is_no_target(name):
    inputs = draw((6,)) | {"target": np.full(6, -1), "mask": np.ones(6, int)}
    value, gradient = value_and_gradient(name, inputs)
    assert (float(value) == 0.0) == bool(of(name).signals.target)
    assert np.all(gradient == 0) == bool(of(name).signals.target)


@every_objective
def test_sure_logits_are_finite(name):
    inputs = draw((6,))
    inputs["student"] = 1e4 * np.sign(inputs["student"])
    inputs["teacher"] = 1e4 * np.sign(inputs["teacher"])
    value, gradient = value_and_gradient(name, inputs)
    assert np.isfinite(float(value))
    assert np.all(np.isfinite(gradient))


@every_objective
def test_half_precision_students_get_a_single_precision_loss(name):
    inputs = draw((3, 4))
    value, gradient = value_and_gradient(name, inputs, "float16")
    assert value.dtype == tf.float32
    assert gradient.dtype == np.float16
    np.testing.assert_allclose(value, expected(name, inputs), rtol=2e-3)


def test_a_teacher_that_is_not_sure_teaches_nothing():
    inputs = draw((6,)) | {"mask": np.ones(6, int)}
    function = find_objective("hard_label_cross_entropy").function
    logits = {name: tf.constant(inputs[name], "float32") for name in ("student", "teacher")}
    sure = {**logits, "teacher": 20 * logits["teacher"]}
    assert float(function(**logits, mask=tf.ones(6))) == 0.0
    assert float(function(**sure, mask=tf.ones(6))) > 0.0


def test_a_mean_not_a_sum():
    """Twice the same batch, or twice the padding, is the same loss."""
    inputs = draw((2, 3))
    twice = {key: np.concatenate([array, array]) for key, array in inputs.items()}
    wide = {
        key: np.pad(array, [(0, 0), (0, 3)] + [(0, 0)] * (array.ndim - 2))
        for key, array in inputs.items()
    }
    for name in CASES:
        once = float(call(name, inputs | {"student": tf.constant(inputs["student"])}))
        for more in (twice, wide):
            value = float(call(name, more | {"student": tf.constant(more["student"])}))
            assert value == pytest.approx(once, rel=1e-5)


def test_masked_mean_of_a_boolean_mask():
    assert float(masked_mean(ops.array([1.0, 2.0, 9.0]), ops.array([True, True, False]))) == 1.5


def test_an_unknown_loss_names_the_known_ones():
    with pytest.raises(RecipeError) as caught:
        find_objective("hinge")
    assert "unknown loss 'hinge'" in str(caught.value)
    for name in OBJECTIVES:
        assert name in str(caught.value)


def test_a_new_objective_is_one_function(monkeypatch):
    monkeypatch.setattr("tfdistil.distill.objectives.OBJECTIVES", {})

    @objective("cosine", student="hidden", teacher=["hidden/{layer}", "pooled"])
    def cosine(student, teacher, mask):
        return masked_mean(student, mask)

    found = find_objective("cosine")
    assert found == Objective("cosine", cosine, Signals(("hidden",), ("hidden/{layer}", "pooled")))
    assert cosine(ops.array([3.0]), None, ops.array([1.0])) == 3.0  # still a plain function
    with pytest.raises(RecipeError, match="there are cosine"):
        find_objective("logit_mse")
    with pytest.raises(ValueError, match="'cosine' is registered already"):
        objective("cosine", student="hidden")(cosine)


@pytest.mark.parametrize(
    ("name", "per"),
    [
        ("cross_entropy", "output"),
        ("logit_mse", "output"),
        ("hidden_kl", "level"),
        ("masked_lm", None),
    ],
)
def test_terms_stand_for_all_outputs_or_levels_of_a_task(name, per):
    assert find_objective(name).signals.per == per


def test_the_logit_targets_differ_by_a_constant_or_by_what_one_p_says():
    """Raw logits and log p: the same softmax. Log odds: the same two-class decision per label."""
    teacher = draw((6,))["teacher"]
    logits = ops.convert_to_tensor(teacher, "float32")
    raw, log_p, odds = (np.asarray(target(logits)) for target in LOGIT_TARGETS.values())
    np.testing.assert_allclose(np.ptp(raw - log_p, axis=-1), 0, atol=1e-6)
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), softmax(teacher, axis=-1), rtol=1e-5)
    with pytest.raises(RecipeError, match="log_p, log_odds, got 'p'"):
        find_objective("logit_mse").function(logits, logits, ops.ones((6,)), target_as="p")


@pytest.mark.parametrize("activation", ["gelu", "linear"])
def test_states_below_what_gelu_reaches_need_a_linear_projection(activation):
    """`hidden_mse` on a GELU projection cannot fall below a floor, on a linear one it can."""
    outputs = {"tags": ("word", 2)}
    student = BiLSTMStudent(
        9, 6, 8, outputs, projection=6, projection_activation=activation, dropout=0.0, seed=1
    )
    ids = np.arange(1, 9).reshape(2, 4)
    states = np.random.default_rng(0).normal(size=(2, 4, 6)).astype(np.float32)
    lowest = float(ops.min(ops.gelu(ops.linspace(-2.0, 0.0, 1001))))
    assert lowest == pytest.approx(-0.17, abs=2e-3)
    floor = (np.minimum(states - lowest, 0) ** 2).mean()
    optimizer = keras.optimizers.Adam(0.05)
    weights = student.trainable_variables
    for _ in range(150):
        with tf.GradientTape() as tape:
            projection = student({"input_ids": ids}, training=True)["projection"]
            loss = find_objective("hidden_mse").function(projection, states, np.ones((2, 4)))
        gradients = tape.gradient(loss, weights)
        pairs = zip(gradients, weights, strict=True)
        optimizer.apply_gradients([(g, w) for g, w in pairs if g is not None])
    assert floor > 0.2
    if activation == "gelu":
        assert float(loss) > floor - 1e-3
    else:
        assert float(loss) < 0.1 * floor
