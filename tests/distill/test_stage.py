"""One stage over a student: its phases, optimizers, stopping and selection."""

from __future__ import annotations

from dataclasses import replace

import keras
import numpy as np
import pytest
from keras import ops
from scipy.special import log_softmax

from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.objectives import OBJECTIVES, cross_entropy, objective
from tfdistil.distill.stage import PhaseResult, run_stage
from tfdistil.distill.streams import RowStream
from tfdistil.recipe.schema.stages import OptimizerSpec, StageSpec, StopSpec, TermSpec

GROUPS = ["heads", "inner", "norm", "embedding"]


def stage(**options) -> StageSpec:
    given = {
        "name": "s",
        "terms": [TermSpec(loss="cross_entropy")],
        "teacher": None,
        "optimizer": OptimizerSpec(learning_rate=0.03, schedule="constant"),
        "batch_size": 8,
        "stop": StopSpec(epochs=3),
    }
    return StageSpec(**{**given, **options})


class Watch:
    """Callbacks that keep each phase's optimizer and the weights it began and ended with."""

    def __init__(self):
        self.planned, self.optimizers, self.begun, self.trained = {}, {}, {}, {}

    def __call__(self, phase, updates):
        self.planned[phase] = updates

        def begin(logs):
            self.optimizers[phase] = callback.model.optimizer
            assert int(callback.model.optimizer.iterations) == 0
            self.begun[phase] = weights_of(callback.model.student)

        def note(batch, logs):
            self.trained[phase] = weights_of(callback.model.student)

        callback = keras.callbacks.LambdaCallback(on_train_begin=begin, on_train_batch_end=note)
        return [callback]


def weights_of(student):
    groups = student.layer_groups()
    return {f"{name} {i}": np.array(w) for name, ws in groups for i, w in enumerate(ws)}


def same(one, other) -> bool:
    return all(np.array_equal(array, other[name]) for name, array in one.items())


@pytest.fixture
def stream(make_examples, make_rows, task):
    return RowStream(make_rows(make_examples(40, seed=1)), task.outputs)


@pytest.fixture
def run(stream, bind):
    def go(spec, student, **options):
        watch = Watch()
        given = {"seed": 3, "callbacks": watch} | options
        return run_stage(bind(spec, student), {"train": stream}, **given), watch

    return go


def test_it_learns_by_the_metric(make_tagger, run, make_examples, make_rows, task):
    student = make_tagger().model
    dev = make_examples(20, seed=2)
    predictor, rows = Predictor(student, task, "labels"), make_rows(dev)
    scores = []

    def metric():
        scores.append(predictor.score(rows, dev)["span_f1"])
        return scores[-1]

    spec = stage(stop=StopSpec(epochs=8), batch_size=4)
    (result,), watch = run(spec, student, metric=metric)
    assert result.name == "s"
    assert result.best == max(scores) == metric() > 90
    assert result.updates == watch.planned["s"] == 8 * 10


def test_accumulated_updates_are_counted_as_such(make_tagger, run):
    rows = []
    (result,), watch = run(
        stage(accumulate=2, stop=StopSpec(epochs=4, every=3)),
        make_tagger().model,
        metric=iter(range(99)).__next__,
        record=lambda phase, row: rows.append(row["updates"]),
    )
    assert watch.planned["s"] == 4 * 5  # batches
    assert result.updates == int(watch.optimizers["s"].iterations) == 10
    assert rows == [0, 3, 6, 9, 10]


@pytest.mark.parametrize(
    ("accumulate", "epochs", "said"),
    [
        (4, 20, "20 passes are 25 updates of 32 rows"),
        (20, 6, "6 passes are 1 updates of 160 rows"),
        (2, 4, ""),
        (1, 18, ""),
    ],
)
def test_passes_that_are_few_updates_are_said(make_tagger, run, accumulate, epochs, said):
    lines = []
    spec = stage(accumulate=accumulate, stop=StopSpec(epochs=epochs))
    run(spec, make_tagger().model, metric=iter(range(99)).__next__, say=lines.append)
    assert len(lines) == bool(said)
    assert all(said in line and f"accumulate, {accumulate} here" in line for line in lines)


