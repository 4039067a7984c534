"""A stage bound to models, sets and task: once, for checking, for training and for the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from tfdistil.data.example import Example
from tfdistil.distill.dev_head import dev_head
from tfdistil.distill.freezing import Phase, phases
from tfdistil.distill.masking import Texts, count_pieces, piece_counts
from tfdistil.distill.noise import NOISE, BoundNoise, bind_noise
from tfdistil.distill.optimizer import TERMS, check_rates
from tfdistil.distill.precision import check_precision
from tfdistil.distill.reach import reached_groups
from tfdistil.distill.rows import encode_rows
from tfdistil.distill.sets import Shelf, count_set
from tfdistil.distill.stage_checks import (
    FeaturizedModel,
    check_heads,
    check_labels,
    check_returned,
    check_sets,
    check_signals,
    check_tokenizers,
    drawn,
    examples_of,
)
from tfdistil.distill.terms import Term, bind_terms, signals_of, stream_key
from tfdistil.distill.weighting import WEIGHTINGS
from tfdistil.distill.worth import BoundDraw, bind_draw
from tfdistil.errors import RecipeError
from tfdistil.padding import MULTIPLE
from tfdistil.printable import listed
from tfdistil.recipe.schema.stages import StageSpec
from tfdistil.shards.text import TextPart
from tfdistil.tasks import Task


@dataclass(frozen=True)
class BoundStage:
    """A stage with everything that it names looked up.

    Attributes:
        spec: the recipe's stage.
        student: learns.
        teacher: gives signals; None where no term needs one.
        terms: with the signals they read.
        pools: by the key of each stream, the sets that it draws from; none of them is empty.
        noise: what changes its batches.
        phases: in order.
        head: that the dev metric is read off; None where a loss decides and no one head is named.
        draw: what makes it draw some texts more often than others; None: nothing.
    """

    spec: StageSpec
    student: FeaturizedModel
    teacher: FeaturizedModel | None
    terms: tuple[Term, ...]
    pools: Mapping[str, tuple[str, ...]]
    noise: BoundNoise
    phases: tuple[Phase, ...]
    head: str | None
    draw: BoundDraw | None = None

    @property
    def teacher_in_step(self) -> Any:
        """The teacher that runs on the student's inputs in each step, where a term wants it."""
        on_subwords = any(term.on_subwords for term in self.terms)
        return self.teacher.model if self.teacher is not None and on_subwords else None

    def teacher_signals(self, streams: Sequence[str]) -> list[str]:
        """What the terms on some streams need of the teacher beforehand, in order of name.

        What aligns on pieces is not among them: it is read off the teacher in the step.
        """
        terms = [term for term in self.terms if term.stream in streams and not term.on_subwords]
        return sorted({name for term in terms for name in term.teacher})

    @property
    def multiple(self) -> int:
        """What the lengths of its batches are a multiple of; of padding that counts, all of it."""
        whole = any(term.counts_padding for term in self.terms)
        return self.student.featurizer.max_length if whole else MULTIPLE

    @property
    def drawn_by(self) -> list[str]:
        """The teacher's scores that say how often a text is drawn."""
        if self.draw is None:
            return []
        assert self.teacher is not None
        head = self.draw.head
        return [f"{head}/{output}" for output in self.teacher.model.outputs_of(head)]


def bind_stage(
    spec: StageSpec,
    models: Mapping[str, FeaturizedModel],
    sets: Mapping[str, Sequence[Example]],
    task: Task,
    delivered: str = "labels",
    shelf: Shelf | None = None,
) -> BoundStage:
    """Find all that a stage names, and what it asks for in vain, without training anything.

    Args:
        spec: the recipe's stage.
        models: its student and its teacher among them.
        sets: examples by name.
        task: its outputs are those that terms stand for.
        delivered: the head that is delivered, see `dev_head`.
        shelf: where text of any size is kept in rows, whose pieces noise may count; None: nowhere,
            and the text itself would have to be read.

    Raises:
        RecipeError: an unknown objective, output or layer group, a set that is empty, a signal that
            the teacher or the student does not give, noise or a target that there is not, a term
            on pieces whose models have different tokenizers, a precision that the student does not
            compute in, a dev metric of which it is not said which head it is read off, or texts
            drawn by what cannot be said of them.
    """
    taught = any(signals_of(term).teacher for term in spec.terms) or spec.draw is not None
    if taught and spec.teacher is None:
        wants = "draw" if spec.draw is not None else "a term"
        raise RecipeError(f"stage {spec.name!r} has {wants} that needs a teacher, but none")
    # One that no term needs is not made.
    teacher = models[spec.teacher] if taught and spec.teacher is not None else None
    theirs = "" if teacher is None else _first_head(teacher.model)
    own = _unnamed_head(models[spec.student].model, delivered)
    terms = tuple(bind_terms(spec.terms, task.outputs, theirs, own))
    stage = f"stage {spec.name!r}"
    pools = {stream_key(term.pool): drawn(sets, term.pool, stage) for term in spec.terms}
    examples_of(sets, spec.stop.on, stage)
    for term in terms:
        what = f"term {term.label}"
        check_signals(spec, what, models, spec.student, term.student, term.align)
        check_returned(spec, what, models, spec.student, term.student)
        check_signals(spec, what, models, spec.teacher or "", term.teacher, term.align)
        check_labels(spec, term, (e for name in pools[term.stream] for e in sets[name]), task)
    student = models[spec.student]
    check_precision(spec.precision, student.model, f"stage {spec.name!r}: precision")
    if teacher is not None:
        check_tokenizers(spec, student, teacher, terms)
        check_heads(spec, student.model, teacher.model, terms)
    stored = any(term.teacher and not term.on_subwords for term in terms)
    for pool in (*pools.values(), (spec.stop.on,)):
        check_sets(spec, sets, pool, student, teacher if stored else None)
    return BoundStage(
        spec,
        student,
        teacher,
        terms,
        pools,
        _noise(spec, student, terms, _Texts(sets, pools, shelf), task),
        _phases(spec, student, terms, examples_of(sets, next(iter(pools.values()))[0]), task),
        _dev_head(spec, models, task, delivered, own),
        None if teacher is None else _draw(spec, teacher.model, theirs, pools.values(), sets, task),
    )


