"""The transfer text of a run: what is left of its files and of train, and what is drawn of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from tfdistil.console import progress
from tfdistil.data.example import Example
from tfdistil.data.near_duplicates import drop_near_duplicates
from tfdistil.data.splits import (
    drop_overlap,
    sample_in_proportion,
    sample_per,
    sentence_key,
    stratum,
)
from tfdistil.files import relative_name
from tfdistil.recipe.recipe import Recipe
from tfdistil.recipe.schema.data import LowResourceSpec


@dataclass(frozen=True, slots=True)
class Transfer:
    """What `transfer_text` makes of the sentences.

    Attributes:
        examples: those that are used, with the labels that their files have.
        dropped: how many occur in dev or test.
        near: how many of the others are nearly an earlier one; None: not asked for.
        drawn: file to how many ``sentences`` were left of it and how many were ``drawn``; empty
            without ``data.transfer_limit``.
    """

    examples: list[Example]
    dropped: int
    near: int | None
    drawn: dict[str, dict[str, int]] = field(default_factory=dict)


def transfer_text(
    recipe: Recipe,
    base: Path,
    transfer: Sequence[Example],
    held_out: Sequence[Example],
    counter: progress.Counter | None = None,
) -> Transfer:
    """Leave out what must not be learnt from or is there twice, and draw what the recipe asks for.

    Args:
        recipe: its ``data`` and ``seed`` are used.
        base: folder that its paths are relative to.
        transfer: all sentences that there are.
        held_out: dev and test.
        counter: shows how far the search for near duplicates is.
    """
    data = recipe.data
    kept, dropped = drop_overlap(transfer, held_out)
    near = None
    if data.near_duplicates is not None:
        bar = counter if counter is not None and kept else progress.silent
        done = bar("near-duplicates", len(kept))
        kept, near = drop_near_duplicates(kept, data.near_duplicates, done)
    if data.transfer_limit is None:
        return Transfer(kept, dropped, near)
    weights = {str(base / spec.path): spec.weight for spec in data.transfer}

    def weight(file: str) -> float:
        """That of the line that names the file or its folder; 1 of files of train."""
        return weights.get(file, weights.get(str(Path(file).parent), 1.0))

    sample = sample_in_proportion(kept, data.transfer_limit, recipe.seed, weight)
    of_file, used = (Counter(stratum(e)[1] for e in examples) for examples in (kept, sample))
    files = dict.fromkeys(stratum(example)[1] for example in transfer)  # also of which none is left
    drawn = {
        relative_name(Path(file), base): {"sentences": of_file[file], "drawn": used[file]}
        for file in files
    }
    return Transfer(sample, dropped, near, drawn)


def describe_drawn(drawn: dict[str, dict[str, int]]) -> list[str]:
    """`Transfer.drawn` in words, a line per file."""
    return [
        f"{of['drawn']:,} of {of['sentences']:,} transfer sentences are drawn from {file}"
        for file, of in drawn.items()
    ]


def keep_few(sets: dict[str, list[Example]], few: LowResourceSpec, seed: int) -> int:
    """Sample train; the sentences left over join transfer, for the teacher to label.

    As in XtremeDistil's low-resource setting (Table 6), whose smaller transfer set is the text of
    all 705,000 sentences of train. Each joins once, and only if no other set has it.

    Returns:
        How many joined.
    """
    key = _language if few.per == "language" else _class
    train = sets["train"]
    sets["train"] = sample_per(train, key, few.samples, seed)
    once = {sentence_key(example): example for example in train}
    joined, _ = drop_overlap(list(once.values()), chain.from_iterable(sets.values()))
    sets["transfer"] = [*sets["transfer"], *joined]
    return len(joined)


def _language(example: Example) -> str | None:
    return example.language


def _class(example: Example) -> str | None:
    return example.label
