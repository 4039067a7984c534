"""All sentences of a run: read, split, cleaned of overlaps, and the task their labels make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from tfdistil.augmentation import AugmentationContext, augment, check_options
from tfdistil.console.progress import Counter
from tfdistil.corpus.text import samples, text_sets
from tfdistil.corpus.transfer import keep_few, transfer_text
from tfdistil.data.demo import generate
from tfdistil.data.demo.generator import Split
from tfdistil.data.example import Example
from tfdistil.data.source import Source, check_labels, load
from tfdistil.data.splits import drop_overlap, overlap, split_train
from tfdistil.errors import RecipeError
from tfdistil.recipe.recipe import Recipe
from tfdistil.recipe.schema.data import DataSpec, SourceSpec
from tfdistil.recipe.schema.models import EncoderSpec
from tfdistil.shards.parts import HELD_OUT, TEST, TRAINING
from tfdistil.shards.text import TextPart
from tfdistil.tasks import TASKS, Task, unknown_labels
from tfdistil.tasks.unknown import Unknown
from tfdistil.text.words import WordSplitter

MOST_SCORED = 2000
"""Lines of a corpus that masked language models are scored on, where no dev or test is given."""

_Item = TypeVar("_Item", Example, SourceSpec)


@dataclass(frozen=True)
class Corpus:
    """The sets of a run.

    Attributes:
        task: made from the labels of train.
        train, dev, test: labelled; dev and test may have labels that the task has not.
        transfer: unlabelled, with the sentences that ``data.low_resource`` leaves over; nothing in
            it occurs in dev or test.
        augmented: unlabelled, made from train; nothing in it occurs in dev or test either.
        seen_in_train: indices of test examples whose sentence occurs in train.
        counts: sizes, repairs and what was dropped, for the report.
        splitter: how raw text becomes words, also on the device.
        files: every file that was read, by set.
        text: the sets of ``data.corpus``, which are read when they are drawn from; nothing in them
            occurs in dev or test.
        drawn: transfer file to how many sentences it has and how many were drawn, as
            `Transfer.drawn`.
    """

    task: Task
    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]
    transfer: tuple[Example, ...]
    augmented: tuple[Example, ...]
    seen_in_train: tuple[int, ...]
    counts: dict[str, int]
    splitter: WordSplitter
    files: dict[str, tuple[Path, ...]]
    text: Mapping[str, TextPart] = field(default_factory=dict)
    drawn: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def languages(self) -> list[str]:
        """Languages of the labelled sets, sorted."""
        return sorted({e.language for e in (*self.train, *self.dev, *self.test)})

    def sets(self) -> dict[str, Sequence[Example]]:
        """Sets by name, for streams."""
        names = ("train", "dev", "test", "transfer", "augmented")
        return {name: getattr(self, name) for name in names} | dict(self.text)

    @property
    def unlabelled(self) -> Sequence[Example]:
        """The text of ``data.corpus`` that is trained on, section or not."""
        return self.text.get(TRAINING, ())

    @property
    def unknown_labels(self) -> dict[str, Unknown]:
        """Labels of dev and test that train has not, by set; every one is a miss in the scores."""
        sets = {"dev": self.dev, "test": self.test}
        found = {name: unknown_labels(self.task, examples) for name, examples in sets.items()}
        return {name: labels for name, labels in found.items() if labels}

    def score_sets(self) -> dict[str, tuple[Example, ...]]:
        """Sets to report on; ``test_unseen`` is test without sentences that occur in train."""
        sets = {"dev": self.dev, "test": self.test}
        if self.seen_in_train:
            seen = set(self.seen_in_train)
            sets["test_unseen"] = tuple(e for i, e in enumerate(self.test) if i not in seen)
        return {name: examples for name, examples in sets.items() if examples}


def to_sources(specs: Sequence[SourceSpec], base: Path, seed: int) -> list[Source]:
    """Recipe entries to sources with paths relative to the recipe's folder."""
    return [
        Source(
            path=base / spec.path,
            format=spec.format,
            language=spec.language,
            options=spec.options,
            label_map=spec.label_map,
            repair=spec.repair,
            scheme=spec.scheme,
            limit=spec.limit,
            seed=seed,
        )
        for spec in specs
    ]


