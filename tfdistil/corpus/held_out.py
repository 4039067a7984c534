"""Unlabelled text that is kept out of training, for stages whose best weights a loss decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tfdistil.corpus.loading import Corpus
from tfdistil.data.example import Example
from tfdistil.data.splits import hold_out
from tfdistil.errors import DataError, RecipeError
from tfdistil.recipe.recipe import Recipe
from tfdistil.shards.parts import HELD_OUT, TRAINING

TRANSFER = "transfer_held_out"
"""The name of the set in ``stop: {on: ...}``."""

Sets = dict[str, Sequence[Example]]


def sets_of(recipe: Recipe, corpus: Corpus) -> Sets:
    """The corpus' sets, with a part of transfer held out if a stage takes its loss on it.

    That is a tenth, 2,000 sentences at the most, of every file and language in proportion
    (`hold_out`). None of them occurs in train or in augmented text, which are trained on too.

    Raises:
        RecipeError: a stage needs it and there is too little transfer text.
    """
    sets: Sets = dict(corpus.sets())
    stages = [stage.name for stage in recipe.distill if stage.stop.on == TRANSFER]
    if stages:
        seen = (*corpus.train, *corpus.augmented)
        try:
            sets["transfer"], sets[TRANSFER] = hold_out(
                corpus.transfer, 0.1, 2000, recipe.seed, seen
            )
        except DataError as error:
            raise RecipeError(
                f"stage {stages[0]!r} takes its loss on {TRANSFER}, a part of data.transfer: "
                f"{error}; give more text, or take it on dev: --set distill.{stages[0]}.stop.on=dev"
            ) from None
    return sets


def mlm_sets(corpus: Corpus, seed: int) -> Sets:
    """The text of masked-language training, without labels, a part of it held out.

    Returns:
        ``mlm``: ``data.corpus`` where there is one, else train and transfer; ``mlm_held_out``: what
        the corpus holds out, else a twentieth, 500 sentences at the most.

    Raises:
        DataError: fewer than two different sentences.
    """
    if corpus.text:
        return {"mlm": corpus.text[TRAINING], "mlm_held_out": corpus.text[HELD_OUT]}
    texts = [replace(e, tags=None, label=None) for e in (*corpus.train, *corpus.transfer)]
    kept, held_out = hold_out(texts, 0.05, 500, seed)
    return {"mlm": kept, "mlm_held_out": held_out}
