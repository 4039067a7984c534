"""A phase that was killed anywhere and resumed ends like one that was not, to the last bit."""

from __future__ import annotations

import json
import math
import random
import resource
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest

from tests.others_long import others_long
from tfdistil.distill import phase_state
from tfdistil.distill.best_weights import Progress
from tfdistil.distill.bound_stage import bind_stage
from tfdistil.distill.phase_state import PhaseState, WriteState
from tfdistil.distill.stage import PhaseResult, run_stage
from tfdistil.distill.streams import RowStream
from tfdistil.recipe.schema.stages import OptimizerSpec, StageSpec, StopSpec, TermSpec

COSINE = OptimizerSpec(learning_rate=0.03, warmup=0.2, clip=1.0, weight_decay=0.01)
BOTH = [TermSpec(loss="cross_entropy"), TermSpec(loss="cross_entropy", stream="transfer")]

STAGES: dict[str, dict[str, Any]] = {
    "several streams, cosine": {"terms": BOTH},
    "accumulated": {"accumulate": 3, "stop": StopSpec(epochs=3, every=2)},
    "uncertainty, layer by layer": {
        "terms": BOTH,
        "weighting": "uncertainty",
        "unfreeze": "top_down",
        "groups": ["heads", "inner"],
        "stop": StopSpec(epochs=2, every=3),
    },
    "patience": {
        "optimizer": OptimizerSpec(learning_rate=0.3, schedule="constant"),
        "stop": StopSpec(epochs=9, every=2, patience=2, min_updates=6),
    },
    "a monitored loss": {
        "terms": BOTH,
        "accumulate": 2,
        "stop": StopSpec(epochs=3, every=2, monitor="loss"),
    },
    "a teacher with dropout": {
        "terms": [TermSpec(loss="logit_mse", teacher_head="labels", align="subword")],
        "teacher": "teacher",
        "teacher_dropout": True,
    },
}
LONG = "several streams, cosine"
"""Has nothing that a monitored loss has not."""


