"""Objectives on label paths against all paths, one by one, and what a recipe does with them."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from scipy.special import log_softmax, softmax

from tests.crf.oracle import enumerate_paths
from tfdistil.crf.constraints import IMPOSSIBLE
from tfdistil.distill.objectives import OBJECTIVES
from tfdistil.distill.terms import bind_terms
from tfdistil.errors import RecipeError
from tfdistil.heads.best_paths import PARTS, best_paths
from tfdistil.recipe.schema.stages import TermSpec
from tfdistil.tasks import IntentSlots, Tags

B, U, L = 3, 4, 3
LENGTHS = (4, 1, 0)
MASK = (np.arange(U) < np.array(LENGTHS)[:, None]).astype("int32")


def drawn(seed):
    """Emissions and potentials, as numbers that float32 has."""
    made = np.random.default_rng(seed)
    return [made.normal(size=shape).astype("float32") for shape in ((B, U, L), (L + 2, L))]


OWN, THEIRS = drawn(1), drawn(2)
GOLD = np.array([[1, 2, 0, 1], [-100, 0, 0, 0], [0, 0, 0, 0]], "int32")


def paths_of(crf):
    """All paths of each text that has words."""
    emissions, potentials = crf
    return [enumerate_paths(emissions[i, :n], potentials) for i, n in enumerate(LENGTHS) if n]


def value(name, *arguments):
    inputs = [[ops.convert_to_tensor(part) for part in given] for given in arguments]
    return float(OBJECTIVES[name].function(*inputs, mask=ops.convert_to_tensor(MASK)))


def lists(k):
    """The teacher's best paths as a batch has them."""
    names = [f"x/{part}/{k}" for part in PARTS]
    derivation = best_paths("x", names, L)
    made = derivation.make(THEIRS, MASK, np.zeros(B, bool))
    found = derivation.select({name: np.asarray(array) for name, array in made.items()})
    return [found[name] for name in names]


def counted(name, student, **others):
    """How many texts a loss says that it is a mean over."""
    others = {key: keras.tree.map_structure(ops.convert_to_tensor, v) for key, v in others.items()}
    student = [*map(ops.convert_to_tensor, student)]
    mask = ops.convert_to_tensor(MASK)
    return float(OBJECTIVES[name].count(student=student, mask=mask, **others))


def test_gold_labels_count_where_all_of_a_text_are_known():
    found = OBJECTIVES["crf_nll"].function(
        [*map(ops.convert_to_tensor, OWN)],
        ops.convert_to_tensor(GOLD),
        ops.convert_to_tensor(MASK),
    )
    (first, _) = paths_of(OWN)
    assert float(found) == pytest.approx(-first.log_p_of(GOLD[0]), rel=1e-5)
    assert counted("crf_nll", OWN, target=GOLD) == 1
    assert counted("token_marginals", OWN, teacher=THEIRS) == 2


def test_a_window_that_begins_within_an_entity_is_not_counted():
    emissions, potentials = OWN
    barred = potentials.copy()
    barred[L, 2] = IMPOSSIBLE  # label 2 begins no text
    gold = np.array([[1, 2, 0, 1], [2, 0, 0, 0], [0, 0, 0, 0]], "int32")
    crf = [ops.convert_to_tensor(emissions), keras.Variable(barred)]
    with tf.GradientTape() as tape:
        arguments = map(ops.convert_to_tensor, (gold, MASK))
        found = OBJECTIVES["crf_nll"].function(crf, *arguments)
    (first, _) = paths_of((emissions, barred))
    assert float(found) == pytest.approx(-first.log_p_of(gold[0]), rel=1e-5)
    assert counted("crf_nll", (emissions, barred), target=gold) == 1
    assert np.isfinite(np.asarray(tape.gradient(found, crf[1].value))).all()