def load_corpus(recipe: Recipe, base: Path = Path(), counter: Counter | None = None) -> Corpus:
    """Read everything a recipe names, and make what its augmentations make.

    Args:
        recipe: its ``data``, ``task`` and ``seed`` are used, and where its teacher comes from.
        base: folder that paths in the recipe are relative to.
        counter: shows how far a slow augmentation is.

    Raises:
        DataError: a file that cannot be read as its format, or a label train does not have where
            ``data.unknown_labels`` makes that an error.
        RecipeError: a set without the labels the task needs, or with one alone, or nothing to score
            models on.
    """
    splitter = WordSplitter(recipe.data.splitter)
    data, seed = recipe.data, recipe.seed
    for made in data.augment:
        check_options(made.kind, made.options)
    counts: dict[str, int] = {}
    files: dict[str, tuple[Path, ...]] = {}
    if data.demo is not None:
        sets = demo_sets(recipe)
    else:
        sets, counts, files = _file_sets(data, base, seed, splitter)
    if not recipe.task.is_labelled:  # whatever the files have
        sets = {name: _unlabelled(of) for name, of in sets.items()}
    if data.languages is not None:
        sets = {name: _in_languages(name, of, data.languages) for name, of in sets.items()}
    if sets["train"]:
        sets = split_train(sets, data.dev_fraction, data.test_fraction, seed)
    for name in ("train", "dev", "test"):
        check_labelled(name, sets[name], recipe)
    if data.low_resource is not None:
        counts["transfer_from_train"] = keep_few(sets, data.low_resource, seed)
    held_out = [*sets["dev"], *sets["test"]]
    text, of_text = text_sets(recipe, base, splitter, held_out)
    if text:
        files["corpus"] = of_text
    if not recipe.task.is_labelled:  # what is held out has all that a set to report on needs
        wanted = {"dev": HELD_OUT, "test": TEST} if text else {}
        missing = [name for name in wanted if not sets[name]]
        parts = [text[wanted[name]] for name in missing]
        sets |= zip(missing, samples(parts, MOST_SCORED, seed), strict=True)
        if not sets["dev"] and not sets["test"]:
            raise RecipeError(
                "data.corpus: held_out and test leave no line to score models on; set larger "
                "shares, or give data.dev or data.test"
            )
        held_out = [*sets["dev"], *sets["test"]]
    found = transfer_text(recipe, base, sets["transfer"], held_out, counter)
    if found.near is not None:
        counts["transfer_near_duplicates"] = found.near
    transfer = _unlabelled(found.examples)  # its file may be labelled
    augmented, dropped_made = _augmented(
        recipe, sets["train"], held_out, _context(recipe, base, splitter, counter)
    )
    if data.augment:
        counts |= {"augmented": len(augmented), "augmented_dropped": dropped_made}
    seen = overlap(sets["train"], sets["test"])
    task = make_task(sets["train"], recipe)
    if data.unknown_labels == "error":
        refuse_unknown_labels(task, held_out)
    counts |= {
        **{name: len(sets[name]) for name in ("train", "dev", "test")},
        "transfer": len(transfer),
        "transfer_dropped": found.dropped,
        "test_seen_in_train": len(seen),
    }
    return Corpus(
        task,
        tuple(sets["train"]),
        tuple(sets["dev"]),
        tuple(sets["test"]),
        tuple(transfer),
        tuple(augmented),
        tuple(seen),
        counts,
        splitter,
        files,
        text,
        found.drawn,
    )


def refuse_unknown_labels(task: Task, examples: Sequence[Example]) -> None:
    """Check that a task has all labels of some examples.

    Raises:
        DataError: the first label it has not, with file and line.
    """
    for output in task.outputs:
        kind = "tags" if output.level == "word" else "labels"
        check_labels(examples, **{kind: output.labels})


