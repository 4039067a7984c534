"""Masking for masked language models: drawn afresh each time a batch is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfdistil.distill.streams import Batch, Transform
from tfdistil.tasks import IGNORE


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
        batch: Batch, chosen_rows: Sequence[int] | np.ndarray, generator: np.random.Generator
    ) -> Batch:
        del chosen_rows
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