def _draw(
    spec: StageSpec,
    teacher: Any,
    head: str,
    pools: Iterable[Sequence[str]],
    sets: Mapping[str, Sequence[Example]],
    task: Task,
) -> BoundDraw | None:
    """How texts are drawn, where that is not one after another."""
    if spec.draw is None:
        return None
    named = [*dict.fromkeys(chain.from_iterable(term.pool for term in spec.terms))]
    in_memory = {name: not isinstance(sets[name], TextPart) for name in chain(*pools)}
    try:
        return bind_draw(spec.draw, teacher, head, named, in_memory, task)
    except RecipeError as error:
        raise RecipeError(f"stage {spec.name!r}: draw: {error}") from None


def _first_head(teacher: Any) -> str:
    """The head that is read where a term names none; an encoder's logits have no other name."""
    return getattr(teacher, "head_names", ("logits",))[0]


def _unnamed_head(student: Any, delivered: str) -> str:
    """The student's head that terms read which name none."""
    known = getattr(student, "head_names", ("labels",))
    return next((head for head in ("labels", delivered) if head in known), known[0])


@dataclass(frozen=True)
class _Texts:
    """The words of all texts that a stage trains on, of a pair both; gone through when asked for.

    Attributes:
        sets: examples by name.
        pools: the names that count.
        shelf: of rows on disk.
    """

    sets: Mapping[str, Sequence[Example]]
    pools: Mapping[str, Sequence[str]]
    shelf: Shelf | None

    @property
    def drawn_from(self) -> list[Sequence[Example]]:
        """The sets that count, each once."""
        return [self.sets[name] for name in dict.fromkeys(chain(*self.pools.values()))]

    def __iter__(self) -> Iterator[Sequence[str]]:
        for examples in self.drawn_from:
            for example in examples:
                yield from filter(None, example.key())


@count_pieces.register
def _(texts: _Texts, featurizer: Any) -> np.ndarray:
    """Of rows on disk where a set has them: its text was tokenized to make them."""
    if texts.shelf is None:
        return piece_counts(featurizer, texts)
    counts = [count_set(examples, featurizer, texts.shelf) for examples in texts.drawn_from]
    return np.sum(counts, axis=0)


def _noise(
    spec: StageSpec,
    student: FeaturizedModel,
    terms: Sequence[Term],
    texts: Texts,
    task: Task,
) -> BoundNoise:
    """What changes the batches; it makes the targets that the terms read of every piece."""
    try:
        noise = bind_noise(spec.noise, student.featurizer, texts)
    except RecipeError as error:
        raise RecipeError(f"stage {spec.name!r}: noise: {error}") from None
    known = {"token": [output.name for output in task.outputs], "subword": noise.targets}
    for term in terms:
        there = known[term.align]
        if term.target is not None and term.target not in there:
            makers = [
                f"noise: [{name}]" for name, kind in NOISE.items() if term.target in kind.targets
            ]
            raise RecipeError(
                f"stage {spec.name!r}: term {term.label} reads the target {term.target!r} with "
                f"align: {term.align}; there is {listed(there) or 'none'} of that alignment"
                + "".join(f", and {maker} makes it of every subword" for maker in makers)
            )
    return noise


def _phases(
    spec: StageSpec,
    student: FeaturizedModel,
    terms: Sequence[Term],
    examples: Sequence[Example],
    task: Task,
) -> tuple[Phase, ...]:
    """The phases of the stage; where all groups train at once, what terms reach does not matter."""
    groups = [name for name, _ in student.model.layer_groups()]
    learn = WEIGHTINGS[spec.weighting].parameters or any(t.objective.parameters for t in terms)
    place, beside = f"stage {spec.name!r}: optimizer.rates", [TERMS] if learn else []
    check_rates(spec.optimizer.rates, student.model, place, beside)
    if spec.groups is None and spec.unfreeze == "at_once":
        return tuple(phases(spec, groups))
    rows = encode_rows(examples[:1], student.featurizer, task)
    signals = {name for term in terms for name in term.student}
    return tuple(phases(spec, groups, reached_groups(student.model, signals, rows.inputs([0]))))


def _dev_head(
    spec: StageSpec,
    models: Mapping[str, FeaturizedModel],
    task: Task,
    delivered: str,
    unnamed: str,
) -> str | None:
    """The head that the dev metric is read off; where a loss decides there need not be one."""
    try:
        head = dev_head(spec, delivered, unnamed)
        names = [f"{head}/{output.name}" for output in task.outputs]
        check_signals(spec, "the dev metric", models, spec.student, names)
    except RecipeError:
        if spec.stop.monitor == "metric":
            raise
        return None
    return head
