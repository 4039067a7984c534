"""A schedule: stages in order over named models and sets, with signals cached and phases saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import cast

import numpy as np

from tfdistil.console.progress import Counter, silent
from tfdistil.data.example import Example
from tfdistil.distill.best_weights import History
from tfdistil.distill.bound_stage import BoundStage, bind_stage
from tfdistil.distill.cloze import ClozePredictor
from tfdistil.distill.constant_states import constant_states
from tfdistil.distill.derived import (
    JoinedSignals,
    LiveDerived,
    RowSignals,
    derive,
    pooled,
    signals_read,
    split,
)
from tfdistil.distill.evaluate import Predictor, predictor_of
from tfdistil.distill.rows import Rows, TextRows
from tfdistil.distill.sets import Shelf, encode_set
from tfdistil.distill.signal_cache import SignalCache
from tfdistil.distill.signals import (
    LiveSignals,
    PooledSignals,
    StoredSignals,
    TeacherSignals,
)
from tfdistil.distill.stage import Callbacks, PhaseResult, run_stage
from tfdistil.distill.stage_checks import FeaturizedModel, examples_of
from tfdistil.distill.streams import RowStream, Stream, Transform, concatenate_rows
from tfdistil.distill.weights import save_weights
from tfdistil.distill.worth import BoundDraw, draw_weights, predictions_of
from tfdistil.files import new_file, read_json, remove_file, write_json
from tfdistil.heads.derivation import Derivation
from tfdistil.recipe.schema.stages import StageSpec
from tfdistil.shards.reading import ShardedRows
from tfdistil.tasks import Task, chance_score

STATE = ".state.npz"
"""What the file of a phase that is still running ends in."""


class Schedule:
    """Runs stages over models by name.

    Args:
        models: by the names the stages use; the students among them are trained in place. A model
            is looked up when its stage begins, so a mapping may make one then, from what an earlier
            stage trained.
        sets: examples by name (``train``, ``dev``, ``transfer``, ...).
        task: labels and metric.
        folder: where ``cache/``, ``phases/`` and ``history.csv`` go; what is there already is not
            done again, and a phase that was interrupted continues.
        seed: of the order of the data.
        callbacks: Keras callbacks for each phase, such as a progress bar.
        counter: shows how far the teacher's signals are.
        say: told what is made beside the training, and where an interrupted phase continues.
        head: the head that is delivered, see `dev_head`.

    Attributes:
        done: by student, how each phase ended, earlier starts included.
        cache: where the teachers' signals are.
    """

    def __init__(
        self,
        models: Mapping[str, FeaturizedModel],
        sets: Mapping[str, Sequence[Example]],
        task: Task,
        folder: Path,
        *,
        seed: int,
        callbacks: Callbacks = lambda phase, updates: [],
        counter: Counter = silent,
        say: Callable[[str], None] = lambda line: None,
        head: str = "labels",
    ):
        self.models, self.sets, self.task, self.folder = models, dict(sets), task, folder
        self.seed, self.callbacks, self.counter = seed, callbacks, counter
        self.say, self.head = say, head
        self.history = History(folder / "history.csv")
        self.done: dict[str, list[PhaseResult]] = {}
        self._later: Sequence[StageSpec] = ()
        self._rows: dict[tuple[str, str], TextRows] = {}
        self._shelf = Shelf(folder / "cache", counter, say)
        self.cache = SignalCache(
            folder / "cache", self.sets, self.rows, lambda what, total: self.counter(what, total)
        )
        self._predictors: dict[tuple[str, str], Predictor | ClozePredictor] = {}

    def run(self, stages: Sequence[StageSpec]) -> dict[str, int]:
        """Train through all stages; phases that are saved already are loaded instead.

        One that was interrupted ends like one that was not: same weights, same history.

        Returns:
            Updates made for each student, earlier starts included.
        """
        updates: dict[str, int] = {}
        for number, stage in enumerate(stages):
            self._later = stages[number + 1 :]
            for result in self._stage(stage):
                updates[stage.student] = updates.get(stage.student, 0) + result.updates
                self.done.setdefault(stage.student, []).append(result)
        return updates

    @property
    def corpus_counts(self) -> dict[str, dict[str, int | float]]:
        """Of the text in shards that was drawn from first, see `ShardedRows.language_counts`.

        Empty where all sets were in memory.
        """
        sharded = (rows for rows in self._rows.values() if isinstance(rows, ShardedRows))
        return next((rows.language_counts() for rows in sharded), {})

    def check(self, stage: StageSpec) -> BoundStage:
        """The stage bound to models and sets, without training anything.

        Raises:
            RecipeError: what it asks for in vain, see `bind_stage`.
        """
        return bind_stage(stage, self.models, self.sets, self.task, self.head, self._shelf)

    def _stage(self, spec: StageSpec) -> list[PhaseResult]:
        stage = self.check(spec)
        done = self._saved_phases(stage)
        left = [phase.name for phase in stage.phases[len(done) :]]
        streams: dict[str, Stream] = {
            key: replace(
                self._stream(stage, pool, [key], stage.noise.training),
                weights=self._weights(stage, key, pool) if left else None,
            )
            for key, pool in stage.pools.items()
        }
        for line in constant_states(stage.terms, streams, self.seed) if left else ():
            self.say(f"  {spec.student}, {spec.name}: {line}")
        metric = floor = held_out = None
        if spec.stop.monitor == "loss":
            pool, keys = (spec.stop.on,), list(stage.pools)
            held_out = self._stream(stage, pool, keys, stage.noise.held_out)
        else:
            metric = self._metric(stage)
            floor = chance_score(self.task, examples_of(self.sets, "dev"))
        if done:
            stage.student.model.load_weights(self._phase_file(stage, done[-1].name, ".weights.h5"))
        self.history.forget(spec.student, left)
        results = list(done)
        run_stage(
            stage,
            streams,
            seed=self.seed,
            metric=metric,
            floor=floor,
            held_out=held_out,
            record=lambda phase, row: self.history(spec.student, phase, row),
            callbacks=self.callbacks,
            finished=lambda result: results.append(self._save_phase(stage, result)),
            done=done,
            state_file=lambda phase: self._phase_file(stage, phase, STATE),
            say=self.say,
        )
        return results

    def _metric(self, stage: BoundStage) -> Callable[[], float]:
        """The dev metric of the stage's student."""
        assert stage.head is not None
        name, head = key = stage.spec.student, stage.head
        if key not in self._predictors:  # compiled once for all phases and stages
            self._predictors[key] = predictor_of(stage.student, self.task, head)
        predictor = self._predictors[key]

        def evaluate() -> float:
            rows = cast(Rows, self.rows(name, "dev"))  # labelled sets are in memory
            scores = predictor.score(rows, self.sets["dev"])
            return scores[self.task.metric]

        return evaluate

    def rows(self, model: str, name: str) -> TextRows:
        """A set encoded for a model, once.

        Raises:
            RecipeError: there is no such set.
        """
        if (model, name) not in self._rows:
            featurizer = self.models[model].featurizer
            examples = examples_of(self.sets, name)
            self._rows[model, name] = encode_set(examples, featurizer, self.task, self._shelf)
        return self._rows[model, name]

    def _stream(
        self,
        stage: BoundStage,
        pool: Sequence[str],
        keys: Sequence[str],
        noise: tuple[Transform, ...],
    ) -> RowStream:
        """A pool of sets, with what the terms on the streams of these keys need."""
        rows = concatenate_rows([self.rows(stage.spec.student, name) for name in pool])
        signals = self._signals(stage, pool, stage.teacher_signals(keys))
        return RowStream(rows, self.task.outputs, signals, noise, multiple=stage.multiple)

    def _signals(
        self, stage: BoundStage, pool: Sequence[str], names: Sequence[str]
    ) -> TeacherSignals | None:
        if stage.teacher is None or not names:
            return None
        assert stage.spec.teacher is not None
        own, derivations = split(stage.teacher.model, names)
        if stage.spec.signals == "live":
            parts = [self.rows(stage.spec.teacher, name) for name in pool]
            read = signals_read(own, derivations)
            live = LiveSignals(stage.teacher.model, concatenate_rows(parts), read)
            return LiveDerived(live, own, derivations)
        sets = [self._stored(stage, name, own, derivations) for name in pool]
        stored, derived = zip(*sets, strict=True)
        return JoinedSignals([PooledSignals(stored), pooled(derived)])

    def _stored(
        self, stage: BoundStage, name: str, own: Sequence[str], derivations: Sequence[Derivation]
    ) -> tuple[StoredSignals, RowSignals]:
        stored, folder = self._load(stage, name, signals_read(own, derivations))
        rows = self.rows(stage.spec.student, name)
        counter_of = partial(self.counter, f"derived signals of {stage.spec.teacher} on {name}")
        return stored.of(own), derive(derivations, stored, rows, folder, counter_of)

    def _weights(self, stage: BoundStage, key: str, pool: Sequence[str]) -> np.ndarray | None:
        """How often each row of a stream is drawn; None: as the rows have it."""
        draw = stage.draw
        if draw is None or not {*pool} & {*draw.sets}:
            return None
        weights = []
        for name in pool:
            rows = cast(Rows, self.rows(stage.spec.student, name))
            weights.append(np.ones(len(rows)))
            if name in draw.sets:
                values = self._worth(stage, draw, key, name, rows)[rows.example]
                weights[-1] = draw_weights(values, draw.even)
                drawn = (values * weights[-1]).mean()
                self.say(f"  {draw.by} in {name}: {values.mean():.1%} there, {drawn:.1%} drawn")
        return np.concatenate(weights)

    def _worth(
        self, stage: BoundStage, draw: BoundDraw, key: str, name: str, rows: Rows
    ) -> np.ndarray:
        """What the texts of a set are worth by the teacher's predictions, ``[texts]``."""
        assert stage.teacher is not None
        live = stage.spec.signals == "live"  # of which nothing else is stored
        own, derivations = split(stage.teacher.model, [] if live else stage.teacher_signals([key]))
        stored, _ = self._load(stage, name, signals_read(own, derivations))
        said = predictions_of(
            self.task,
            stage.teacher.model.decoding(draw.head),
            rows,
            lambda output, text: stored.example(f"{draw.head}/{output}", text),
        )
        return np.array([draw.measure(one) for one in said])

    def _load(
        self, stage: BoundStage, name: str, signals: Sequence[str]
    ) -> tuple[StoredSignals, Path]:
        """The teacher's signals on a set, made once, and the folder they lie in."""
        return self.cache.load(stage, name, signals, self._alike(stage.spec))

    def _alike(self, spec: StageSpec) -> Iterator[BoundStage]:
        """Later stages of the same student and teacher, as long as no stage trains the latter."""
        for later in takewhile(lambda later: later.student != spec.teacher, self._later):
            if (later.student, later.teacher) == (spec.student, spec.teacher):
                yield self.check(later)

    def _phase_file(self, stage: BoundStage, phase: str, suffix: str) -> Path:
        return self.folder / "phases" / stage.spec.student / f"{phase}{suffix}"

    def _save_phase(self, stage: BoundStage, result: PhaseResult) -> PhaseResult:
        result = replace(result, score=self._score(stage, result))
        weights = self._phase_file(stage, result.name, ".weights.h5")
        weights.parent.mkdir(parents=True, exist_ok=True)
        with new_file(weights, ".weights.h5") as partial:
            save_weights(stage.student.model, partial)
        # The facts come last: a phase counts as done only when both files are there.
        write_json(self._phase_file(stage, result.name, ".json"), asdict(result))
        remove_file(self._phase_file(stage, result.name, STATE))
        return result

    def _score(self, stage: BoundStage, result: PhaseResult) -> float | None:
        """The dev metric after a phase, as in XtremeDistil's Table 4; None where there is none.

        A model of another task, as in pre-training, has no head for it.
        """
        if stage.spec.stop.monitor == "metric":
            return result.best
        if stage.head is None or not self.sets.get("dev"):
            return None
        return self._metric(stage)()

    def _saved_phases(self, stage: BoundStage) -> list[PhaseResult]:
        found = []
        for phase in stage.phases:
            facts = self._phase_file(stage, phase.name, ".json")
            if not facts.exists():
                break
            found.append(PhaseResult(**read_json(facts)))
            remove_file(self._phase_file(stage, phase.name, STATE))  # killed before it was removed
        return found
