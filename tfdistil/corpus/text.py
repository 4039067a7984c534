"""``data.corpus`` of a recipe: text of any size as sets that are read when they are drawn from."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from tfdistil.data.example import Example
from tfdistil.errors import DataError
from tfdistil.printable import listed
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
        DataError: a folder without text, or no source in the languages of the recipe.
    """
    spec = recipe.data.corpus
    if spec is None:
        return {}, ()
    wanted, files = recipe.data.languages, text_files(recipe, base)
    if not files:
        there = sorted({source.language for source in spec.sources if source.language})
        raise DataError(
            f"data.languages is {listed(wanted or ())}, which no source of data.corpus is in; "
            f"their languages: {listed(there)}"
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


def text_files(recipe: Recipe, base: Path) -> tuple[TextFile, ...]:
    """The files of a recipe's corpus in the languages it asks for, in order.

    Args:
        recipe: its ``data.corpus`` and ``data.languages``.
        base: folder that paths in the recipe are relative to.

    Raises:
        DataError: a folder without text.
    """
    wanted, corpus = recipe.data.languages, recipe.data.corpus
    return tuple(
        TextFile(path, source.format, source.language, source.options)
        for source in (() if corpus is None else corpus.sources)
        if wanted is None or source.language in (None, *wanted)
        for path in files_in(base / source.path)
    )


def samples(parts: Sequence[TextPart], most: int, seed: int) -> list[list[Example]]:
    """Some of the lines of several sets of a corpus, in one reading of its files.

    In each set all lines are as likely as one another.

    Args:
        parts: the sets, of one corpus.
        most: how many of each; fewer where it has fewer with words.
        seed: of the choice.
    """
    draws = [random.Random(seed) for _ in parts]
    found: list[list[Example]] = [[] for _ in parts]
    seen = [0] * len(parts)
    if all(part.corpus.parts.is_empty(part.name) for part in parts):
        return found  # not found out by reading all of the text
    for line in parts[0].corpus.lines():
        for i, part in enumerate(parts):
            if line.part not in part.numbers or not line.example.words:
                continue
            seen[i] += 1
            if len(found[i]) < most:
                found[i].append(line.example)
            elif (place := draws[i].randrange(seen[i])) < most:
                found[i][place] = line.example
    return found
