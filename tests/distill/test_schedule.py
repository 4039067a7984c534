"""Stages in order over named models: the cache, saved phases, and what is wrong said early."""

from __future__ import annotations

import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from tests.others_long import others_long
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.schedule import Schedule
from tfdistil.distill.streams import RowStream
from tfdistil.distill.worth import BoundDraw
from tfdistil.encoders import scratch_encoder
from tfdistil.errors import RecipeError, RunError
from tfdistil.recipe.schema.stages import DrawSpec, OptimizerSpec, StageSpec, StopSpec, TermSpec

JOINT = [
    TermSpec(loss="cross_entropy", stream="train"),
    TermSpec(loss="logit_mse", stream=["train", "transfer"]),
]


def stage(**options) -> StageSpec:
    given = {
        "name": "joint",
        "terms": JOINT,
        "optimizer": OptimizerSpec(learning_rate=0.03),
        "batch_size": 8,
        "stop": StopSpec(epochs=2, monitor="loss", on="transfer_held_out"),
    }
    if "terms" in options or "teacher" in options:
        given["stop"] = StopSpec(epochs=2)
    return StageSpec(**{**given, **options})


@pytest.fixture(scope="module")
def sets(make_examples):
    return {
        "train": make_examples(20, seed=1),
        "dev": make_examples(8, seed=2),
        "transfer": make_examples(30, seed=3, longest=20),
        "transfer_held_out": make_examples(8, seed=4),
        "augmented": [],
    }


@pytest.fixture(scope="module")
def make_in(teacher, make_tagger, sets, task):
    """``(folder, teacher=..., models={}, **options)`` to a schedule in that folder."""

    def build(folder: Path, teacher=teacher, models=None, **options) -> Schedule:
        folder.mkdir(exist_ok=True)
        models = {"teacher": teacher, "student": make_tagger(dropout=0.2), **(models or {})}
        return Schedule(models, sets, task, folder, seed=7, **options)

    return build


@pytest.fixture
def make(make_in, tmp_path):
    """`make_in` a folder of the test."""
    return lambda folder="run", **options: make_in(tmp_path / folder, **options)


def weights_of(schedule: Schedule, name="student") -> list[np.ndarray]:
    return schedule.models[name].model.get_weights()


def history_of(schedule: Schedule) -> list[str]:
    """What was written down when, without the values."""
    lines = (schedule.folder / "history.csv").read_text(encoding="utf-8").splitlines()
    return [line.rpartition(",")[0] for line in lines]


def assert_close(one, other, atol=0.0):
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=atol, rtol=0)


# Phases


