"""``data.corpus`` of a recipe: text of any size as sets that are read when they are drawn from."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from tfdistil.data.example import Example
from tfdistil.recipe.recipe import Recipe
from tfdistil.shards.parts import Parts
from tfdistil.shards.text import Balance, TextCorpus, TextFile, TextPart, files_in
from tfdistil.text.words import WordSplitter


def text_sets(
    recipe: Recipe, base: Path, splitter: WordSplitter, held_out: Iterable[Example]
) -> tuple[dict[str, TextPart], tuple[Path, ...]]:
    """The sets of a recipe's corpus by name, and its files.

    Args:
        recipe: its ``data.corpus``, ``data.languages`` and ``seed``.
        base: folder that paths in the recipe are relative to.
        splitter: how lines become words.
        held_out: dev and test, whose sentences must not be in it.

    Raises:
        DataError: a folder without text.
    """
    spec = recipe.data.corpus
    if spec is None:
        return {}, ()
    wanted = recipe.data.languages
    files = tuple(
        TextFile(path, source.format, source.language, source.options)
        for source in spec.sources
        if wanted is None or source.language in (None, *wanted)
        for path in files_in(base / source.path)
    )
    corpus = TextCorpus(
        files,
        Parts(spec.held_out, spec.test, spec.sections, recipe.seed),
        None if wanted is None else tuple(wanted),
        split=splitter.split,
        balance=None if spec.balance is None else Balance(**spec.balance.model_dump()),
        joined=spec.joined,
    ).keeping_out(held_out)
    return {name: TextPart(corpus, name) for name in corpus.parts.names}, tuple(
        file.path for file in files
    )


def sample(part: TextPart, most: int, seed: int) -> list[Example]:
    """Some of the lines of a set, all as likely as one another, in one reading of its files.

    Args:
        part: the set.
        most: how many; fewer where it has fewer with words.
        seed: of the choice.
    """
    draw = random.Random(seed)
    found: list[Example] = []
    for number, example in enumerate(e for e in part if e.words):
        if number < most:
            found.append(example)
        elif (place := draw.randrange(number + 1)) < most:
            found[place] = example
    return found
