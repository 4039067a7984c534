"""What a stage draws from, by its type: examples in memory, or text that is kept in shards.

Another type of set is another function under each of the three here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, singledispatch
from pathlib import Path

import numpy as np

from tfdistil.console.progress import Counter, silent
from tfdistil.data.example import Example
from tfdistil.distill.masking import piece_counts
from tfdistil.distill.noise import NOISE
from tfdistil.distill.rows import TextRows, encode_rows
from tfdistil.errors import RecipeError
from tfdistil.recipe.schema.stages import NoiseSpec
from tfdistil.shards.counting import kept_counts
from tfdistil.shards.reading import Shards, open_shards
from tfdistil.shards.sampling import language_shares, sampling_exponent
from tfdistil.shards.text import Balance, TextPart
from tfdistil.shards.writing import write_shards
from tfdistil.tasks import Task
from tfdistil.text.featurizer import Featurizer
from tfdistil.text.subwords import SubwordFeaturizer


@dataclass(frozen=True)
class Shelf:
    """Where rows on disk are kept, and who is told of their making.

    Attributes:
        folder: for files that can be made again.
        counter: shows how far it is.
        log: gets a line of each language.
    """

    folder: Path
    counter: Counter = silent
    log: Callable[[str], None] = lambda line: None


@singledispatch
def encode_set(
    examples: Sequence[Example], featurizer: Featurizer, task: Task | None, shelf: Shelf
) -> TextRows:
    """A set encoded for a model.

    Args:
        examples: the set.
        featurizer: of the model.
        task: see `encode_rows`.
        shelf: for what is too large for memory.
    """
    del shelf
    return encode_rows(examples, featurizer, task)


@singledispatch
def count_set(examples: Sequence[Example], featurizer: Featurizer, shelf: Shelf) -> np.ndarray:
    """How often each piece occurs in a set, int64 ``[vocabulary]``.

    Args:
        examples: the set.
        featurizer: of word pieces.
        shelf: for what is too large for memory.
    """
    del shelf
    texts = (words for example in examples for words in example.key() if words)
    return piece_counts(featurizer, texts)


@singledispatch
def unfit(
    examples: Sequence[Example],
    pool: Sequence[str],
    student: Featurizer,
    teacher: Featurizer | None,
    noise: Sequence[NoiseSpec],
) -> str | None:
    """Why a stage cannot draw from a set as it wants to; None where it can.

    Args:
        examples: the set.
        pool: the names of the sets that are drawn from together.
        student: its featurizer.
        teacher: that of the teacher, where its signals are stored beforehand.
        noise: of the stage.
    """
    del examples, pool, student, teacher, noise
    return None


@encode_set.register
def _(text: TextPart, featurizer: Featurizer, task: Task | None, shelf: Shelf) -> TextRows:
    """Rows in shards, made once for a tokenizer, its settings and the content of the files."""
    del task
    shards = _opened(_shards_of(text, featurizer, shelf))
    return shards.rows(text.numbers, _shares(shards, text.corpus.balance))


@count_set.register
def _(text: TextPart, featurizer: Featurizer, shelf: Shelf) -> np.ndarray:
    """Counted in the shards, once: no text is read again."""
    folder = _shards_of(text, featurizer, shelf)
    rows = _opened(folder).rows(text.numbers)
    return kept_counts(rows, folder, text.name, shelf.counter)


def _shards_of(text: TextPart, featurizer: Featurizer, shelf: Shelf) -> Path:
    """The folder of a text's shards, which are made if they are not there."""
    if not isinstance(featurizer, SubwordFeaturizer):
        raise RecipeError(f"{text.name}: {_NO_PIECES}")
    assets = [data.decode() for _, data in sorted(featurizer.to_assets().items())]
    folder = shelf.folder / f"corpus-{text.corpus.key(assets, featurizer.to_json())}"
    if not (folder / "shards.json").exists():
        size = sum(file.path.stat().st_size for file in text.corpus.files)
        progress = shelf.counter("pieces of the corpus", size)
        write_shards(text.corpus, featurizer, folder, lambda done: progress(min(done, size - 1)))
        progress(size)
        for line in statistics(_opened(folder)):
            shelf.log(line)
    return folder


_opened = cache(open_shards)  # checked once, whatever sets of it are drawn from
_NO_PIECES = "its rows are word pieces, but the model reads something else"


def _shares(shards: Shards, balance: Balance | None) -> dict[str, float] | None:
    if balance is None:
        return None
    exponent = sampling_exponent(shards.sizes, balance.more, balance.less, balance.ratio)
    return language_shares(shards.sizes, exponent)


@unfit.register
def _(
    text: TextPart,
    pool: Sequence[str],
    student: Featurizer,
    teacher: Featurizer | None,
    noise: Sequence[NoiseSpec],
) -> str | None:
    if len(pool) > 1:
        others = ", ".join(name for name in pool if name != text.name)
        return f"it is drawn from alone, not pooled with {others}; give each a term of its own"
    if not isinstance(student, SubwordFeaturizer):
        return _NO_PIECES
    if teacher is not None and teacher.to_assets() != student.to_assets():
        return (
            "its rows are compared piece by piece, but teacher and student have different "
            "tokenizers; with prune_vocabulary: false a student has its teacher's"
        )
    wanting = [spec.kind for spec in noise if NOISE[spec.kind].reads_words]
    if wanting:
        return f"it has pieces and no words, which noise {', '.join(wanting)} changes"
    return None


def statistics(shards: Shards) -> list[str]:
    """A line of each language: how much there is, and pieces per word (fertility)."""
    return [
        f"  {language}: {counts['lines']:,} lines, {counts['bytes']:,} bytes, "
        f"{counts['pieces']:,} pieces in {counts['rows']:,} rows, "
        f"{counts['pieces'] / max(1, counts['words']):.2f} pieces per word, "
        f"{counts['unknown']:,} unknown"
        for language, counts in shards.statistics.items()
    ]
