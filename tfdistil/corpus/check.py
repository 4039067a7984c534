"""``tfdistil data check``: look at the data of a recipe before training on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tfdistil.corpus.loading import check_labelled, demo_sets, make_task, to_sources
from tfdistil.corpus.text import text_sets
from tfdistil.corpus.transfer import describe_drawn, keep_few, transfer_text
from tfdistil.data.check import DataReport, check, count_text
from tfdistil.data.dev_size import too_few_to_choose
from tfdistil.data.example import Example
from tfdistil.data.readers import ReadResult
from tfdistil.data.source import load
from tfdistil.data.splits import split_train
from tfdistil.data.unscored import unscored_labels
from tfdistil.errors import DataError, RecipeError
from tfdistil.files import beside
from tfdistil.recipe.recipe import Recipe
from tfdistil.shards.parts import HELD_OUT, TEST, TRAINING
from tfdistil.shards.text import TextCorpus
from tfdistil.tasks import TASKS
from tfdistil.text.words import WordSplitter


def check_recipe(recipe: Recipe, base: Path, with_teacher: bool = False) -> DataReport:
    """Read everything a recipe names and collect every broken line instead of stopping at one.

    A set that a run would refuse, for labels that are missing or all the same, is a problem too.

    Args:
        recipe: its ``data`` is read.
        base: what its paths are relative to.
        with_teacher: also count word pieces with the teacher's tokenizer.
    """
    names = ("train", "dev", "test", "transfer")
    results: dict[str, ReadResult] = {}
    if recipe.data.demo is not None:
        for name, examples in demo_sets(recipe).items():
            results[name] = ReadResult(tuple(examples), {}, ())
    else:
        split = WordSplitter(recipe.data.splitter).split
        for name in names:
            specs = getattr(recipe.data, name)
            if specs:
                sources = to_sources(specs, base, recipe.seed)
                results[name] = load(sources, split=split, errors="collect")
    for name in names[:3]:
        if name in results and (fault := _unfit(name, results[name].examples, recipe)) is not None:
            problems = (*results[name].problems, fault)
            results[name] = replace(results[name], problems=problems)
    tokenize, unknown, longest = _tokenizer(recipe, base) if with_teacher else (None, None, None)
    empty = ReadResult((), {}, ())
    train, dev, test, transfer = (results.get(name) for name in names)
    strict = recipe.data.unknown_labels == "error"
    report = check(
        train or empty,
        dev,
        test,
        transfer,
        tokenize,
        unseen_is_error=strict,
        unknown=unknown,
        longest=longest,
    )
    sets, cut, refused = _run_sets(recipe, results)
    drawn = _drawn(recipe, base, sets)
    if not recipe.task.is_labelled:
        sets = {name: [] for name in sets}  # nothing of them is scored by labels
    parts = TASKS[recipe.task.kind].learns_from
    unscored = unscored_labels(sets["train"], [*sets["dev"], *sets["test"]], parts)
    few = too_few_to_choose(sets["dev"]) if sets["dev"] else None
    report = replace(report, few=few, unscored=tuple(unscored), drawn=drawn, cut=cut)
    if report.ok:  # else too little may be left because of that
        report = replace(report, problems=tuple(map(str, refused)))
    if recipe.data.corpus is None:
        return report
    broken: list[DataError] = []
    read = {name: result.examples for name, result in results.items()}
    held_out = [*(sets["dev"] or read.get("dev", ())), *(sets["test"] or read.get("test", ()))]
    of_text, _ = text_sets(recipe, base, WordSplitter(recipe.data.splitter), held_out)
    lines = Counter[int | None]()
    text = count_text("corpus", _text(of_text[TRAINING].corpus, broken, lines), tokenize)
    sizes = {name: sum(lines[n] for n in part.numbers) for name, part in of_text.items()}
    text = replace(text, counts={f"lines in {name}": size for name, size in sizes.items()})
    given = tuple(one for one in report.splits if one.name in results)
    all_problems = (*report.problems, *map(str, broken))
    few = report.few or (_few_lines(recipe, sizes) if text.examples else None)
    return replace(report, splits=(*given, text), problems=all_problems, few=few)


def _run_sets(
    recipe: Recipe, results: Mapping[str, ReadResult]
) -> tuple[dict[str, list[Example]], str | None, list[DataError]]:
    """The sets that a run would have, before it keeps a few of train and draws of transfer.

    And what it makes of train, and why it would refuse to.
    """
    wanted = recipe.data.languages
    sets: dict[str, list[Example]] = {"train": [], "dev": [], "test": [], "transfer": []}
    for name in sets.keys() & results.keys():
        examples = results[name].examples
        sets[name] = [e for e in examples if wanted is None or e.language in wanted]
    given = sets
    if sets["train"]:
        try:
            data = recipe.data
            sets = split_train(sets, data.dev_fraction, data.test_fraction, recipe.seed)
        except DataError as error:
            return given, None, [error]
    made = [name for name in ("dev", "test") if sets[name] and not given[name]]
    sizes = ", ".join(f"{len(sets[name]):,} for {name}" for name in ("train", *made))
    return sets, f"a run splits train: {sizes}" if made else None, []


def _drawn(recipe: Recipe, base: Path, sets: dict[str, list[Example]]) -> tuple[str, ...]:
    """What to say of the transfer sentences that a run would draw."""
    if recipe.data.transfer_limit is None:
        return ()
    sets = dict(sets)
    if recipe.data.low_resource is not None:
        keep_few(sets, recipe.data.low_resource, recipe.seed)
    held_out = [*sets["dev"], *sets["test"]]
    return tuple(describe_drawn(transfer_text(recipe, base, sets["transfer"], held_out).drawn))


def _text(
    corpus: TextCorpus, problems: list[DataError], lines: Counter[int | None]
) -> Iterator[Example]:
    """The text of a corpus; what is broken is noted and left out, the others counted by part."""
    for line in corpus.lines(problems):
        lines[line.part] += 1
        yield line.example


def _few_lines(recipe: Recipe, sizes: Mapping[str, int]) -> str | None:
    """Which set of a corpus has no line, so that a run would refuse the recipe; None: none."""
    names = {name for stage in recipe.distill for term in stage.terms for name in term.pool}
    names |= {stage.stop.on for stage in recipe.distill if stage.stop.monitor == "loss"}
    if empty := sorted(name for name in names & sizes.keys() if not sizes[name]):
        return (
            f"data.corpus: a stage reads {empty[0]!r}, which gets no line; give it a larger share"
        )
    scored = recipe.data.dev or recipe.data.test or sizes[HELD_OUT] or sizes[TEST]
    if recipe.task.is_labelled or scored:
        return None
    return "data.corpus: held_out and test leave no line to score models on; set larger shares"


def _unfit(name: str, examples: Sequence[Example], recipe: Recipe) -> DataError | None:
    """Why a run would refuse a set whose lines are fine."""
    try:
        check_labelled(name, examples, recipe)
        if name == "train" and examples:
            make_task(examples, recipe)
    except RecipeError as error:
        return DataError(str(error))
    return None


def _tokenizer(
    recipe: Recipe, base: Path
) -> tuple[Callable[[str], Sequence[Any]] | None, int | None, int | None]:
    """The first checkpoint's: words to pieces, the piece of what it does not know, its windows."""
    specs = (spec for spec in recipe.models.values() if getattr(spec, "checkpoint", None))
    spec: Any = next(specs, None)
    if spec is None:
        return None, None, None
    from tfdistil.encoders.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(beside(base, spec.checkpoint))
    ids = (tokenizer.token_to_id(name) for name in ("[UNK]", "<unk>"))
    unknown = next((found for found in ids if found is not None), None)
    return (
        lambda word: tokenizer.encode(word, add_special_tokens=False).ids,
        unknown,
        spec.max_length,
    )