class Stop(keras.callbacks.Callback):
    """Ctrl-C in the middle of a phase."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 3:
            raise KeyboardInterrupt


STAGES = [
    stage(name="first", unfreeze="top_down", groups=["heads", "inner"]),
    stage(name="second"),
]
PHASES = ["first.heads", "first.inner", "second"]


@pytest.fixture(scope="module")
def whole(make_in, tmp_path_factory):
    """The two stages in one go."""
    schedule = make_in(tmp_path_factory.mktemp("whole") / "run")
    updates = schedule.run(STAGES)
    return schedule, updates


@pytest.fixture
def copied(whole, tmp_path):
    """Their folder, to change."""
    return shutil.copytree(whole[0].folder, tmp_path / "copied")


@pytest.mark.parametrize("stopped", PHASES[1:])
def test_a_stopped_schedule_ends_like_one_that_was_not(make, whole, stopped):
    schedule, updates = whole
    with pytest.raises(KeyboardInterrupt):
        make(callbacks=lambda phase, n: [Stop()] if phase == stopped else []).run(STAGES)
    began = []
    again = make(callbacks=lambda phase, n: began.append(phase) or [])
    assert again.run(STAGES) == updates == {"student": 3 * 2 * 7}
    assert began == PHASES[PHASES.index(stopped) :]
    assert_close(weights_of(again), weights_of(schedule))
    assert history_of(again) == history_of(schedule)  # without the rows of the first attempt


@pytest.fixture
def written(monkeypatch):
    """States of phases are written after every batch."""
    monkeypatch.setattr("tfdistil.distill.phase_state.LEAST", 0.0)
    monkeypatch.setattr("tfdistil.distill.phase_state.SHARE", math.inf)


@pytest.mark.parametrize("stopped", others_long(PHASES, PHASES[:1]))
def test_a_stopped_phase_continues_where_it_was(make, whole, written, stopped):
    """Twice in the same phase; the history is that of a whole run to the byte."""
    schedule, updates = whole
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            make(callbacks=lambda phase, n: [Stop()] if phase == stopped else []).run(STAGES)
    (state,) = files_in(make().folder, "*.state.npz")
    assert state == f"phases/student/{stopped}.state.npz"
    said, left = [], {}
    again = make(callbacks=lambda phase, n: left.update({phase: n}) or [], say=said.append)
    assert again.run(STAGES) == updates
    assert said == [f"  student, {stopped} continues after update 8 of 14"]
    assert left[stopped] == 14 - 8
    assert_close(weights_of(again), weights_of(schedule))
    for name in ("history.csv", *(f"phases/student/{phase}.json" for phase in PHASES)):
        assert (again.folder / name).read_bytes() == (schedule.folder / name).read_bytes()
    assert files_in(again.folder) == files_in(schedule.folder)


def files_in(folder: Path, pattern: str = "*") -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob(pattern))


def test_states_of_phases_that_are_done_are_removed(make_in, copied):
    """Killed between the last two steps of a phase, or while a state was written."""
    before = files_in(copied)
    for name in ("second.state.npz", ".first.heads.state.npz.partial"):
        (copied / "phases/student" / name).write_bytes(b"left")
    make_in(copied).run(STAGES)
    assert files_in(copied) == before


def test_what_is_done_is_not_done_again(make_in, whole, copied):
    schedule, updates = whole
    history = (copied / "history.csv").read_bytes()

    def refuse(phase, n):
        raise AssertionError(phase)

    again = make_in(copied, callbacks=refuse)
    assert again.run(STAGES) == updates
    assert_close(weights_of(again), weights_of(schedule))
    assert (copied / "history.csv").read_bytes() == history


def test_a_phase_counts_only_with_all_its_files(make_in, copied):
    """The facts are written last; without them the weights may be anybody's."""
    (copied / "phases/student/second.json").unlink()
    began = []
    make_in(copied, callbacks=lambda phase, n: began.append(phase) or []).run(STAGES)
    assert began == ["second"]
    facts = json.loads((copied / "phases/student/second.json").read_text())
    assert (facts["name"], facts["updates"]) == ("second", 14)
    assert not list(copied.rglob("*partial*"))


def test_the_facts_of_a_phase_are_there_whole_or_not_at_all(make, monkeypatch):
    def killed(descriptor):
        raise OSError("killed")

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(OSError, match="killed"):
        make().run(STAGES)
    monkeypatch.undo()
    began = []
    make(callbacks=lambda phase, n: began.append(phase) or []).run(STAGES)
    assert began == PHASES


def test_a_student_is_the_next_ones_teacher(make, make_bilstm, make_rows, task):
    """A cascade: the second stage names the first one's student."""
    schedule = make(models={"assistant": make_bilstm(heads=("logits",))})
    first = stage(
        name="a",
        student="assistant",
        terms=[TermSpec(loss="logit_mse", stream="transfer", head="logits")],
    )
    second = stage(
        name="b",
        teacher="assistant",
        terms=[TermSpec(loss="logit_mse", stream="transfer")],
        stop=StopSpec(epochs=2, monitor="loss", on="transfer_held_out"),
    )
    updates = schedule.run([first, second])
    assert updates == {"assistant": 2 * 4, "student": 2 * 4}
    caches = {path.name.split("-")[0] for path in (schedule.folder / "cache").iterdir()}
    assert caches == {"transfer", "transfer_held_out"}
    assert len(list((schedule.folder / "cache").glob("transfer-*"))) == 2


@pytest.mark.parametrize(("named", "head"), [(None, "labels"), ("logits", "logits")])
def test_a_student_teaches_by_its_first_head_or_the_one_named(make, make_bilstm, named, head):
    assistant = make_bilstm(heads=("labels", "logits"))
    schedule = make(models={"assistant": assistant})
    terms = [TermSpec(loss="logit_mse", stream="transfer", teacher_head=named)]
    bound = schedule.check(stage(teacher="assistant", terms=terms))
    assert bound.teacher_signals(["transfer"]) == [f"{head}/tags"]
    assert bound.teacher is assistant


