"""What a stage asks of its models and sets in vain: each an error before any training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Protocol

from tfdistil.data.example import Example
from tfdistil.distill.objectives import Align
from tfdistil.distill.sets import unfit
from tfdistil.distill.terms import Term
from tfdistil.errors import RecipeError
from tfdistil.heads.kinds import who_gives
from tfdistil.recipe.schema.stages import StageSpec
from tfdistil.shards.parts import HELD_OUT, TEST
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


def check_sets(
    spec: StageSpec,
    sets: Mapping[str, Sequence[Example]],
    pool: Sequence[str],
    student: FeaturizedModel,
    teacher: FeaturizedModel | None,
) -> None:
    """The student can draw from the sets of a pool, and a teacher's signals be stored for them.

    Raises:
        RecipeError: a set that they cannot read.
    """
    theirs = None if teacher is None else teacher.featurizer
    for name in pool:
        wrong = unfit(sets[name], pool, student.featurizer, theirs, spec.noise)
        if wrong is not None:
            raise RecipeError(f"stage {spec.name!r} draws from {name!r}: {wrong}")


def check_signals(
    spec: StageSpec,
    what: str,
    models: Mapping[str, FeaturizedModel],
    model: str,
    names: Sequence[str],
    align: Align = "token",
) -> None:
    """A model gives the signals that something reads, in rows of that alignment.

    Raises:
        RecipeError: a signal that it does not give, or not in such rows.
    """
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


def check_returned(
    spec: StageSpec,
    what: str,
    models: Mapping[str, FeaturizedModel],
    model: str,
    names: Sequence[str],
) -> None:
    """A student's signals are what its call returns; nothing is derived from them in the step.

    Raises:
        RecipeError: one that is derived.
    """
    for name in names:
        if models[model].model.level(name) == "derived":
            raise RecipeError(
                f"stage {spec.name!r}: {what} reads {name!r} off the student {model!r}, but it is "
                "derived from whole texts, which is done for a teacher only"
            )


def check_labels(spec: StageSpec, term: Term, examples: Iterable[Example], task: Task) -> None:
    """Gold labels are there where a term learns from nothing else.

    Raises:
        RecipeError: no text of its stream has any.
    """
    names = {output.name for output in task.outputs}
    if term.teacher or term.target not in names or term.align != "token":
        return
    if not any(term.target in task.targets(example) for example in examples):
        raise RecipeError(
            f"stage {spec.name!r}: term {term.label} learns from labels, and no sentence of "
            f"{term.stream!r} has any for {term.target!r}"
        )


def check_heads(spec: StageSpec, student: Any, teacher: Any, terms: Sequence[Term]) -> None:
    """Heads that learn from those of the teacher are like them; only scores need not be.

    And the labels of a teacher that decodes with more than scores are not those of its best scores.

    Raises:
        RecipeError: heads that do not fit together, or labels taken of scores that do not decide.
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


def check_tokenizers(
    spec: StageSpec, student: FeaturizedModel, teacher: FeaturizedModel, terms: Sequence[Term]
) -> None:
    """A teacher that runs on the student's inputs has to read them as the student does.

    Raises:
        RecipeError: their tokenizers differ, and a term aligns on subwords.
    """
    on_subwords = any(term.on_subwords for term in terms)
    if on_subwords and teacher.featurizer.to_assets() != student.featurizer.to_assets():
        raise RecipeError(
            f"stage {spec.name!r} has a term that aligns on subwords, which needs one tokenizer "
            f"for both, but {spec.teacher!r} and {spec.student!r} have their own; a student by its "
            "kind has its teacher's with prune_vocabulary: false, and a model made from another "
            "where no vocabulary is applied to one of them alone"
        )