def test_top_down_is_a_fresh_optimizer_per_group(make_tagger, run):
    student = make_tagger().model
    values = iter(range(1000))
    finished = []
    results, watch = run(
        stage(unfreeze="top_down"),
        student,
        metric=values.__next__,
        finished=lambda result: finished.append((result.name, weights_of(student))),
    )
    names = [f"s.{group}" for group in GROUPS]
    assert [result.name for result in results] == names == list(watch.optimizers)
    assert len({id(optimizer) for optimizer in watch.optimizers.values()}) == 4
    for number, phase in enumerate(names):
        trained = {w.path for w in watch.optimizers[phase]._trainable_variables}
        groups = student.layer_groups()[: number + 1]
        assert trained == {w.path for _, ws in groups for w in ws if "moving" not in w.path}
        assert int(watch.optimizers[phase].iterations) == results[number].updates == 15
        assert finished[number][0] == phase
        assert same(watch.trained[phase], finished[number][1])  # later was better
    for (_, ended), phase in zip(finished, names[1:], strict=False):
        assert same(ended, watch.begun[phase])


def test_a_phase_has_updates_of_its_own(make_tagger, run):
    stop = StopSpec(epochs=4, every=3, updates={"heads": 2, "embedding": 7})
    groups = ["heads", "inner", "embedding"]
    results, watch = run(
        stage(unfreeze="top_down", groups=groups, stop=stop),
        make_tagger().model,
        metric=iter(range(99)).__next__,
    )
    assert [result.updates for result in results] == list(watch.planned.values()) == [2, 20, 7]


def test_a_phase_that_does_harm_is_undone(make_tagger, run):
    student = make_tagger().model
    start = weights_of(student)
    falling = iter(range(1000, 0, -1))
    spec = stage(unfreeze="top_down", groups=GROUPS[:2])
    results, watch = run(spec, student, metric=falling.__next__)
    assert not same(watch.trained["s.heads"], start)
    for phase in watch.begun:
        assert same(watch.begun[phase], start)
    assert same(weights_of(student), start)
    assert [result.best for result in results] == [1000, 996]


def test_patience_ends_a_phase_early(make_tagger, run):
    values = iter([5, 6, 4, 3, 2, 1, 0])
    spec = stage(stop=StopSpec(epochs=6, patience=2, min_updates=0))
    (result,), watch = run(spec, make_tagger().model, metric=values.__next__)
    assert (result.updates, result.best, watch.planned["s"]) == (3 * 5, 6, 6 * 5)


@pytest.mark.parametrize(
    ("stop", "updates", "evaluations"),
    [
        ({"epochs": 3, "updates": 7}, 7, 3),
        ({"updates": 70, "every": 30}, 70, 4),
        ({"every": 25}, 50, 3),
        ({"epochs": 3, "every": 4}, 15, 5),
        ({"epochs": 3, "every": 100}, 15, 2),
        ({"epochs": 30, "updates": 9, "every": 3}, 9, 4),
    ],
)
def test_how_long_and_how_often(make_tagger, run, stop, updates, evaluations):
    scored = []

    def metric():
        scored.append(1)
        return len(scored)

    (result,), watch = run(stage(stop=StopSpec(**stop)), make_tagger().model, metric=metric)
    assert (result.updates, watch.planned["s"], len(scored)) == (updates, updates, evaluations)


def test_the_loss_on_held_out_rows_is_minimised(make_tagger, run, make_examples, make_rows, task):
    student = make_tagger().model
    held_out = RowStream(make_rows(make_examples(15, seed=2)), task.outputs)
    rows = []
    spec = stage(stop=StopSpec(epochs=4, monitor="loss"))
    (result,), _ = run(
        spec, student, held_out=held_out, record=lambda phase, row: rows.append((phase, row))
    )
    values = [row["monitored"] for _, row in rows]
    assert {phase for phase, _ in rows} == {"s"}
    assert result.best == min(values) < 0.8 * values[0]
    assert rows[1][1]["loss"] == pytest.approx(rows[1][1]["cross_entropy.tags.train"])


@pytest.mark.parametrize("batch_size", [1, 2, 7, 8, 64])
def test_the_held_out_loss_is_the_mean_of_all_units_whatever_the_batches(
    make_bilstm, run, make_examples, make_rows, task, batch_size
):
    """Long and short texts, without words, and without labels."""
    student = make_bilstm().model
    labelled = [*make_examples(12, seed=2), *make_examples(5, seed=3, longest=40)]
    unlabelled = [replace(e, tags=None) for e in make_examples(6, seed=4, longest=20)]
    held_out = RowStream(make_rows([*unlabelled, *labelled]), task.outputs)
    values = []
    run(
        stage(stop=StopSpec(updates=1, monitor="loss"), batch_size=batch_size),
        student,
        held_out=held_out,
        record=lambda phase, row: values.append(row["monitored"]),
    )
    student.set_weights(make_bilstm().model.get_weights())
    found = Predictor(student, task, "labels").logits(make_rows(labelled))
    logits = np.concatenate([f["tags"] for f in found])
    gold = np.concatenate([task.targets(e)["tags"] for e in labelled])
    expected = -log_softmax(logits, axis=-1)[np.arange(len(gold)), gold].mean()
    assert values[0] == pytest.approx(expected, rel=1e-5)