# Layer groups that no term reaches


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (JOINT[:1], ["heads", "encoder", "embedding"]),
        (
            [TermSpec(loss="hidden_kl", stream="transfer", layer=1)],
            ["projection", "encoder", "embedding"],
        ),
    ],
)
def test_only_what_terms_reach_is_unfrozen(make, make_bilstm, terms, expected):
    began, moved = [], {}

    class Watch(keras.callbacks.Callback):
        def __init__(self, phase):
            super().__init__()
            self.phase = phase

        def on_train_begin(self, logs=None):
            self.before = schedule.models["student"].model.get_weights()

        def on_train_batch_end(self, batch, logs=None):
            after = schedule.models["student"].model.get_weights()
            pairs = zip(self.before, after, strict=True)
            moved[self.phase] = sum(not np.array_equal(a, b) for a, b in pairs)

    schedule = make(
        models={"student": make_bilstm(projection=8)},
        callbacks=lambda name, n: began.append(name) or [Watch(name)],
    )
    stop = StopSpec(updates=2, monitor="loss", on="transfer_held_out")
    spec = stage(terms=terms, unfreeze="top_down", stop=stop)
    schedule.run([spec])
    assert began == [f"joint.{group}" for group in expected]
    counts = list(moved.values())
    assert counts == sorted(set(counts))  # each phase trains more weights than the one before
    assert counts[0] > 0
    resumed = make(models={"student": make_bilstm(projection=8)})
    resumed.run([spec])
    assert [result.name for result in resumed.done["student"]] == began


def test_a_stage_whose_groups_no_term_reaches_is_refused_at_once(make, make_bilstm):
    schedule = make(models={"student": make_bilstm(projection=8)})
    with pytest.raises(RecipeError, match=r"depend on none; they depend on \['heads', 'enc"):
        schedule.check(stage(groups=["projection"]))
    assert list(schedule.folder.iterdir()) == []


# The cache


def test_live_and_cached_signals_train_the_same_student(make):
    """The 6-digit losses too, on the student's windows, which are not the teacher's."""
    schedules = [make(signals) for signals in ("cached", "live")]
    curves = []
    for schedule, signals in zip(schedules, ("cached", "live"), strict=True):
        assert schedule.run([stage(signals=signals)]) == {"student": 2 * 7}
        lines = (schedule.folder / "history.csv").read_text().splitlines()[1:]
        curves.append([float(line.rsplit(",", 1)[1]) for line in lines])
    assert_close(*map(weights_of, schedules), atol=1e-5)
    np.testing.assert_allclose(*curves, rtol=1e-5)
    cached, live = ({p.name for p in s.folder.iterdir()} for s in schedules)
    assert cached - live == {"cache"}


def test_the_cache_is_read_again(make_in, copied):
    counted = []
    again = make_in(copied, counter=lambda what, total: counted.append(what))
    again.run([stage(name="again")])
    assert counted == []


def test_a_teacher_runs_once_over_a_set_for_all_stages_of_a_student(make, make_bilstm):
    """And each stage finds the files that it would have made by itself."""
    stop = StopSpec(epochs=1, monitor="loss", on="transfer_held_out")
    states = TermSpec(loss="hidden_kl", stream=["train", "transfer"], layer=1)
    stages = [stage(name="a", terms=[states], stop=stop), stage(name="b", stop=stop)]
    student = make_bilstm(projection=8)
    counted = []
    schedule = make(
        models={"student": student},
        counter=lambda what, n: counted.append(what) or (lambda done: None),
    )
    schedule.run(stages)
    assert sorted(counted) == [
        f"teacher on {n}" for n in ("train", "transfer", "transfer_held_out")
    ]
    alone = [make(name, models={"student": student}) for name in ("one", "other")]
    for own, spec in zip(alone, stages, strict=True):
        own.run([spec])
    together = {path.name: path for path in (schedule.folder / "cache").iterdir()}
    apart = [path for own in alone for path in (own.folder / "cache").iterdir()]
    assert sorted(together) == sorted(path.name for path in apart)
    assert len(together) == 6
    for path in apart:
        assert sorted(file.name for file in path.iterdir()) == sorted(
            file.name for file in together[path.name].iterdir()
        )
        for file in path.iterdir():
            assert file.read_bytes() == (together[path.name] / file.name).read_bytes()