@dataclass
class Training:
    """What comes of a stage, over all its starts; rows are those of the last one."""

    weights: list[np.ndarray] = field(default_factory=list)
    results: list[PhaseResult] = field(default_factory=list)
    rows: list[tuple[str, dict[str, float]]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    batches: dict[str, int] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


class Kill(keras.callbacks.Callback):
    """Writes no more states after one batch, and dies after another one."""

    def __init__(self, monkeypatch, last: int, dies: int):
        super().__init__()
        self.monkeypatch, self.last, self.dies = monkeypatch, last, dies

    def on_train_batch_end(self, batch, logs=None):
        if batch + 1 == self.last:
            self.monkeypatch.setattr(phase_state, "LEAST", math.inf)
        if batch + 1 == self.dies:
            raise KeyboardInterrupt


@pytest.fixture
def train(make_tagger, make_examples, make_rows, task, tmp_path, monkeypatch):
    """``(options of the stage, kills, folder)`` to what came of it.

    ``kills`` are pairs: batches of the first phase that a start makes until the last state is
    written, and until it dies. After them comes a start that ends, if any is to.
    """

    def noise(batch, words, generator):
        hidden = generator.random(batch["input_ids"].shape) < 0.3
        return {**batch, "input_ids": np.where(hidden, 1, batch["input_ids"]).astype(np.int32)}

    def stream(number: int, seed: int, *transforms) -> RowStream:
        return RowStream(make_rows(make_examples(number, seed)), task.outputs, noise=transforms)

    def go(options, kills=(), folder="states", seed=3, ends=True) -> Training:
        given = {"name": "s", "terms": BOTH[:1], "teacher": None, "optimizer": COSINE}
        given |= {"batch_size": 8, "stop": StopSpec(epochs=3, every=4)}
        spec = StageSpec(**given | options)
        sets = {name: make_examples(4, seed=9) for name in ("train", "dev", "transfer")}
        streams = {"train": stream(40, 1, noise), "transfer": stream(21, 2, noise)}
        streams = {name: streams[name] for name in {term.stream for term in spec.terms}}
        found, saved = Training(), []
        for pair in [*kills, *([None] if ends else [])]:
            model = make_tagger(dropout=0.3)
            models = {"student": model, "teacher": make_tagger(seed=5, dropout=0.3)}
            student = model.model
            if saved:  # what a schedule loads
                student.set_weights(saved[-1])
            monkeypatch.setattr(phase_state, "LEAST", 0.0)
            monkeypatch.setattr(phase_state, "SHARE", math.inf)
            held_out = stream(15, 4)

            def metric(student=student, held_out=held_out):
                """Rises and falls, as a metric does, and tells any two students apart."""
                batch = held_out.batch(np.arange(15), None)
                return float(np.mean(np.sin(40 * np.array(student(batch)["labels/tags"]))))

            def callbacks(phase, batches, pair=pair):
                found.batches[phase] = batches
                return [Kill(monkeypatch, *pair)] if pair else []

            def finished(result, student=student):
                found.results.append(result)
                saved.append(student.get_weights())
                (tmp_path / folder / result.name).unlink(missing_ok=True)

            found.rows = [row for row in found.rows if row[0] in [r.name for r in found.results]]
            try:
                run_stage(
                    bind_stage(spec, models, sets, task),
                    streams,
                    seed=seed,
                    metric=None if spec.stop.monitor == "loss" else metric,
                    held_out=held_out,
                    record=lambda phase, row: found.rows.append((phase, row)),
                    callbacks=callbacks,
                    finished=finished,
                    done=list(found.results),
                    state_file=lambda phase: tmp_path / folder / phase,
                    say=found.lines.append,
                )
            except KeyboardInterrupt:
                assert pair
        found.weights = student.get_weights()
        found.left = sorted(path.name for path in (tmp_path / folder).iterdir())
        return found

    return go


def assert_same(found: Training, expected: Training) -> None:
    assert found.results == expected.results
    assert found.rows == expected.rows
    for one, other in zip(found.weights, expected.weights, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", others_long(STAGES, STAGES.keys() - {LONG}))
def test_a_killed_phase_ends_like_a_whole_one(train, name):
    """Killed twice, at a check or between two, in the batch that was written or later."""
    options = STAGES[name]
    whole = train(options, folder="whole")
    assert whole.lines == []
    rng = random.Random(name)
    every = options.get("stop", StopSpec(every=4)).every * options.get("accumulate", 1)
    total = whole.batches["s.heads" if "unfreeze" in options else "s"]
    if name == "patience":
        total = whole.results[0].updates
        assert total < whole.batches["s"]
    for turn, last in enumerate([every, rng.randrange(1, total)]):
        again = rng.randrange(0, total - last)
        dies = min(last + rng.randrange(3), total - 1)
        kills = [(last, dies), *([(again, again)] if again else [])]
        found = train(options, kills, folder=f"killed{turn}")
        assert_same(found, whole)
        phase = "s.heads" if "unfreeze" in options else "s"
        accumulate, planned = options.get("accumulate", 1), whole.batches[phase]
        at = [last, last + again][: len(kills)]
        lines = [
            f"  student, {phase} continues after update {n // accumulate} of "
            f"{planned // accumulate}"
            for n in at
        ]
        assert found.lines == lines
        assert found.batches[phase] == planned - at[-1]
        assert found.left == []


OPTIONS = STAGES["several streams, cosine"]


def damage(data: bytes) -> dict[str, bytes]:
    middle = data.index(b'"batches": 5') + 11  # it says 1 then
    return {
        "cut off": data[:middle],
        "empty": b"",
        "a bit": data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :],
        "no archive": b"x" * len(data),
    }


def test_a_state_that_is_of_no_use_is_passed_over(train, tmp_path):
    whole = train(OPTIONS, folder="whole")
    train(OPTIONS, [(5, 5)], folder="killed", ends=False)
    path = tmp_path / "killed" / "s"
    data = path.read_bytes()
    for what, content in damage(data).items():
        path.write_bytes(content)
        found = train(OPTIONS, folder="killed")
        assert_same(found, whole)
        (line,) = found.lines
        assert line.startswith(f"  student, s starts over: {path} is of no use ("), what
    others = [
        ({"seed": 4}, {}),
        ({}, {"optimizer": OptimizerSpec(learning_rate=0.02)}),
        ({}, {"name": "s", "terms": BOTH[:1]}),
    ]
    for options, changes in others:
        path.write_bytes(data)
        found = train(OPTIONS | changes, folder="killed", **options)
        assert found.lines == [
            f"  student, s starts over: {path} is of no use (the state of another training)"
        ]
        assert_same(found, train(OPTIONS | changes, folder="new", **options))


class Counts(keras.Model):
    """The least that has a state: a weight, dropout, an optimizer."""

    def __init__(self):
        super().__init__()
        self.dropout = keras.layers.Dropout(0.5, seed=1)
        self.dense = keras.layers.Dense(3)
        self.build((None, 4))
        self.compile(optimizer=keras.optimizers.Adam(0.1), loss="mse")
        self.optimizer.build(self.trainable_variables)

    def build(self, shape):
        self.dense.build(shape)
        self.dropout.build(shape)
        self.built = True

    def call(self, x, training=False):
        return self.dropout(self.dense(x), training=training)


def values_of(state: PhaseState) -> list[np.ndarray]:
    return [variable.numpy() for variable in state.variables]


def best_of(state: PhaseState) -> list[np.ndarray]:
    """The weights as they are now."""
    return [weight.numpy() for weight in state.weights]


@pytest.fixture
def state(tmp_path):
    model = Counts()
    data = np.random.default_rng(0).random((8, 4), np.float32)
    model.fit(data, data[:, :3], epochs=1, verbose=0)
    return PhaseState(tmp_path / "a" / "s.npz", {"name": "s"}, model)


PROGRESS = Progress(
    7, [{"epoch": 0.0, "monitored": 1 / 3}, {"epoch": 1.0, "loss": 2e-7}], 0.1, 2, 9.5
)


def test_all_that_changes_is_in_the_file(state):
    before = values_of(state)
    best = [array + 1 for array in best_of(state)]
    state.write(PROGRESS, best)
    names = [variable.path for variable in state.variables]
    assert any("seed_generator_state" in name for name in names)
    assert any("velocity" in name for name in names)
    for variable in state.variables:
        variable.assign(np.zeros(variable.shape, variable.dtype))
    progress, found = state.read()
    assert progress == PROGRESS
    for one, other in zip([*before, *best], [*values_of(state), *found], strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert [path.name for path in state.path.parent.iterdir()] == ["s.npz"]


@pytest.mark.parametrize("best", [np.nan, np.inf, 0.1 + 0.2])
def test_values_that_are_no_decimal_fractions_are_kept(state, best):
    state.write(Progress(best_value=best), best_of(state))
    np.testing.assert_equal(state.read()[0].best_value, best)


def test_no_state_is_none(state):
    assert state.read() is None


def test_numpy_reads_it_without_pickle(state):
    state.write(PROGRESS, best_of(state))
    with np.load(state.path, allow_pickle=False) as archive:
        assert json.loads(archive["state"].tobytes())["progress"]["batches"] == 7
        np.testing.assert_array_equal(archive["variable.0"], values_of(state)[0])


def test_a_damaged_file_is_an_error_that_changes_nothing(state):
    """Any bit: what is read is what was written, or nothing is."""
    best = [array - 1 for array in best_of(state)]
    state.write(PROGRESS, best)
    data = state.path.read_bytes()
    before, rng, errors = values_of(state), random.Random(0), 0
    for _ in range(1000):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        state.path.write_bytes(damaged)
        try:
            found = state.read()
        except ValueError:
            errors += 1
        else:  # a bit that means nothing, such as one of a date
            assert found[0] == PROGRESS
            for one, other in zip(best, found[1], strict=True):
                np.testing.assert_array_equal(one, other)
        for one, other in zip(before, values_of(state), strict=True):
            np.testing.assert_array_equal(one, other)
    assert errors > 500


def test_objects_are_not_unpickled(state, tmp_path):
    state.write(PROGRESS, best_of(state))

    class Harm:
        def __reduce__(self):
            return (tmp_path.joinpath("harm").write_text, ("done",))

    with np.load(state.path) as archive:
        arrays = dict(archive)
    arrays["variable.0"] = np.array([Harm()], object)
    with state.path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        state.read()
    assert not (tmp_path / "harm").exists()


def test_arrays_of_other_shapes_change_nothing(state):
    """Whole by its checksums, and of the phase by its own word."""
    state.write(PROGRESS, best_of(state))
    with np.load(state.path) as archive:
        arrays = dict(archive)
    last = f"variable.{len(state.variables) - 1}"
    for wrong in (np.zeros((9, 9), np.float32), arrays[last].astype(np.float64)):
        with state.path.open("wb") as file:
            np.savez(file, **(arrays | {last: wrong, "variable.0": arrays["variable.0"] + 1}))
        before = values_of(state)
        with pytest.raises(ValueError, match="expected"):
            state.read()
        for one, other in zip(before, values_of(state), strict=True):
            np.testing.assert_array_equal(one, other)


# When it is written


class Clock:
    """Seconds that go by only as the test says."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(("takes", "between"), [(0.0, 60), (0.5, 60), (0.9, 90), (10.0, 1000)])
def test_writing_takes_a_hundredth_of_the_time_at_the_most(state, monkeypatch, takes, between):
    clock, written = Clock(), []
    monkeypatch.setattr(phase_state, "time", clock)

    def write(progress, best_weights):
        written.append(clock.now)
        clock.now += takes

    monkeypatch.setattr(state, "write", write)
    callback = WriteState(state, SimpleNamespace(progress=None, best_weights=[]), print)
    callback.set_model(SimpleNamespace(stop_training=False))
    callback.on_train_begin()
    while clock.now < 10_000:
        clock.now += 0.25
        callback.on_train_batch_end(0)
    assert written[0] == 1060
    later = np.diff(written)
    assert len(later) > 5
    assert later == pytest.approx(between + takes, abs=0.5)


def test_a_phase_that_ends_is_not_written(state, monkeypatch):
    monkeypatch.setattr(phase_state, "LEAST", 0.0)
    best = SimpleNamespace(progress=PROGRESS, best_weights=best_of(state))
    callback = WriteState(state, best, print)
    for stops in (True, False):
        callback.set_model(SimpleNamespace(stop_training=stops))
        callback.on_train_batch_end(0)
        assert state.path.exists() != stops


def test_a_full_disk_does_not_stop_training(state, monkeypatch):
    monkeypatch.setattr(phase_state, "LEAST", 0.0)
    state.path.parent.mkdir()
    best = SimpleNamespace(progress=PROGRESS, best_weights=best_of(state))
    state.write(PROGRESS, best.best_weights)
    before, lines = state.path.read_bytes(), []
    callback = WriteState(state, best, lines.append)
    callback.set_model(SimpleNamespace(stop_training=False))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))  # the kernel refuses more
    try:
        callback.on_train_batch_end(0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert [line.partition(":")[0] for line in lines] == [
        "  a stop now would lose this phase, its state cannot be written"
    ]
    assert state.path.read_bytes() == before
    assert [path.name for path in state.path.parent.iterdir()] == ["s.npz"]
