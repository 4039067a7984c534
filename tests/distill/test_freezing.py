"""Which groups train in which phase, and that the others stay as they are to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.distill.freezing import Phase, phases, set_trainable
from tfdistil.distill.stage import run_stage
from tfdistil.distill.streams import RowStream
from tfdistil.errors import RecipeError
from tfdistil.recipe.schema.stages import OptimizerSpec, StageSpec, StopSpec, TermSpec

GROUPS = ["heads", "inner", "norm", "embedding"]


def stage(updates=None, **options) -> StageSpec:
    return StageSpec(
        name="s",
        terms=[TermSpec(loss="cross_entropy")],
        teacher=None,
        optimizer=OptimizerSpec(learning_rate=0.05, weight_decay=0.1),
        batch_size=8,
        stop=StopSpec(epochs=2, updates=updates),
        **options,
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [("s", "heads inner norm embedding")]),
        ({"groups": ["embedding", "inner"]}, [("s", "inner embedding")]),
        (
            {"unfreeze": "top_down", "groups": ["norm", "heads", "inner"]},
            [("s.heads", "heads"), ("s.inner", "heads inner"), ("s.norm", "heads inner norm")],
        ),
    ],
)
def test_phases(options, expected):
    found = phases(stage(**options), GROUPS)
    assert found == [Phase(name, tuple(groups.split())) for name, groups in expected]


def test_updates_of_each_phase():
    """One number holds for every phase, a mapping for those of the groups that it names."""
    one = phases(stage(unfreeze="top_down", groups=["heads", "inner"], updates=7), GROUPS)
    assert [phase.updates for phase in one] == [7, 7]
    named = {"inner": 2, "embedding": 9}
    some = phases(stage(unfreeze="top_down", updates=named), GROUPS)
    assert [phase.updates for phase in some] == [None, 2, None, 9]
    assert phases(stage(updates=7), GROUPS)[0].updates == 7


def test_updates_of_a_group_that_does_not_train():
    spec = stage(unfreeze="top_down", groups=["heads", "inner"], updates={"norm": 2})
    with pytest.raises(RecipeError, match=r"names the layer groups \['norm'\]") as caught:
        phases(spec, GROUPS)
    assert "those that train here are ['heads', 'inner']" in str(caught.value)


def test_an_unknown_group_is_named():
    with pytest.raises(RecipeError) as caught:
        phases(stage(groups=["heads", "encoder"]), GROUPS)
    message = str(caught.value)
    assert "stage 's' names the layer groups ['encoder']" in message
    assert str(GROUPS) in message


@pytest.fixture
def train(make_examples, make_rows, task, bind):
    """Trains groups of a student for a few updates; gives the optimizer's moments by path."""

    def run(student, *groups: str) -> set[str]:
        optimizers = []

        def keep(phase, updates):
            import keras

            callback = keras.callbacks.LambdaCallback(
                on_train_end=lambda logs: optimizers.append(callback.model.optimizer)
            )
            return [callback]

        run_stage(
            bind(stage(groups=list(groups)), student),
            {"train": RowStream(make_rows(make_examples(40, seed=1)), task.outputs)},
            seed=3,
            metric=iter(range(100)).__next__,  # later weights are better
            callbacks=keep,
        )
        (optimizer,) = optimizers
        return {variable.path for variable in optimizer._trainable_variables}

    return run


@pytest.mark.parametrize("groups", [["heads"], ["inner"], ["norm"], ["embedding"], GROUPS])
def test_frozen_groups_are_the_same_to_the_bit(make_tagger, train, groups):
    """Running statistics included, although the others are decayed and trained with dropout."""
    student = make_tagger(dropout=0.3).model
    before = {w.path: np.array(w) for _, ws in student.layer_groups() for w in ws}
    moments = train(student, *groups)
    for name, weights in student.layer_groups():
        for weight in weights:
            same = np.array_equal(before[weight.path], weight)
            assert same == (name not in groups), weight.path
    trained = {w.path for name, ws in student.layer_groups() if name in groups for w in ws}
    assert moments == {path for path in trained if "moving" not in path}


def test_everything_trains_again_after_a_stage(make_tagger, train):
    student = make_tagger().model
    before = {w.path for w in student.trainable_weights}
    train(student, "heads")
    assert {w.path for w in student.trainable_weights} == before


@pytest.mark.parametrize("groups", [["heads"], ["encoder"], ["embedding", "heads"]])
def test_the_bilstm_trains_what_is_named(make_bilstm, groups):
    student = make_bilstm().model
    set_trainable(student, groups)
    expected = {w.path for name, ws in student.layer_groups() if name in groups for w in ws}
    assert {w.path for w in student.trainable_weights} == expected
    set_trainable(student, [name for name, _ in student.layer_groups()])
    assert len(student.trainable_weights) == len(student.weights)


def test_an_encoder_trains_its_upper_layers(teacher):
    names = [name for name, _ in teacher.model.layer_groups()]
    set_trainable(teacher.model, names[:2])
    expected = {w.path for _, ws in teacher.model.layer_groups()[:2] for w in ws}
    assert {w.path for w in teacher.model.trainable_weights} == expected
    set_trainable(teacher.model, names)
    assert len(teacher.model.trainable_weights) == len(teacher.model.weights)


def test_a_group_that_no_term_reaches_is_no_phase():
    """It stays in a phase with others, where it does no harm."""
    reached = ["inner", "embedding"]
    found = phases(stage(unfreeze="top_down"), GROUPS, reached)
    assert found == [
        Phase("s.inner", ("inner",)),
        Phase("s.embedding", ("inner", "embedding")),
    ]
    assert phases(stage(), GROUPS, reached) == [Phase("s", tuple(GROUPS))]
    spec = stage(unfreeze="top_down", updates={"norm": 2})
    with pytest.raises(RecipeError, match=r"\['norm'\]; those that train here are \['inner', 'em"):
        phases(spec, GROUPS, reached)


@pytest.mark.parametrize("unfreeze", ["at_once", "top_down"])
def test_a_stage_that_can_learn_nothing_is_refused(unfreeze):
    spec = stage(unfreeze=unfreeze, groups=["heads", "norm"])
    with pytest.raises(RecipeError) as caught:
        phases(spec, GROUPS, ["inner"])
    assert "stage 's' trains the layer groups ['heads', 'norm']" in str(caught.value)
    assert "they depend on ['inner']" in str(caught.value)