def test_signals_of_a_teacher_that_is_trained_in_between_are_not_made_before(make, make_bilstm):
    models = {"assistant": make_bilstm(heads=("logits",)), "student": make_bilstm(projection=8)}
    states = TermSpec(
        loss="hidden_kl", stream="transfer", student_signal="projection", teacher_signal="hidden"
    )
    on_labels = TermSpec(loss="cross_entropy", stream="train", head="logits")
    schedule = make(models=models)
    schedule.run(
        [
            stage(
                name="a", teacher="assistant", terms=[TermSpec(loss="logit_mse", stream="transfer")]
            ),
            stage(name="b", student="assistant", teacher=None, terms=[on_labels]),
            stage(
                name="c",
                teacher="assistant",
                terms=[states, TermSpec(loss="cross_entropy", stream="train")],
            ),
        ]
    )
    assert len([*(schedule.folder / "cache").glob("transfer-*")]) == 2


def other_weights(teacher, make_featurizer, task):
    model = scratch_encoder(
        13,
        hidden_dim=8,
        layers=1,
        max_positions=48,
        outputs={"tags": ("word", len(task.outputs[0].labels))},
        pooler=True,
        seed=2,
    )
    return SimpleNamespace(model=model, featurizer=teacher.featurizer)


def other_windows(teacher, make_featurizer, task):
    featurizer = make_featurizer("words", 20, token_types=True)
    return SimpleNamespace(model=teacher.model, featurizer=featurizer)


@pytest.mark.parametrize("change", [other_weights, other_windows])
def test_the_cache_of_another_teacher_is_not_used(
    make_in, copied, teacher, make_featurizer, task, change
):
    before = {path.name for path in (copied / "cache").iterdir()}
    make_in(copied, teacher=change(teacher, make_featurizer, task)).run([stage(name="again")])
    after = {path.name for path in (copied / "cache").iterdir()}
    assert before < after
    assert len(after) == 2 * len(before) == 6


def test_other_sentences_are_another_cache(make_in, copied, make_examples):
    counted = []
    schedule = make_in(copied, counter=lambda what, n: counted.append(what) or (lambda done: None))
    schedule.sets["transfer"] = make_examples(30, seed=33)
    schedule.run([stage(name="again")])
    assert counted == ["teacher on transfer"]


def test_a_damaged_cache_is_not_trained_on(make_in, copied):
    (folder,) = (copied / "cache").glob("train-*")
    (folder / "logits.tags.npy").write_bytes(b"junk")
    with pytest.raises(RunError, match=f"{folder}: damaged cache"):
        make_in(copied).run([stage(name="again")])


def test_a_pool_is_what_there_is_of_it(make, teacher, make_tagger):
    """Recipes to build on name sets that not every data set has."""
    results = []
    for number, pool in enumerate((["train", "augmented", "transfer"], ["train", "transfer"])):
        schedule = make(f"run{number}", models={"student": make_tagger()})
        schedule.run([stage(terms=term(loss="logit_mse", stream=pool))])
        results.append(weights_of(schedule))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


# Texts drawn by what the teacher says of them


def rows_drawn(schedule, monkeypatch, **options) -> dict[str, np.ndarray]:
    """How often each row of each stream came, by the number of rows of the stream."""
    found: dict[int, np.ndarray] = {}
    plain = RowStream.batch

    def note(stream, chosen, generator):
        times = found.setdefault(len(stream.lengths), np.zeros(len(stream.lengths), int))
        np.add.at(times, chosen, 1)
        return plain(stream, chosen, generator)

    with monkeypatch.context() as patched:
        patched.setattr(RowStream, "batch", note)
        schedule.run([stage(**options)])
    return found


