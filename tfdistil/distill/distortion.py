"""Spelling noise: hashed words whose characters are shuffled afresh each time a batch is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tfdistil.distill.rows import Rows
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


def distort_words(
    rows: Rows,
    words: Sequence[Sequence[str]],
    hashes: Callable[[Sequence[str]], np.ndarray],
    probability: float,
) -> Transform:
    """Noise on words as a transform of batches; targets and teacher signals stay.

    The deletions, insertions and moves of pQRNN's published projection operator.

    Args:
        rows: encoded by a featurizer with one position for each word.
        words: those of each example.
        hashes: words to their rows of the input ``fingerprint``.
        probability: of each word to be distorted.

    Returns:
        A transform that replaces ``fingerprint``.
    """

    def transform(
        batch: Batch, chosen: Sequence[int] | np.ndarray, generator: np.random.Generator
    ) -> Batch:
        struck = (generator.random(batch["units"].shape) < probability) & (batch["unit_mask"] == 1)
        row, unit = np.nonzero(struck)
        if not len(row):
            return batch
        windows = [rows.windows[index] for index in chosen]
        texts = [words[rows.example[index]] for index in chosen]
        noisy = [
            distort(texts[r][windows[r].words[0] + u], generator)
            for r, u in zip(row.tolist(), unit.tolist(), strict=True)
        ]
        fingerprint = batch["fingerprint"].copy()
        fingerprint[row, batch["units"][row, unit]] = hashes(noisy)
        return {**batch, "fingerprint": fingerprint}

    return transform
