"""Word dropout: whole words hidden from the student afresh each time a batch is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfdistil.distill.masking import Texts, check_share, mask_piece
from tfdistil.distill.streams import Batch, Transform

Struck = list[np.ndarray]
"""For each row, which of its words are hidden, bool ``[words]``."""


def word_dropout(
    featurizer: Any, texts: Texts, probability: float = 0.1, hides: str = "words"
) -> Transform:
    """Whole words hidden: all their pieces become the mask piece, a hashed word becomes zeros.

    Targets and the teacher's signals stay, so the student learns to tag a word by its context (Dai
    and Le 2015, Section 3.3). Words that another window of a long text owns, and the second text of
    a pair, are not hidden.

    Args:
        featurizer: of word pieces with a mask piece, of hashed words, or of both.
        texts: not read.
        probability: of each word to be hidden.
        hides: ``words``: all that the student reads of them; ``pieces``: where it reads hashes too,
            these stay, so that it learns to tag a word that it has never seen by its capitals and
            endings.

    Returns:
        A transform that replaces ``input_ids``, ``fingerprint``, or both.

    Raises:
        ValueError: no probability, a featurizer of another kind, no mask piece, or a word for
            ``hides`` that is none of the two.
    """
    del texts
    check_share(probability)
    if hides not in HIDE:
        raise ValueError(f"hides: {hides!r} is none of {[*HIDE]}")
    if featurizer.kind not in HIDE[hides]:
        raise ValueError(
            f"{hides} of {featurizer.kind!r} cannot be hidden; those of {[*HIDE[hides]]} can"
        )
    hide = HIDE[hides][featurizer.kind](featurizer)

    def transform(
        batch: Batch, words: Sequence[Sequence[str]], generator: np.random.Generator
    ) -> Batch:
        struck = [generator.random(len(own)) < probability for own in words]
        return {**batch, **hide(batch, words, struck)}

    return transform


def _pieces(featurizer: Any) -> Callable[[Batch, Sequence[Sequence[str]], Struck], Batch]:
    mask = mask_piece(featurizer)
    ends = [featurizer.cls, featurizer.sep, featurizer.pad]

    def hide(batch: Batch, words: Sequence[Sequence[str]], struck: Struck) -> Batch:
        ids = batch["input_ids"].copy()
        known = featurizer.pieces(word for own in words for word in own)
        for row, (own, hidden) in enumerate(zip(words, struck, strict=True)):
            if not len(own):
                continue
            # The words that a row owns stand one after the other; the last may have been cut.
            start = batch["tokens"][row, 0]
            chosen = np.repeat(hidden, [len(known[word]) for word in own])
            place = ids[row, start : start + len(chosen)]
            inside = np.cumsum(np.isin(place, ends)) == 0
            place[chosen[: len(place)] & inside] = mask
        return {"input_ids": ids}

    return hide


def _hashes(featurizer: Any) -> Callable[[Batch, Sequence[Sequence[str]], Struck], Batch]:
    zero = featurizer.padding["fingerprint"]

    def hide(batch: Batch, words: Sequence[Sequence[str]], struck: Struck) -> Batch:
        fingerprint = batch["fingerprint"].copy()
        for row, hidden in enumerate(struck):
            fingerprint[row, batch["tokens"][row, : len(hidden)][hidden]] = zero
        return {"fingerprint": fingerprint}

    return hide


def _both(featurizer: Any) -> Callable[[Batch, Sequence[Sequence[str]], Struck], Batch]:
    hide_pieces, zero = _pieces(featurizer.subwords), featurizer.padding["fingerprint"]

    def hide(batch: Batch, words: Sequence[Sequence[str]], struck: Struck) -> Batch:
        changed = hide_pieces(batch, words, struck)
        fingerprint = batch["fingerprint"].copy()
        fingerprint[changed["input_ids"] != batch["input_ids"]] = zero
        return changed | {"fingerprint": fingerprint}

    return hide


def _pieces_alone(featurizer: Any) -> Callable[[Batch, Sequence[Sequence[str]], Struck], Batch]:
    return _pieces(featurizer.subwords)


HIDE = {
    "words": {"subwords": _pieces, "projection": _hashes, "subwords+projection": _both},
    "pieces": {"subwords": _pieces, "subwords+projection": _pieces_alone},
}
"""How words are hidden, by what hides and by the kind of the featurizer."""