@pytest.mark.parametrize("signals", others_long(["cached", "live"], ["live"]))
def test_texts_with_entities_come_more_often(make, monkeypatch, task, sets, signals):
    """Of transfer, as the teacher sees it; each text of train still comes once in a pass."""
    said = []
    schedule = make(say=said.append)
    options = {
        "terms": [*JOINT, TermSpec(loss="logit_mse", stream="transfer")],
        "draw": draw(even=0.25),
        "signals": signals,
        "stop": StopSpec(epochs=30),
    }
    times = rows_drawn(schedule, monkeypatch, **options)
    model = schedule.models["teacher"].model
    predictor = Predictor(model, task, "logits")
    rows = schedule.rows("teacher", "transfer")
    found = [[tag != "O" for tag in said.tags] for said in predictor.predict(rows)]
    share = np.array([sum(tags) / max(1, len(tags)) for tags in found])
    assert (
        0 < share.min() + share.max() < 2 * share.max()
    )  # an untrained teacher, but not of one mind
    (line, again) = said
    assert line == again  # two streams draw from transfer
    assert line.startswith(f"  entities in transfer: {share.mean():.1%} there, ")
    of_rows = schedule.rows("student", "transfer").example
    weights = (0.25 + 0.75 * share / share.mean())[of_rows]
    alone, pooled = times[len(weights)], times[20 + len(weights)]
    for found in (alone / alone.sum(), pooled[20:] / pooled[20:].sum()):
        assert np.corrcoef(found, weights)[0, 1] > 0.95
    assert np.ptp(pooled[:20]) <= 2  # some batches are made ahead
    assert np.ptp(alone) > 10


def test_a_set_without_text_is_drawn_like_one_that_is_not_there(make):
    """As terms skip it: recipes to build on name sets that not every data set has."""
    terms = term(loss="logit_mse", stream=["train", "augmented", "transfer"])
    weights = []
    for number, names in enumerate((["transfer"], ["augmented", "transfer"])):
        schedule = make(f"run{number}")
        schedule.run([stage(terms=terms, draw=draw(sets=names))])
        weights.append(weights_of(schedule))
    assert_close(*weights)


def test_a_long_text_does_not_take_the_place_of_other_sets(make, make_examples):
    """Weights are 1 in the mean of a set's rows, of which a long text has many."""
    schedule = make()
    schedule.sets["transfer"] = [*make_examples(20, seed=3), *make_examples(1, seed=4, longest=900)]
    bound = schedule.check(stage(terms=term(loss="logit_mse", stream=["train", "transfer"])))
    bound = replace(
        bound,
        draw=BoundDraw(
            "length", lambda said: 1 / len(said.tags or "1"), "logits", ("transfer",), 0.5
        ),
    )
    weights = schedule._weights(bound, "train+transfer", ("train", "transfer"))
    rows = schedule.rows("student", "train"), schedule.rows("student", "transfer")
    train, transfer = np.split(weights, [len(rows[0])])
    assert len(transfer) > 30
    np.testing.assert_array_equal(train, 1.0)
    assert transfer.mean() == pytest.approx(1.0)
    assert transfer.min() >= 0.5


def test_what_texts_are_drawn_by_is_stored_with_what_terms_read(make, make_bilstm):
    """One pass of the teacher over a set for each stream, not two."""
    counted = []
    schedule = make(
        models={"student": make_bilstm(projection=8)},
        counter=lambda what, n: counted.append(what) or (lambda done: None),
    )
    reads_more = term(loss="hidden_kl", stream="transfer", layer=1)
    schedule.run([stage(terms=[*JOINT, *reads_more], draw=draw())])
    assert sorted(counted) == ["teacher on train", "teacher on transfer", "teacher on transfer"]
    again = []
    schedule.counter = lambda what, n: again.append(what) or (lambda done: None)
    schedule.run([stage(terms=JOINT, name="joint2", draw=draw(by="uncertainty"))])
    assert again == []


# The head that dev selection reads

BOTH = [
    TermSpec(loss="cross_entropy", stream="train", head="labels"),
    TermSpec(loss="hidden_kl", stream="transfer", layer=1),
    TermSpec(loss="logit_mse", stream="transfer", head="logits"),
]


