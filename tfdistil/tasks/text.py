"""Text without labels, for masked language models: a cloze test that no tokenizer decides."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfdistil.data.example import Example
from tfdistil.tasks.base import NO_PATHS, Output, Prediction, Task

if TYPE_CHECKING:
    from tfdistil.metrics.bootstrap import Statistics

HIDDEN = 0.15
"""Share of the words of a text that are hidden, at least one: BERT's share of its pieces."""


def hidden_words(words: Sequence[str]) -> np.ndarray:
    """Which words of a text are to be guessed: the same for every model and every run.

    Args:
        words: of the text.

    Returns:
        Their places in rising order, int64 ``[hidden]``, drawn by the text itself.
    """
    if not words:
        return np.zeros(0, np.int64)
    text = "\x1f".join(words).encode("utf-8", "surrogatepass")
    seed = int.from_bytes(hashlib.sha256(text).digest()[:8], "big")
    count = max(1, round(HIDDEN * len(words)))
    return np.sort(np.random.default_rng(seed).choice(len(words), count, replace=False))


class Text(Task):
    """No labels at all; the metric is the share of hidden words that a masked language model finds.

    Words and not pieces are hidden, all pieces of a word at once, so that models with other
    vocabularies are asked the same. A prediction has the guesses in its ``tags``, one for each word
    and empty where none was hidden, and the probabilities of the hidden words in ``tag_scores``, in
    bits in ``tag_bits``.
    """

    kind = "text"
    metric = "words_guessed"
    reads = frozenset({"mlm"})
    keeps_scores = True

    @property
    def outputs(self) -> tuple[Output, ...]:
        """None."""
        return ()

    def targets(self, example: Example) -> dict[str, np.ndarray]:
        """None; what is to be guessed of masked text, the stream's noise says."""
        del example
        return {}

    def decode(
        self, logits: Mapping[str, np.ndarray], paths: Mapping[str, np.ndarray] = NO_PATHS
    ) -> Prediction:
        """Text as it is has no labels."""
        del logits, paths
        return Prediction()

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> dict[str, float]:
        """The share of hidden words that are guessed, and bits for a byte of them.

        The latter is -log2 of the probabilities of all hidden words over their bytes in UTF-8; a
        word's is the product of those of its pieces, given that they are as many as they are.
        """
        right, hidden = self.statistics(examples, predictions).sums.sum(axis=0)
        bits = size = 0.0
        for example, prediction in zip(examples, predictions, strict=True):
            of_words = prediction.bits
            for place in hidden_words(example.words):
                bits += of_words[place]
                size += len(example.words[place].encode("utf-8", "surrogatepass"))
        return {
            "words_guessed": 100 * right / hidden if hidden else 0.0,
            "bits_per_byte": bits / size if size else 0.0,
        }

    def statistics(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> Statistics:
        """See `Task.statistics`."""
        from tfdistil.metrics.bootstrap import Statistics

        sums = np.zeros((len(examples), 2))
        for row, example, prediction in zip(sums, examples, predictions, strict=True):
            places = hidden_words(example.words)
            guesses = prediction.tags or ()
            row[:] = sum(guesses[place] == example.words[place] for place in places), len(places)
        return Statistics("share", sums)

    def constant(self, examples: Sequence[Example]) -> list[Prediction]:
        """The most frequent hidden word, everywhere, with the share that it has."""
        hidden = Counter(e.words[place] for e in examples for place in hidden_words(e.words))
        word = max(hidden, key=lambda one: (hidden[one], one)) if hidden else ""
        share = hidden[word] / max(1, hidden.total())
        return [
            Prediction(tags=(word,) * len(e.words), tag_scores=(share,) * len(e.words))
            for e in examples
        ]

    def label_scores(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> dict[str, dict[str, float]]:
        """There are no labels."""
        del examples, predictions
        return {}

    def to_json(self) -> dict[str, Any]:
        """See `Task.to_json`."""
        return {"kind": self.kind}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Text:
        """See `Task.from_json`."""
        del data
        return cls()

    @classmethod
    def from_examples(cls, examples: Iterable[Example]) -> Text:
        """See `Task.from_examples`."""
        del examples
        return cls()
