"""Examples as rows a model can eat: windows with targets, padded into batches. Numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tfdistil.data.example import Example
from tfdistil.padding import MULTIPLE, padded_lengths
from tfdistil.tasks import IGNORE, Task
from tfdistil.text.featurizer import Featurizer, Window


class TextRows(Protocol):
    """Encoded texts, one row for each window: what streams and stored signals rely on.

    `Rows` holds them in memory. They may as well be files, of which only the rows of a batch are
    read: nothing here gives more than it is asked for but the three arrays of numbers.
    """

    @property
    def lengths(self) -> np.ndarray:
        """Pieces in each row, int64 ``[rows]``."""

    @property
    def example(self) -> np.ndarray:
        """Index of each row's example, int64 ``[rows]``; the windows of a text are in order."""

    @property
    def token_counts(self) -> np.ndarray:
        """Units of each example over all its windows, int64 ``[examples]``."""

    def epoch_rows(self, generator: np.random.Generator) -> np.ndarray:
        """The rows of one pass, as many as there are: each once, or some more often than others."""
        ...

    def token_range(self, row: int) -> slice:
        """The row's part of its example's tokens."""
        ...

    def words(self, rows: Sequence[int] | np.ndarray) -> list[Sequence[str]]:
        """The words that each of some rows owns."""
        ...

    def inputs(
        self, rows: Sequence[int] | np.ndarray, multiple: int = MULTIPLE
    ) -> dict[str, np.ndarray]:
        """Padded model inputs, ``tokens`` and ``token_mask`` of some rows, see `Rows.inputs`."""
        ...

    def target(
        self, output: str, level: str, rows: Sequence[int] | np.ndarray, tokens: int
    ) -> np.ndarray:
        """Target ids of some rows, see `Rows.target`."""
        ...


def rows_by_example(rows: TextRows) -> list[list[int]]:
    """The rows of each example, in order."""
    found: list[list[int]] = [[] for _ in rows.token_counts]
    for row, example in enumerate(rows.example):
        found[example].append(row)
    return found


def tokens_of(rows: TextRows, row: int) -> int:
    """How many tokens a row has."""
    own = rows.token_range(row)
    return own.stop - own.start


@dataclass(frozen=True)
class Rows:
    """Encoded examples in memory; one row is one window of one example. These are `TextRows`.

    Attributes:
        windows: the rows.
        example: index of each row's example, int64 ``[rows]``.
        first_token: where each row's tokens start among its example's tokens, int64 ``[rows]``.
        targets: per example, output name to ids per token (``[tokens]``) or a scalar.
        token_counts: tokens of each example over all its windows, int64 ``[examples]``.
        padding: the value of padding for each model input.
        texts: the words of each example.
        longest: positions that the model reads at the most.
    """

    windows: tuple[Window, ...]
    example: np.ndarray
    first_token: np.ndarray
    targets: tuple[dict[str, np.ndarray], ...]
    token_counts: np.ndarray
    padding: dict[str, int]
    texts: tuple[Sequence[str], ...]
    longest: int

    def __len__(self) -> int:
        return len(self.windows)

    @property
    def lengths(self) -> np.ndarray:
        """Pieces in each row, int64 ``[rows]``."""
        return np.array([window.length for window in self.windows], dtype=np.int64)

    def epoch_rows(self, generator: np.random.Generator) -> np.ndarray:
        """Each row once."""
        del generator
        return np.arange(len(self))

    def inputs(
        self, rows: Sequence[int] | np.ndarray, multiple: int = MULTIPLE
    ) -> dict[str, np.ndarray]:
        """Padded model inputs and tokens of some rows.

        Args:
            rows: which rows, in the order of the batch.
            multiple: lengths are rounded up to a multiple of it, so that few shapes occur; not
                beyond `longest`, so that with that all batches have it. See `tfdistil.padding`.

        Returns:
            The model's inputs ``[B, T]`` or ``[B, T, n]`` in the featurizer's dtypes,
            ``attention_mask [B, T]``, ``tokens [B, U]`` (positions) and ``token_mask [B, U]``,
            int32.
        """
        windows = [self.windows[row] for row in rows]
        time, tokens = padded_lengths(
            max(w.length for w in windows),
            max(len(w.tokens) for w in windows),
            multiple,
            self.longest,
        )
        batch = {
            name: _pad([w.inputs[name] for w in windows], time, value)
            for name, value in self.padding.items()
        }
        batch["attention_mask"] = _pad([np.ones(w.length, np.int32) for w in windows], time, 0)
        batch["tokens"] = _pad([w.tokens for w in windows], tokens, 0)
        batch["token_mask"] = _pad([np.ones(len(w.tokens), np.int32) for w in windows], tokens, 0)
        return batch

    def target(
        self, output: str, level: str, rows: Sequence[int] | np.ndarray, tokens: int
    ) -> np.ndarray:
        """Target ids of some rows, `IGNORE` where there is none.

        Args:
            output: name of the task's output.
            level: ``word`` or ``sequence``.
            rows: which rows.
            tokens: length of the padded token axis.

        Returns:
            int32 ``[B, tokens]`` at word level, ``[B]`` at sequence level.
        """
        found = [self.targets[self.example[row]].get(output) for row in rows]
        if level == "sequence":
            return np.array([IGNORE if ids is None else ids for ids in found], dtype=np.int32)
        target = np.full((len(rows), tokens), IGNORE, dtype=np.int32)
        for i, (row, ids) in enumerate(zip(rows, found, strict=True)):
            if ids is not None:
                target[i, : len(self.windows[row].tokens)] = ids[self.token_range(row)]
        return target

    def words(self, rows: Sequence[int] | np.ndarray) -> list[Sequence[str]]:
        """The words that each of some rows owns."""
        return [self.texts[self.example[row]][slice(*self.windows[row].words)] for row in rows]

    def token_range(self, row: int) -> slice:
        """The row's part of its example's tokens."""
        start = int(self.first_token[row])
        return slice(start, start + len(self.windows[row].tokens))

    def word_starts(self, example_rows: Sequence[int]) -> np.ndarray:
        """Where each word of an example starts among its tokens, given all its rows in order."""
        return np.concatenate(
            [self.windows[row].starts + self.first_token[row] for row in example_rows]
        ).astype(np.int64)

    def rows_of(self) -> list[list[int]]:
        """The rows of each example, in order."""
        return rows_by_example(self)