@pytest.mark.parametrize("head", others_long(["labels", "logits"], ["labels"]))
def test_the_order_of_terms_changes_nothing(make, make_bilstm, head):
    """Not the head that the dev metric is read off either."""
    ended = []
    for number, terms in enumerate((BOTH, BOTH[::-1])):
        student = make_bilstm(heads=("labels", "logits"), projection=8)
        schedule = make(f"order{number}", models={"student": student}, head=head)
        schedule.run([stage(terms=terms, stop=StopSpec(epochs=4, every=2))])
        rows, dev = schedule.rows("student", "dev"), schedule.sets["dev"]
        (result,) = schedule.done["student"]
        score = Predictor(student.model, schedule.task, head).score(rows, dev)["span_f1"]
        assert score == result.score == result.best > 0
        ended.append((weights_of(schedule), score))
    assert_close(ended[0][0], ended[1][0], atol=1e-6)
    assert ended[0][1] == ended[1][1]


@pytest.mark.parametrize("head", others_long(["labels", "logits", "exported"], ["exported"]))
def test_a_phase_is_scored_by_the_same_head(make, make_bilstm, head):
    """Also where a loss decides, and not at all where no head is named."""
    student = make_bilstm(heads=("labels", "logits"), projection=8)
    schedule = make(models={"student": student}, head=head)
    schedule.run([stage(terms=BOTH, stop=StopSpec(updates=4, monitor="loss"))])
    (result,) = schedule.done["student"]
    if head == "exported":
        assert result.score is None
        return
    rows, dev = schedule.rows("student", "dev"), schedule.sets["dev"]
    own = Predictor(student.model, schedule.task, head).score(rows, dev)["span_f1"]
    assert result.score == own


def test_a_metric_of_no_head_is_refused_before_anything_is_made(make, make_bilstm):
    schedule = make(models={"student": make_bilstm(heads=("labels", "logits"))}, head="exported")
    with pytest.raises(RecipeError, match="heads labels, logits; name the one"):
        schedule.check(stage(terms=[BOTH[0], BOTH[2]]))


def test_a_head_the_student_does_not_have(make):
    with pytest.raises(RecipeError, match=r"'joint': the dev metric reads 'other/tags' off"):
        make().check(stage(terms=JOINT, stop=StopSpec(head="other")))


# What is wrong


def term(**options) -> list[TermSpec]:
    return [TermSpec(**options)]


def draw(**options) -> DrawSpec:
    return DrawSpec(**{"by": "entities", **options})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"terms": term(loss="hinge")}, "unknown loss 'hinge'"),
        ({"terms": term(loss="logit_mse", output="slots")}, "no output 'slots'"),
        ({"terms": term(loss="logit_mse", scale=1)}, "unknown key 'scale'"),
        ({"teacher": None}, "stage 'joint' has a term that needs a teacher, but none"),
        ({"groups": ["top"]}, "names the layer groups ['top']; the student has ['heads'"),
        (
            {"optimizer": OptimizerSpec(rates={"heads": 0.1, "crf": 0.1})},
            "optimizer.rates names the layer groups ['crf']; the student has ['heads', 'inner'",
        ),
        ({"optimizer": OptimizerSpec(rates={"terms": 0.1})}, "layer groups ['terms']; the student"),
        (
            {"terms": term(loss="logit_mse", stream="augmented")},
            "draws from 'augmented', which has no text",
        ),
        (
            {"terms": term(loss="logit_mse", stream=["train", "nowhere"])},
            "draws from 'nowhere', which has no text",
        ),
        (
            {"terms": term(loss="logit_mse", stream=["augmented"])},
            "draws from 'augmented', which has no text",
        ),
        ({"terms": term(loss="logit_mse", head="other")}, "reads 'other/tags' off 'student': "),
        (
            {"teacher": "student"},
            "stage 'joint': term logit_mse.tags.train+transfer reads 'logits/tags' off 'student'",
        ),
        ({"precision": "bfloat16"}, "precision: bfloat16: this model trains in float32"),
        ({"noise": ["spelling"]}, "stage 'joint': noise: spelling: the student does not hash"),
        ({"noise": ["fog"]}, "stage 'joint': noise: unknown noise 'fog'"),
        (
            {"terms": term(loss="cross_entropy", align="subword")},
            "reads the target 'tags' with align: subword; there is none of that alignment",
        ),
        (
            {"terms": term(loss="cross_entropy", target="mlm"), "noise": ["masking"]},
            "reads the target 'mlm' with align: token; there is tags of that alignment",
        ),
        (
            {"stop": StopSpec(monitor="loss", on="nowhere")},
            "draws from 'nowhere', which has no text",
        ),
        ({"draw": draw(by="luck")}, "draw: by: unknown 'luck'; there are entities, uncertainty"),
        (
            {"draw": draw(sets=["dev"])},
            "draw: sets: the stage does not draw from 'dev', but from train, transfer",
        ),
        ({"draw": draw(head="labels")}, "draw: head: no head 'labels'; this model has logits"),
        (
            {"terms": term(loss="cross_entropy"), "teacher": None, "draw": draw(sets=["train"])},
            "stage 'joint' has draw that needs a teacher, but none",
        ),
    ],
)
def test_what_a_stage_asks_for_in_vain_is_said_before_anything_is_made(make, options, text):
    schedule = make()
    for wrong in (schedule.check, lambda one: schedule.run([one])):
        with pytest.raises(RecipeError) as caught:
            wrong(stage(**options))
        assert text in str(caught.value)
    assert list(schedule.folder.iterdir()) == []


