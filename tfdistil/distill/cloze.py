"""A masked language model at the cloze test of `tfdistil.tasks.text`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops

from tfdistil.data.example import Example
from tfdistil.distill.compiled import compiled
from tfdistil.distill.masking import mask_piece
from tfdistil.distill.rows import Rows, bucketed_batches
from tfdistil.tasks import Prediction
from tfdistil.tasks.text import Text, hidden_words

_BATCH = 16
"""Rows at a time."""
_BITS_OF_A_BYTE = 8
_PLACES = 256


@dataclass(frozen=True)
class _Hidden:
    """A hidden word in a row: its place in the text, its first position, its pieces there.

    Not ``whole``: it has unknown pieces, or more than the window holds, and cannot be guessed.
    Not ``owned``: it is guessed in another window of the text, and hidden in this one.
    """

    place: int
    start: int
    pieces: tuple[int, ...]
    whole: bool
    owned: bool


class ClozePredictor:
    """Guesses the hidden words of texts, each from its window with all hidden words of it masked.

    A word's guess is the best piece at each of its positions, and its probability the product of
    those of its own pieces. A word that the vocabulary cannot spell is never guessed, and what it
    would take to spell it, eight bits for each byte, counts beside its unknown piece; so is it with
    a word of more pieces than a window holds, of which the window's count, too.

    Args:
        model: an encoder.
        featurizer: feeds it; with a mask piece.
        task: scores.
        head: of the kind ``mlm``.
    """

    def __init__(self, model: Any, featurizer: Any, task: Text, head: str):
        self.model, self.featurizer, self.task = model, featurizer, task
        self.signal = f"{head}/mlm"
        self.mask = mask_piece(featurizer)
        self._compiled: Callable[..., tuple[Any, Any]] | None = None

    def predict(self, rows: Rows) -> list[Prediction]:
        """One prediction per example, see `Text`."""
        guesses = [[""] * len(words) for words in rows.texts]
        bits = [[0.0] * len(words) for words in rows.texts]
        for batch in bucketed_batches(rows.lengths, _BATCH, None):
            hidden = [list(self._hidden(rows, row)) for row in batch]
            if any(hidden):
                self._guess(rows, batch, hidden, guesses, bits)
        return [
            Prediction(
                tags=tuple(guess), tag_scores=tuple(2.0**-b for b in own), tag_bits=tuple(own)
            )
            for guess, own in zip(guesses, bits, strict=True)
        ]

    def score(self, rows: Rows, examples: Sequence[Example]) -> dict[str, float]:
        """The task's scores."""
        return self.task.score(examples, self.predict(rows))

    def _hidden(self, rows: Rows, row: int) -> Iterator[_Hidden]:
        """The hidden words that a row shows: those it owns, and those around them."""
        window, words = rows.windows[row], rows.texts[rows.example[row]]
        hidden = set(hidden_words(words).tolist())
        if not hidden:
            return
        known = self.featurizer.pieces(words)
        most = self.featurizer.budget  # a word longer than a window is cut
        first, end = window.words
        shown, start = first, int(window.tokens[window.starts[0]])
        while start > 1:
            shown -= 1
            start -= min(len(known[words[shown]]), most)
        for place in range(shown, len(words)):
            if start >= window.length - 1:
                break
            pieces = known[words[place]]
            if place in hidden:
                whole = len(pieces) <= most and self.featurizer.unk not in pieces
                yield _Hidden(place, start, pieces[:most], whole, first <= place < end)
            start += min(len(pieces), most)

    def _guess(
        self,
        rows: Rows,
        batch: np.ndarray,
        hidden: Sequence[Sequence[_Hidden]],
        guesses: list[list[str]],
        bits: list[list[float]],
    ) -> None:
        """Fill in what is guessed in a batch of rows."""
        inputs = rows.inputs(batch)
        inputs["input_ids"] = inputs["input_ids"].copy()
        places = np.array(
            [
                (i, word.start + offset, piece)
                for i, found in enumerate(hidden)
                for word in found
                for offset, piece in enumerate(word.pieces)
            ],
            np.int32,
        )
        inputs["input_ids"][places[:, 0], places[:, 1]] = self.mask
        best, log_p = self._run(inputs, places)
        at = 0
        for row, found in zip(batch, hidden, strict=True):
            example = int(rows.example[row])
            for word in found:
                part = slice(at, at := at + len(word.pieces))
                if not word.owned:
                    continue
                right = word.whole and tuple(best[part].tolist()) == word.pieces
                text = rows.texts[example][word.place]
                guesses[example][word.place] = text if right else self._read(best[part], text)
                bytes_left = 0 if word.whole else len(text.encode("utf-8", "surrogatepass"))
                of_pieces = -float(log_p[part].astype(np.float64).sum()) / math.log(2)
                bits[example][word.place] = of_pieces + _BITS_OF_A_BYTE * bytes_left

    def _read(self, pieces: np.ndarray, text: str) -> str:
        """Pieces as they are written; nothing where they look like the word and are not it."""
        read = " ".join(str(self.featurizer.tokenizer.id_to_token(int(piece))) for piece in pieces)
        return "" if read == text else read

    def _run(self, inputs: Mapping[str, np.ndarray], places: np.ndarray) -> list[np.ndarray]:
        if self._compiled is None:
            self._compiled = self._compile(inputs)
        # Rounded up, since JAX compiles for each number of them.
        padded = np.zeros((-(-len(places) // _PLACES) * _PLACES, 3), np.int32)
        padded[: len(places)] = places
        return [np.asarray(found)[: len(places)] for found in self._compiled(dict(inputs), padded)]

    def _compile(self, inputs: Mapping[str, np.ndarray]) -> Callable[..., tuple[Any, Any]]:
        def run(batch: Mapping[str, Any], places: Any) -> tuple[Any, Any]:
            time = ops.shape(batch["input_ids"])[1]
            scored = places[:, 0] * time + places[:, 1]
            chosen = self.model({**batch, "scored": scored}, training=False)[self.signal]
            log_q = ops.log_softmax(ops.cast(chosen, "float32"), axis=-1)
            own = ops.take_along_axis(log_q, places[:, 2:], axis=-1)
            return ops.argmax(chosen, axis=-1), ops.squeeze(own, axis=-1)

        sizes = {
            name: keras.KerasTensor((None, None, *array.shape[2:]), str(array.dtype))
            for name, array in inputs.items()
        }
        places = keras.KerasTensor((None, 3), "int32")
        return compiled(run, self.model.variables, [sizes, places])
