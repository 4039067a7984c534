"""A schedule: stages in order over named models and sets, with signals cached and phases saved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tfdistil.data.example import Example
from tfdistil.distill.best_weights import History
from tfdistil.distill.dev_head import dev_head
from tfdistil.distill.distiller import Term, bind_terms, stream_key
from tfdistil.distill.distortion import distort_words
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.freezing import phases
from tfdistil.distill.reach import reached_groups
from tfdistil.distill.rows import Rows, encode_rows
from tfdistil.distill.signals import (
    LiveSignals,
    PooledSignals,
    StoredSignals,
    TeacherSignals,
    load_signals,
    store_signals,
)
from tfdistil.distill.stage import Callbacks, PhaseResult, run_stage
from tfdistil.distill.streams import Stream, Transform, concatenate_rows
from tfdistil.distill.weights import save_weights
from tfdistil.errors import RecipeError
from tfdistil.files import new_file, read_json, write_json
from tfdistil.progress import Counter, silent
from tfdistil.schema.stages import StageSpec
from tfdistil.tasks import Task, constant_score
from tfdistil.text.featurizer import Featurizer


class FeaturizedModel(Protocol):
    """A model with the featurizer that feeds it."""

    @property
    def model(self) -> Any:
        """Gives signals; see `SignalModel`."""

    @property
    def featurizer(self) -> Featurizer:
        """Makes its inputs."""
        ...


class Schedule:
    """Runs stages over models by name.

    Args:
        models: by the names the stages use; the students among them are trained in place. A model
            is looked up when its stage begins, so a mapping may make one then, from what an earlier
            stage trained.
        sets: examples by name (``train``, ``dev``, ``transfer``, ...).
        task: labels and metric.
        folder: where ``cache/``, ``phases/`` and ``history.csv`` go; what is there already is not
            done again.
        seed: of the order of the data.
        callbacks: Keras callbacks for each phase, such as a progress bar.
        counter: shows how far the teacher's signals are.
        transforms: set name to a change of its batches, drawn afresh each time (masking, noise).
        head: the head that is delivered, see `dev_head`.

    Attributes:
        done: by student, how each phase ended, earlier starts included.
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
        transforms: Mapping[str, Transform] | None = None,
        head: str = "labels",
    ):
        self.models, self.sets, self.task, self.folder = models, dict(sets), task, folder
        self.seed, self.callbacks, self.counter = seed, callbacks, counter
        self.transforms, self.head = dict(transforms or {}), head
        self.history = History(folder / "history.csv")
        self.done: dict[str, list[PhaseResult]] = {}
        self._rows: dict[tuple[str, str], Rows] = {}
        self._predictors: dict[tuple[str, str], Predictor] = {}
        self._reach: dict[str, list[str]] = {}

    def run(self, stages: Sequence[StageSpec]) -> dict[str, int]:
        """Train through all stages; phases that are saved already are loaded instead.

        Returns:
            Updates made for each student, earlier starts included.
        """
        updates: dict[str, int] = {}
        for stage in stages:
            for result in self._stage(stage):
                updates[stage.student] = updates.get(stage.student, 0) + result.updates
                self.done.setdefault(stage.student, []).append(result)
        return updates

    def check(self, stage: StageSpec) -> None:
        """Find what a stage asks for in vain, without training anything.

        Raises:
            RecipeError: an unknown objective, output or layer group, a set that is empty, a signal
                that the teacher or the student does not give, or a dev metric of which it is not
                said which head it is read off.
        """
        terms = bind_terms(stage.terms, self.task.outputs)
        if stage.teacher is None and any(term.teacher for term in terms):
            raise RecipeError(f"stage {stage.name!r} has a term that needs a teacher, but none")
        for spec in stage.terms:
            self._drawn(spec.pool)
        self._examples(stage.stop.on)
        if stage.distortion and not hasattr(self.models[stage.student].featurizer, "hashes"):
            raise RecipeError(
                f"stage {stage.name!r} has distortion, but {stage.student!r} does not hash words"
            )
        for term in terms:
            what = f"term {term.label}"
            self._check_signals(stage, what, stage.student, term.student)
            self._check_signals(stage, what, stage.teacher or "", term.teacher)
        if stage.stop.monitor == "metric":
            names = [f"{dev_head(stage, self.head)}/{output.name}" for output in self.task.outputs]
            self._check_signals(stage, "the dev metric", stage.student, names)
        self._phases(stage)

    def _check_signals(self, stage: StageSpec, what: str, model: str, names: Sequence[str]) -> None:
        for name in names:
            try:
                self.models[model].model.level(name)
            except KeyError as error:
                raise RecipeError(
                    f"stage {stage.name!r}: {what} reads {name!r} off {model!r}: {error.args[0]}"
                ) from None

    def _stage(self, stage: StageSpec) -> list[PhaseResult]:
        self.check(stage)
        student = self.models[stage.student]
        terms = bind_terms(stage.terms, self.task.outputs)
        pools = {stream_key(spec.pool): spec.pool for spec in stage.terms}
        streams = {
            key: self._stream(stage, self._drawn(pool), [t for t in terms if t.stream == key])
            for key, pool in pools.items()
        }
        metric = floor = held_out = None
        if stage.stop.monitor == "loss":
            clean = stage.model_copy(update={"distortion": 0.0})
            held_out = self._stream(clean, (stage.stop.on,), terms)
        else:
            metric, floor = self._metric(stage), constant_score(self.task, self._examples("dev"))
        done = self._saved_phases(stage)
        if done:
            student.model.load_weights(self._phase_file(stage, done[-1].name, ".weights.h5"))
        self.history.forget(stage.student, self._phases(stage)[len(done) :])
        results = list(done)
        run_stage(
            stage,
            student.model,
            streams,
            self.task.outputs,
            seed=self.seed,
            metric=metric,
            floor=floor,
            held_out=held_out,
            teacher=self._teacher_on_pieces(stage, terms),
            record=lambda phase, row: self.history(stage.student, phase, row),
            callbacks=self.callbacks,
            finished=lambda result: results.append(self._save_phase(stage, result)),
            skip=lambda phase: phase in {result.name for result in done},
            reached=self._reached(stage),
        )
        return results

    def _teacher_on_pieces(self, stage: StageSpec, terms: Sequence[Term]) -> Any:
        """The teacher that runs on the student's inputs in each step, where a term wants it."""
        if stage.teacher is None or not any(term.on_pieces for term in terms):
            return None
        teacher, student = self.models[stage.teacher], self.models[stage.student]
        if teacher.featurizer.to_assets() != student.featurizer.to_assets():
            raise RecipeError(
                f"stage {stage.name!r} has a term that aligns on pieces, which needs one tokenizer "
                f"for both, but {stage.teacher!r} and {stage.student!r} have their own; with "
                "prune_vocabulary: false a student has its teacher's"
            )
        return teacher.model

    def _metric(self, stage: StageSpec) -> Callable[[], float]:
        """The dev metric of the stage's student."""
        key = stage.student, dev_head(stage, self.head)
        if key not in self._predictors:  # compiled once for all phases and stages
            self._predictors[key] = Predictor(self.models[key[0]].model, self.task, key[1])
        predictor = self._predictors[key]

        def evaluate() -> float:
            scores = predictor.score(self.rows(stage.student, "dev"), self.sets["dev"])
            return scores[self.task.metric]

        return evaluate

    def rows(self, model: str, name: str) -> Rows:
        """A set encoded for a model, once.

        Raises:
            RecipeError: there is no such set.
        """
        if (model, name) not in self._rows:
            featurizer = self.models[model].featurizer
            self._rows[model, name] = encode_rows(self._examples(name), featurizer, self.task)
        return self._rows[model, name]

    def _drawn(self, pool: Sequence[str]) -> list[str]:
        """The sets of a pool without those that are empty, of which one at least must not be."""
        drawn = [name for name in pool if self.sets.get(name) or name not in self.sets]
        for name in drawn or pool:
            self._examples(name)
        return drawn

    def _examples(self, name: str) -> Sequence[Example]:
        if not self.sets.get(name):
            available = [key for key, examples in self.sets.items() if examples]
            raise RecipeError(f"a stage draws from {name!r}, but there is only {available}")
        return self.sets[name]

    def _stream(self, stage: StageSpec, pool: Sequence[str], terms: Sequence[Term]) -> Stream:
        rows = concatenate_rows([self.rows(stage.student, name) for name in pool])
        return Stream(
            rows,
            self.task.outputs,
            self._signals(stage, pool, terms),
            self._transform(stage, pool, rows),
        )

    def _transform(self, stage: StageSpec, pool: Sequence[str], rows: Rows) -> Transform | None:
        """What changes the batches of a pool: that of its set, or the stage's distortion."""
        changed = [self.transforms[name] for name in pool if name in self.transforms]
        if changed and len(pool) > 1:
            raise RecipeError(f"stage {stage.name!r}: {pool} cannot be pooled, one is transformed")
        if not stage.distortion:
            return changed[0] if changed else None
        words = [example.words for name in pool for example in self._examples(name)]
        featurizer: Any = self.models[stage.student].featurizer
        return distort_words(rows, words, featurizer.hashes, stage.distortion)

    def _signals(
        self, stage: StageSpec, pool: Sequence[str], terms: Sequence[Term]
    ) -> TeacherSignals | None:
        # What aligns on pieces is read off the teacher in the step, on the student's inputs.
        names = sorted({n for term in terms if not term.on_pieces for n in term.teacher})
        if stage.teacher is None or not names:
            return None
        teacher = self.models[stage.teacher]
        if stage.signals == "live":
            parts = [self.rows(stage.teacher, name) for name in pool]
            return LiveSignals(teacher.model, concatenate_rows(parts), names)
        return PooledSignals([self._stored(stage, name, names) for name in pool])

    def _stored(self, stage: StageSpec, name: str, signals: Sequence[str]) -> StoredSignals:
        assert stage.teacher is not None
        teacher = self.models[stage.teacher]
        folder = self.folder / "cache" / self._cache_key(teacher, name, signals)
        if not folder.exists():
            counter = self.counter(f"{stage.teacher} on {name}", len(self.sets[name]))
            rows = self.rows(stage.teacher, name)
            store_signals(teacher.model, rows, signals, folder, counter)
        return load_signals(folder, self.rows(stage.student, name))

    def _cache_key(self, teacher: FeaturizedModel, name: str, signals: Sequence[str]) -> str:
        """Everything the signals depend on: weights, tokenizer, sentences, signals, windows."""
        digest = hashlib.sha256()
        for weight in teacher.model.get_weights():
            digest.update(np.ascontiguousarray(weight).tobytes())
        for _, data in sorted(teacher.featurizer.to_assets().items()):
            digest.update(data)
        settings = [teacher.featurizer.to_json(), list(signals), "float32"]
        digest.update(json.dumps(settings, sort_keys=True).encode())
        for example in self.sets[name]:
            digest.update("\x1f".join((*example.words, "\x1e", *(example.second or ()))).encode())
        return f"{name}-{digest.hexdigest()[:16]}"

    def _phase_file(self, stage: StageSpec, phase: str, suffix: str) -> Path:
        return self.folder / "phases" / stage.student / f"{phase}{suffix}"

    def _save_phase(self, stage: StageSpec, result: PhaseResult) -> PhaseResult:
        result = replace(result, score=self._score(stage, result))
        weights = self._phase_file(stage, result.name, ".weights.h5")
        weights.parent.mkdir(parents=True, exist_ok=True)
        with new_file(weights, ".weights.h5") as partial:
            save_weights(self.models[stage.student].model, partial)
        # The facts come last: a phase counts as done only when both files are there.
        write_json(self._phase_file(stage, result.name, ".json"), asdict(result))
        return result

    def _score(self, stage: StageSpec, result: PhaseResult) -> float | None:
        """The dev metric after a phase, as in XtremeDistil's Table 4; None where there is none."""
        if stage.stop.monitor == "metric":
            return result.best
        try:
            for output in self.task.outputs:
                self.models[stage.student].model.level(
                    f"{dev_head(stage, self.head)}/{output.name}"
                )
        except (KeyError, RecipeError):  # a model of another task, as in pre-training, or no head
            return None
        return self._metric(stage)() if self.sets.get("dev") else None

    def _saved_phases(self, stage: StageSpec) -> list[PhaseResult]:
        found = []
        for phase in self._phases(stage):
            facts = self._phase_file(stage, phase, ".json")
            if not facts.exists():
                break
            found.append(PhaseResult(**read_json(facts)))
        return found

    def _phases(self, stage: StageSpec) -> list[str]:
        groups = [name for name, _ in self.models[stage.student].model.layer_groups()]
        return [phase.name for phase in phases(stage, groups, self._reached(stage))]

    def _reached(self, stage: StageSpec) -> list[str] | None:
        """The layer groups that the stage's terms depend on; None where all train at once."""
        if stage.groups is None and stage.unfreeze == "at_once":
            return None
        if stage.name not in self._reach:
            student = self.models[stage.student]
            terms = bind_terms(stage.terms, self.task.outputs)
            (name, *_) = self._drawn(stage.terms[0].pool)
            rows = encode_rows(self._examples(name)[:1], student.featurizer, self.task)
            batch = Stream(rows, self.task.outputs).batch([0], np.random.default_rng(self.seed))
            signals = {name for term in terms for name in term.student}
            self._reach[stage.name] = reached_groups(student.model, signals, batch)
        return self._reach[stage.name]