def test_a_target_of_pieces_needs_noise_that_makes_it(make, encoder_student):
    terms = term(loss="masked_lm", stream="train", head="logits")
    schedule = make(models={"student": encoder_student})
    with pytest.raises(RecipeError, match=r"noise: \[masking\] makes it of every subword"):
        schedule.check(stage(terms=terms, stop=StopSpec(monitor="loss")))
    masked = stage(terms=terms, stop=StopSpec(monitor="loss"), noise=["masking"])
    assert schedule.check(masked).noise.targets == ("mlm",)


@pytest.fixture
def encoder_student(teacher):
    model = scratch_encoder(
        13, hidden_dim=8, layers=1, max_positions=48, heads={"logits": "mlm"}, seed=3
    )
    return SimpleNamespace(model=model, featurizer=teacher.featurizer)


def seen_by(schedule, monkeypatch, **options) -> dict[str, list]:
    """The batches that training and selection draw in a stage of two passes."""
    seen = {"training": [], "held_out": []}
    batch = RowStream.batch

    def note(stream, chosen, generator):
        held_out = stream.rows is schedule.rows("student", "transfer_held_out")
        found = batch(stream, chosen, generator)
        seen["held_out" if held_out else "training"].append((stream.rows.inputs(chosen), found))
        return found

    monkeypatch.setattr(RowStream, "batch", note)
    schedule.run([stage(**options)])
    return seen


def changed(seen) -> list[bool]:
    return [(plain["input_ids"] != found["input_ids"]).any() for plain, found in seen]


def test_masks_are_the_same_at_every_check(make, encoder_student, monkeypatch):
    """And others in each pass over what is trained on."""
    seen = seen_by(
        make(models={"student": encoder_student}),
        monkeypatch,
        terms=term(loss="masked_lm", stream="train", head="logits"),
        noise=[{"kind": "masking", "probability": 0.5}],
        stop=StopSpec(epochs=2, monitor="loss", on="transfer_held_out"),
    )
    (first, *others) = [found["input_ids"] for _, found in seen["held_out"]]
    # Three checks; draws that are made ahead and not used are others.
    assert sum(np.array_equal(first, other) for other in others) >= 3
    assert all(changed(seen["held_out"]))
    assert all(changed(seen["training"]))
    assert all("target/mlm" in found for _, found in seen["training"])


def test_hidden_words_are_for_training_only(make, monkeypatch):
    seen = seen_by(
        make(),
        monkeypatch,
        noise=[{"kind": "word_dropout", "probability": 0.5}],
        stop=StopSpec(epochs=2, monitor="loss", on="transfer_held_out"),
    )
    assert not any(changed(seen["held_out"]))
    assert sum(changed(seen["training"])) > 0.9 * len(seen["training"])


def test_terms_on_subwords_need_one_tokenizer(make, monkeypatch):
    from tfdistil.distill.objectives import OBJECTIVES, masked_mean, objective

    monkeypatch.setattr("tfdistil.distill.objectives.OBJECTIVES", dict(OBJECTIVES))

    @objective("copy", student="hidden", teacher="hidden/1", align="subword")
    def copy(student, teacher, mask):
        return masked_mean((student - teacher)[..., 0] ** 2, mask)

    with pytest.raises(RecipeError, match="needs one tokenizer for both"):
        make().run([stage(terms=term(loss="copy"))])
