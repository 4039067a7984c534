"""Spelling noise: hashed words whose characters are shuffled afresh each time a batch is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfdistil.distill.masking import Texts, check_share
from tfdistil.distill.streams import Batch, Transform


def distort(word: str, generator: np.random.Generator) -> str:
    """A word with one character deleted, moved, or copied to another place, as likely as another.

    A word of one character stays as it is.
    """
    if len(word) < 2:
        return word
    fate, at, to = generator.integers(0, (3, len(word), len(word)))
    rest = word[:at] + word[at + 1 :]
    if fate == 0:
        return rest
    kept = word if fate == 1 else rest
    return kept[:to] + word[at] + kept[to:]


def spelling(featurizer: Any, texts: Texts, probability: float = 0.1) -> Transform:
    """Spelling mistakes in hashed words; targets and the teacher's signals stay.

    The deletions, insertions and moves of pQRNN's published projection operator.

    Args:
        featurizer: gives ``hashes`` and one position for each word.
        texts: not read.
        probability: of each word to be distorted.

    Returns:
        A transform that replaces ``fingerprint``.

    Raises:
        ValueError: no probability, or a featurizer that does not hash words.
    """
    del texts
    check_share(probability)
    if featurizer.kind != "projection":
        raise ValueError("the student does not hash words alone; pieces have no spelling to change")

    def transform(
        batch: Batch, words: Sequence[Sequence[str]], generator: np.random.Generator
    ) -> Batch:
        struck = (generator.random(batch["tokens"].shape) < probability) & (
            batch["token_mask"] == 1
        )
        row, token = np.nonzero(struck)
        if not len(row):
            return batch
        noisy = [
            distort(words[r][u], generator)
            for r, u in zip(row.tolist(), token.tolist(), strict=True)
        ]
        fingerprint = batch["fingerprint"].copy()
        fingerprint[row, batch["tokens"][row, token]] = featurizer.hashes(noisy)
        return {**batch, "fingerprint": fingerprint}

    return transform
