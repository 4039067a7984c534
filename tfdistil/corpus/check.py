"""``tfdistil data check``: look at the data of a recipe before training on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tfdistil.corpus.loading import demo_sets, to_sources
from tfdistil.data.check import DataReport, check
from tfdistil.data.readers import ReadResult
from tfdistil.data.source import load
from tfdistil.files import beside
from tfdistil.recipe.recipe import Recipe
from tfdistil.text.words import WordSplitter


def check_recipe(recipe: Recipe, base: Path, with_teacher: bool = False) -> DataReport:
    """Read everything a recipe names and collect every broken line instead of stopping at one.

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
    tokenize = _tokenizer(recipe, base) if with_teacher else None
    empty = ReadResult((), {}, ())
    train, dev, test, transfer = (results.get(name) for name in names)
    strict = recipe.data.unknown_labels == "error"
    return check(train or empty, dev, test, transfer, tokenize, unseen_is_error=strict)


def _tokenizer(recipe: Recipe, base: Path) -> Callable[[str], Sequence[Any]] | None:
    checkpoints = (getattr(spec, "checkpoint", None) for spec in recipe.models.values())
    checkpoint = next(filter(None, checkpoints), None)
    if checkpoint is None:
        return None
    from tfdistil.encoders.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(beside(base, checkpoint))
    return lambda word: tokenizer.encode(word, add_special_tokens=False).ids