def test_a_teacher_that_no_term_needs_is_not_asked_for(make_tagger, bind):
    """A mapping of models may make it when it is first looked up; here there is none."""
    bound = bind(stage(teacher="teacher"), make_tagger().model)
    assert (bound.teacher, bound.teacher_in_step) == (None, None)
    assert bound.teacher_signals(["train"]) == []


def test_something_must_be_monitored(make_tagger, run):
    with pytest.raises(ValueError, match="give a metric, or held-out rows"):
        run(stage(), make_tagger().model)


def test_phases_that_are_done_are_skipped(make_tagger, run):
    student = make_tagger().model
    values = iter(range(1000))
    results, watch = run(
        stage(unfreeze="top_down"),
        student,
        metric=values.__next__,
        done=[PhaseResult("s.heads", 1.0, 15), PhaseResult("s.inner", 2.0, 15)],
    )
    assert [result.name for result in results] == ["s.norm", "s.embedding"] == list(watch.begun)


@pytest.fixture
def tempered(monkeypatch):
    """Cross-entropy at a temperature that the term learns."""
    known = dict(OBJECTIVES)
    monkeypatch.setattr("tfdistil.distill.objectives.OBJECTIVES", known)

    @objective(
        "tempered",
        student="{head}/{output}",
        target="{output}",
        parameters={"log_temperature": 0.5},
    )
    def tempered(student, target, mask, log_temperature):
        return cross_entropy(student / ops.exp(log_temperature), target, mask)


@pytest.mark.parametrize(
    ("options", "name", "begins"),
    [
        ({"terms": [TermSpec(loss="tempered")]}, "tempered.tags.train.log_temperature", 0.5),
        ({"weighting": "uncertainty"}, "cross_entropy.tags.train.log_weight", 0.0),
    ],
)
def test_what_a_term_owns_is_learnt_logged_kept_and_gone_on_with(
    make_tagger, run, tempered, options, name, begins
):
    spec = stage(unfreeze="top_down", groups=GROUPS[:2], stop=StopSpec(epochs=2), **options)
    student, values, rows = make_tagger().model, iter([0, 1, 2, 0, 2, 1]), []
    record = lambda phase, row: rows.append((phase, row.get(name)))  # noqa: E731
    (heads, inner), watch = run(spec, student, metric=values.__next__, record=record)
    logged = {phase: [v for p, v in rows if p == phase] for phase in ("s.heads", "s.inner")}
    assert heads.parameters == {name: pytest.approx(logged["s.heads"][-1])}
    assert heads.parameters[name] != begins
    # In the second phase the first check was the better one.
    assert inner.parameters == {name: pytest.approx(logged["s.inner"][1])}
    assert logged["s.inner"][1] != logged["s.inner"][2]

    # It is no weight of the student; a stage that goes on after the first phase ends alike.
    assert student.count_params() == make_tagger().model.count_params()
    again, values = make_tagger().model, iter([0, 2, 1])
    own = [weight for _, weights in again.layer_groups() for weight in weights]
    for weight, array in zip(own, watch.begun["s.inner"].values(), strict=True):
        weight.assign(array)
    (resumed,), _ = run(spec, again, metric=values.__next__, done=[heads])
    assert resumed.parameters[name] == pytest.approx(inner.parameters[name], rel=1e-6)


def test_the_seed_decides(make_tagger, run):
    def trained(seed):
        student = make_tagger(dropout=0.2).model
        values = iter(range(1000))
        run(stage(), student, metric=values.__next__, seed=seed)
        return weights_of(student)

    first = trained(3)
    assert same(trained(3), first)
    assert not same(trained(4), first)


def test_a_student_that_gathers_statistics_recalibrates_before_every_evaluation(make_tagger, run):
    model = make_tagger().model
    order, seen = [], []

    def recalibrate(batches):
        order.append("recalibrate")
        seen.append([sorted(batch) for batch in batches])

    def metric():
        order.append("evaluate")
        return 0.0

    model.recalibrate = recalibrate
    run(stage(stop=StopSpec(epochs=2)), model, metric=metric)
    assert order == ["recalibrate", "evaluate"] * 3
    assert all(len(batches) >= 1 for batches in seen)
    assert not any(name.startswith("teacher/") for names in seen[0] for name in names)