def test_hard_labels_are_gold_or_else_the_teachers_best_path():
    pairs = [*zip(paths_of(OWN), paths_of(THEIRS), strict=True)]
    own, theirs = pairs[1]
    expected = [-pairs[0][0].log_p_of(GOLD[0]), -own.log_p_of(theirs.paths[0])]
    kind = OBJECTIVES["hard_label_nll"]
    target, mask = map(ops.convert_to_tensor, (GOLD, MASK))
    signals = [*map(ops.convert_to_tensor, OWN)], lists(1)[0]
    assert float(kind.function(*signals, target, mask)) == pytest.approx(
        np.mean(expected), rel=1e-5
    )
    assert counted("hard_label_nll", OWN, teacher=lists(1)[0], target=GOLD) == 2
    # Without any gold it is the best path of each.
    expected = np.mean([-own.log_p_of(theirs.paths[0]) for own, theirs in pairs])
    none = ops.full_like(target, -1)
    assert float(kind.function(*signals, none, mask)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("k", [1, 5, 90])
def test_best_paths_and_the_mass_of_all_others(k):
    sequence, fuzzy = [], []
    for own, theirs in zip(paths_of(OWN), paths_of(THEIRS), strict=True):
        p, q = (np.exp([*map(crf.log_p_of, theirs.paths[:k])]) for crf in (theirs, own))
        rest = 1 - p.sum(), 1 - q.sum()
        left = rest[0] * np.log(rest[1]) if len(theirs.paths) > k else 0.0
        sequence.append(-(p * np.log(q)).sum() - left)
        fuzzy.append(-p.sum() * np.log(q.sum()) - left)
    for name, values in (("sequence_cross_entropy", sequence), ("fuzzy_cross_entropy", fuzzy)):
        best = lists(k)
        found = value(name, OWN, best)
        assert found == pytest.approx(np.mean(values), rel=1e-4, abs=1e-5), name
        # A text without a list is not counted.
        (*others, count), none = best, np.array([0, 1, 1], "int32")
        found = value(name, OWN, [*others, count * none])
        assert found == pytest.approx(values[1], rel=1e-4, abs=1e-5), name
        assert counted(name, OWN, teacher=best) == 2
        assert counted(name, OWN, teacher=[*others, count * none]) == 1


def test_single_labels_by_marginals_and_by_emissions():
    marginals, emissions = [], []
    for i, (own, theirs) in enumerate(zip(paths_of(OWN), paths_of(THEIRS), strict=True)):
        marginals.append(-(theirs.marginals(L) * np.log(own.marginals(L))).sum())
        ours, other = OWN[0][i, : LENGTHS[i]], THEIRS[0][i, : LENGTHS[i]]
        emissions.append(-(softmax(other, axis=-1) * log_softmax(ours, axis=-1)).sum())
    found = value("token_marginals", OWN, THEIRS)
    assert found == pytest.approx(np.mean(marginals), rel=1e-5)
    arguments = map(ops.convert_to_tensor, (OWN[0], THEIRS[0], MASK))
    found = OBJECTIVES["token_emissions"].function(*arguments)
    assert float(found) == pytest.approx(np.mean(emissions), rel=1e-5)


def test_terms_read_scores_of_the_student_and_lists_of_the_teacher():
    task = IntentSlots(["O", "B-a", "I-a"], ["x", "y"])
    spec = TermSpec(loss="sequence_cross_entropy", output="slots", k=3)
    (term,) = bind_terms([spec], task.outputs)
    assert term.student == ("labels/slots", "labels/slots/potentials")
    assert term.teacher == tuple(
        f"logits/slots/{part}/3"
        for part in ("paths", "path_log_p", "path_log_residual", "path_count")
    )
    assert term.options == {}
    tags = Tags(["O", "B-a"]).outputs
    (term,) = bind_terms([TermSpec(loss="fuzzy_cross_entropy")], tags)
    assert term.teacher[0] == "logits/tags/paths/10"  # K is 10 where a term does not say it
    (term,) = bind_terms([TermSpec(loss="hard_label_nll")], tags)
    assert term.teacher == ("logits/tags/paths/1",)
    (term,) = bind_terms([TermSpec(loss="crf_nll")], tags)
    assert (term.teacher, term.target) == ((), "tags")


@pytest.mark.parametrize("k", [0, -3, 33, 1.5, True, "ten", [1, 2]])
@pytest.mark.parametrize("loss", ["sequence_cross_entropy", "fuzzy_cross_entropy"])
def test_k_is_from_1_to_32(loss, k):
    task = Tags(("O", "B-x", "I-x"))
    with pytest.raises(RecipeError, match=r"option 'k' is .*, expected int from 1 to 32"):
        bind_terms([TermSpec(loss=loss, k=k)], task.outputs)
    (term,) = bind_terms([TermSpec(loss=loss, k=32)], task.outputs)
    assert term.teacher[0] == "logits/tags/paths/32"