def _unlabelled(examples: Sequence[Example]) -> list[Example]:
    return [replace(example, tags=None, label=None) for example in examples]


def _in_languages(name: str, items: Sequence[_Item], languages: Sequence[str]) -> list[_Item]:
    """Those that are, or may be, in these languages: a file need not say what it is in."""
    kept = [item for item in items if item.language in (None, *languages)]
    if items and not kept:
        there = sorted({str(item.language) for item in items})
        raise RecipeError(f"data.languages is {list(languages)}, but {name} is in {there}")
    return kept


def _context(
    recipe: Recipe, base: Path, splitter: WordSplitter, counter: Counter | None
) -> AugmentationContext:
    teacher = recipe.root_spec("teacher") if "teacher" in recipe.models else None
    context = AugmentationContext(
        base,
        checkpoint=teacher.checkpoint if isinstance(teacher, EncoderSpec) else None,
        split=lambda text: [word for word, _, _ in splitter.split(text)],
    )
    return context if counter is None else replace(context, counter=counter)


def _augmented(
    recipe: Recipe,
    train: Sequence[Example],
    held_out: Sequence[Example],
    context: AugmentationContext,
) -> tuple[list[Example], int]:
    """What the augmentations make of train, without what is held out, and how much of it that is.

    Each of them goes on from train and what those before it made.
    """
    made: list[Example] = []
    for spec in recipe.data.augment:
        count = round(spec.times * len(train))
        made += augment(spec.kind, [*train, *made], count, recipe.seed, context, **spec.options)
    return drop_overlap(made, held_out)


def demo_sets(recipe: Recipe) -> dict[str, list[Example]]:
    """The sets of the built-in corpus."""
    demo = recipe.data.demo
    assert demo is not None
    sizes: dict[Split, int] = {"train": demo.train, "dev": demo.dev, "test": demo.test}
    sets: dict[str, list[Example]] = {
        name: list(generate(demo.kind, name, size, recipe.seed, demo.languages))
        for name, size in sizes.items()
    }
    sets["transfer"] = list(
        generate("text", "transfer", demo.transfer, recipe.seed, demo.languages)
    )
    return sets


def _file_sets(
    data: DataSpec, base: Path, seed: int, splitter: WordSplitter
) -> tuple[dict[str, list[Example]], dict[str, int], dict[str, tuple[Path, ...]]]:
    sets: dict[str, list[Example]] = {}
    counts: dict[str, int] = {}
    files: dict[str, tuple[Path, ...]] = {}
    for name in ("train", "dev", "test", "transfer"):
        specs = getattr(data, name)
        if data.languages is not None:  # what is not wanted is neither read nor counted
            specs = _in_languages(name, specs, data.languages)
        result = load(to_sources(specs, base, seed), split=splitter.split)
        sets[name], files[name] = list(result.examples), result.files
        for what, count in result.counts.items():
            counts[f"{name}_{what}"] = count
    return sets, counts, files


def check_labelled(name: str, examples: Sequence[Example], recipe: Recipe) -> None:
    """Make sure that all examples of a set have the labels that the task needs.

    Raises:
        RecipeError: the first that has not, with file and line.
    """
    for example in examples:
        for part in TASKS[recipe.task.kind].learns_from:
            if getattr(example, part) is None:
                raise RecipeError(
                    f"{example.source or name}: task {recipe.task.kind} needs {part} in every "
                    f"example of {name}, but the reader found none there; check its options"
                )


def make_task(train: Sequence[Example], recipe: Recipe) -> Task:
    """The recipe's task, with the labels of train.

    Raises:
        RecipeError: there are no two labels to tell apart.
    """
    task = TASKS[recipe.task.kind].from_examples(train, **recipe.task.options)
    if recipe.task.is_labelled and all(len(output.labels) < 2 for output in task.outputs):
        (only,) = {label for output in task.outputs for label in output.labels}
        raise RecipeError(
            f"data.train has no label but {only!r}, so there is nothing to learn; add sentences "
            "with others, or see whether the options of its source name the right column"
        )
    return task