def encode_rows(examples: Sequence[Example], featurizer: Featurizer, task: Task | None) -> Rows:
    """Encode examples once; batches are then only padded.

    Args:
        examples: labelled or not.
        featurizer: makes the windows.
        task: turns labels into targets; None where there is nothing to learn from labels.
    """
    encoded = featurizer.encode_batch([(e.words, e.second) for e in examples])
    continuation = {
        o.name: len(o.labels) - 1 for o in (task.outputs if task else ()) if o.labels[-1:] == ("X",)
    }
    levels = {o.name: o.level for o in (task.outputs if task else ())}
    windows: list[Window] = []
    example_of: list[int] = []
    first_token: list[int] = []
    targets: list[dict[str, np.ndarray]] = []
    token_counts: list[int] = []
    for index, (example, parts) in enumerate(zip(examples, encoded, strict=True)):
        total = 0
        for window in parts:
            windows.append(window)
            example_of.append(index)
            first_token.append(total)
            total += len(window.tokens)
        token_counts.append(total)
        found = task.targets(example) if task else {}
        for name in [n for n in found if levels[n] == "word"]:
            found[name] = _per_token(found[name], parts, continuation.get(name, IGNORE))
        targets.append(found)
    return Rows(
        tuple(windows),
        np.array(example_of, np.int64),
        np.array(first_token, np.int64),
        tuple(targets),
        np.array(token_counts, np.int64),
        featurizer.padding,
        tuple(example.words for example in examples),
        featurizer.max_length,
    )


def bucketed_batches(
    lengths: np.ndarray, size: int, generator: np.random.Generator | None
) -> list[np.ndarray]:
    """Cut rows into batches of similar length, so that little is padding.

    Args:
        lengths: pieces of each row, ``[rows]``.
        size: rows of a batch; the last may be smaller.
        generator: shuffles rows within pools of 50 batches, and the batches; None keeps the batches
            in order of length, which is best for prediction.

    Returns:
        Index arrays that together hold every row once.
    """
    if generator is None:
        order = np.argsort(lengths, kind="stable")
        return [order[i : i + size] for i in range(0, len(order), size)]
    order = generator.permutation(len(lengths))
    pool = 50 * size
    batches = []
    for start in range(0, len(order), pool):
        part = order[start : start + pool]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[i : i + size] for i in range(0, len(part), size)]
    return [batches[i] for i in generator.permutation(len(batches))]


def _per_token(ids: np.ndarray, windows: Sequence[Window], filler: int) -> np.ndarray:
    """Word ids to token ids: the word's own at its first piece, ``filler`` at the others."""
    out = []
    for window in windows:
        part = np.full(len(window.tokens), filler, np.int32)
        part[window.starts] = ids[window.words[0] : window.words[1]]
        out.append(part)
    return np.concatenate(out)


def _pad(arrays: Sequence[np.ndarray], length: int, value: int) -> np.ndarray:
    out = np.full((len(arrays), length, *arrays[0].shape[1:]), value, dtype=arrays[0].dtype)
    for i, array in enumerate(arrays):
        out[i, : len(array)] = array
    return out
