"""Masking for masked language models: drawn afresh each time a batch is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfdistil.distill.streams import Batch, Transform
from tfdistil.tasks import IGNORE
from tfdistil.text.pretrained import MASK_TOKENS


def masking(featurizer: Any, probability: float = 0.15) -> Transform:
    """Pieces to be guessed, for masked-language training: see `mask_pieces`.

    Args:
        featurizer: of word pieces, whose special ones are never chosen.
        probability: share of the pieces that is chosen.

    Raises:
        ValueError: no probability, or a tokenizer without a mask piece, or none at all.
    """
    check_share(probability)
    mask = mask_piece(featurizer)
    special = (mask, featurizer.cls, featurizer.sep, featurizer.pad, featurizer.unk)
    vocabulary = featurizer.tokenizer.get_vocab_size()
    return mask_pieces(mask, vocabulary, frozenset(special), probability)


def check_share(probability: float) -> None:
    """Raises ValueError where a probability is none."""
    if not 0 <= probability <= 1:
        raise ValueError(f"option 'probability' is {probability}, expected 0 to 1")


def mask_piece(featurizer: Any) -> int:
    """The id of the piece that stands for one that is hidden.

    Raises:
        ValueError: a tokenizer without it, or none at all.
    """
    tokenizer = getattr(featurizer, "tokenizer", None)
    if tokenizer is None:
        raise ValueError("the student has no word pieces, so there is no piece [MASK]")
    found = [tokenizer.token_to_id(name) for name in MASK_TOKENS]
    known = [piece for piece in found if piece is not None]
    if not known:
        raise ValueError(f"the tokenizer has neither the piece {' nor '.join(MASK_TOKENS)}")
    return known[0]


def mask_pieces(
    mask_id: int, vocabulary: int, special: frozenset[int], probability: float = 0.15
) -> Transform:
    """BERT's masking (Devlin et al. 2019, Section 3.1) as a transform of batches.

    Of the real, non-special pieces a share is chosen; of these 80 % become the mask piece, 10 % a
    random piece and 10 % stay. The chosen pieces' ids are the targets.

    Args:
        mask_id: id of the mask piece.
        vocabulary: random pieces are drawn from ``[0, vocabulary)``.
        special: ids that are never chosen.
        probability: share that is chosen.

    Returns:
        A transform that replaces ``input_ids`` and adds ``target/mlm``, int32 ``[B, T]``, `IGNORE`
        where nothing was chosen.
    """

    def transform(
        batch: Batch, words: Sequence[Sequence[str]], generator: np.random.Generator
    ) -> Batch:
        del words
        ids = batch["input_ids"]
        open_to_choice = (batch["attention_mask"] == 1) & ~np.isin(ids, list(special))
        chosen = open_to_choice & (generator.random(ids.shape) < probability)
        fate = generator.random(ids.shape)
        random_ids = generator.integers(0, vocabulary, ids.shape)
        masked = np.where(chosen & (fate < 0.8), mask_id, ids)
        masked = np.where(chosen & (fate >= 0.9), random_ids, masked)
        return {
            **batch,
            "input_ids": masked.astype(np.int32),
            "target/mlm": np.where(chosen, ids, IGNORE).astype(np.int32),
        }

    return transform
