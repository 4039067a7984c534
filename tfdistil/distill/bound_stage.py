"""A stage bound to models, sets and task: once, for checking, for training and for the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any, Protocol

import numpy as np

from tfdistil.data.example import Example
from tfdistil.distill.dev_head import dev_head
from tfdistil.distill.freezing import Phase, phases
from tfdistil.distill.masking import Texts, count_pieces, piece_counts
from tfdistil.distill.noise import NOISE, BoundNoise, bind_noise
from tfdistil.distill.objectives import Align
from tfdistil.distill.optimizer import TERMS, check_rates
from tfdistil.distill.precision import check_precision
from tfdistil.distill.reach import reached_groups
from tfdistil.distill.rows import encode_rows
from tfdistil.distill.sets import Shelf, count_set, unfit
from tfdistil.distill.terms import Term, bind_terms, signals_of, stream_key
from tfdistil.distill.weighting import WEIGHTINGS
from tfdistil.distill.worth import BoundDraw, bind_draw
from tfdistil.errors import RecipeError
from tfdistil.heads.kinds import who_gives
from tfdistil.padding import MULTIPLE
from tfdistil.printable import listed
from tfdistil.recipe.schema.stages import StageSpec
from tfdistil.shards.parts import HELD_OUT, TEST
from tfdistil.shards.text import TextPart
from tfdistil.tasks import Task
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
        _check_signals(spec, what, models, spec.student, term.student, term.align)
        _check_returned(spec, what, models, spec.student, term.student)
        _check_signals(spec, what, models, spec.teacher or "", term.teacher, term.align)
        _check_labels(spec, term, (e for name in pools[term.stream] for e in sets[name]), task)
    student = models[spec.student]
    check_precision(spec.precision, student.model, f"stage {spec.name!r}: precision")
    if teacher is not None:
        _check_tokenizers(spec, student, teacher, terms)
        _check_heads(spec, student.model, teacher.model, terms)
    stored = any(term.teacher and not term.on_subwords for term in terms)
    for pool in (*pools.values(), (spec.stop.on,)):
        _check_sets(spec, sets, pool, student, teacher if stored else None)
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


def examples_of(
    sets: Mapping[str, Sequence[Example]], name: str, who: str = "a stage"
) -> Sequence[Example]:
    """The examples of a set, which ``who`` draws from.

    Raises:
        RecipeError: there are none.
    """
    if not sets.get(name):
        there = ", ".join(key for key, examples in sets.items() if examples) or "none"
        share = {HELD_OUT: "held_out", TEST: "test"}.get(name)
        key = "" if share is None else f"; data.corpus.{share} is its share of all lines"
        raise RecipeError(
            f"{who} draws from {name!r}, which has no text; sets with text: {there}{key}"
        )
    return sets[name]


def drawn(sets: Mapping[str, Sequence[Example]], pool: Sequence[str], who: str) -> tuple[str, ...]:
    """The sets of a pool without those that are empty, of which one at least must not be.

    Raises:
        RecipeError: all of them are empty, or there is no set of a name.
    """
    found = tuple(name for name in pool if sets.get(name) or name not in sets)
    for name in found or pool:
        examples_of(sets, name, who)
    return found


def _check_sets(
    spec: StageSpec,
    sets: Mapping[str, Sequence[Example]],
    pool: Sequence[str],
    student: FeaturizedModel,
    teacher: FeaturizedModel | None,
) -> None:
    """The student can draw from the sets of a pool, and a teacher's signals be stored for them."""
    theirs = None if teacher is None else teacher.featurizer
    for name in pool:
        wrong = unfit(sets[name], pool, student.featurizer, theirs, spec.noise)
        if wrong is not None:
            raise RecipeError(f"stage {spec.name!r} draws from {name!r}: {wrong}")


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


def _check_signals(
    spec: StageSpec,
    what: str,
    models: Mapping[str, FeaturizedModel],
    model: str,
    names: Sequence[str],
    align: Align = "token",
) -> None:
    for name in names:
        reads = f"stage {spec.name!r}: {what} reads {name!r} off {model!r}"
        try:
            level = models[model].model.level(name)
        except KeyError as error:
            what_to_do = who_gives(name, getattr(models[model].model, "head_specs", {}))
            raise RecipeError(f"{reads}: {error.args[0]}{what_to_do}") from None
        if level == "window" and align == "token":
            raise RecipeError(f"{reads}, which has no row for a scored token; give align: subword")
        if level not in ("window", "subword", "model") and align == "subword":
            raise RecipeError(
                f"{reads}, which has no row for each subword, as align: subword needs"
            )


def _check_labels(spec: StageSpec, term: Term, examples: Iterable[Example], task: Task) -> None:
    """Gold labels are there where a term learns from nothing else."""
    names = {output.name for output in task.outputs}
    if term.teacher or term.target not in names or term.align != "token":
        return
    if not any(term.target in task.targets(example) for example in examples):
        raise RecipeError(
            f"stage {spec.name!r}: term {term.label} learns from labels, and no sentence of "
            f"{term.stream!r} has any for {term.target!r}"
        )


def _check_heads(spec: StageSpec, student: Any, teacher: Any, terms: Sequence[Term]) -> None:
    """Heads that learn from those of the teacher are like them; only scores need not be.

    And the labels of a teacher that decodes with more than scores are not those of its best scores.
    """
    for term in terms:
        own, theirs = (
            [
                head
                for signal, head in getattr(model, "heads", {}).items()
                if any(name.startswith(f"{signal}/") for name in names)
            ]
            for model, names in ((student, term.student), (teacher, term.teacher))
        )
        for wrong in filter(None, (a.unlike(b) for a, b in product(own, theirs))):
            raise RecipeError(f"stage {spec.name!r}: term {term.label}: {wrong}")
        decides = [getattr(teacher, "heads", {}).get(name) for name in term.teacher]
        if term.objective.by_scores and any(head and head.constants() for head in decides):
            raise RecipeError(
                f"stage {spec.name!r}: term {term.label} takes the highest scores of "
                f"{spec.teacher!r} for its labels, but its head decides by whole paths; use "
                "hard_label_nll, or a linear head"
            )


def _check_returned(
    spec: StageSpec,
    what: str,
    models: Mapping[str, FeaturizedModel],
    model: str,
    names: Sequence[str],
) -> None:
    """A student's signals are what its call returns; nothing is derived from them in the step."""
    for name in names:
        if models[model].model.level(name) == "derived":
            raise RecipeError(
                f"stage {spec.name!r}: {what} reads {name!r} off the student {model!r}, but it is "
                "derived from whole texts, which is done for a teacher only"
            )


def _check_tokenizers(
    spec: StageSpec, student: FeaturizedModel, teacher: FeaturizedModel, terms: Sequence[Term]
) -> None:
    """A teacher that runs on the student's inputs has to read them as the student does."""
    on_subwords = any(term.on_subwords for term in terms)
    if on_subwords and teacher.featurizer.to_assets() != student.featurizer.to_assets():
        raise RecipeError(
            f"stage {spec.name!r} has a term that aligns on subwords, which needs one tokenizer "
            f"for both, but {spec.teacher!r} and {spec.student!r} have their own; a student by its "
            "kind has its teacher's with prune_vocabulary: false, and a model made from another "
            "where no vocabulary is applied to one of them alone"
        )


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
        _check_signals(spec, "the dev metric", models, spec.student, names)
    except RecipeError:
        if spec.stop.monitor == "metric":
            raise
        return None
    return head
