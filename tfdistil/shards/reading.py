"""Shards as rows that models read: memory-mapped, so only the rows of a batch are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfdistil.errors import RunError
from tfdistil.files import read_json, sha256
from tfdistil.padding import MULTIPLE, padded_lengths
from tfdistil.shards.counting import count_rows
from tfdistil.shards.sampling import draw_pass
from tfdistil.shards.writing import COUNTS, LAYOUT
from tfdistil.tasks import IGNORE

LENGTH, LANGUAGE, PART, LINES = range(4)
"""Columns of an index."""


@dataclass(frozen=True)
class Shards:
    """What `write_shards` wrote, opened by `open_shards`.

    Attributes:
        ids: pieces of each shard, memory-mapped.
        index: of all rows together, int32 ``[rows, 4]``: length, language, part, lines.
        shard: which shard each row is in, int32 ``[rows]``.
        start: where each row begins there, int64 ``[rows]``.
        languages: names, in the order of their numbers.
        parts: names, likewise.
        cls, sep, pad: special pieces.
        vocabulary: all ids are below it.
        max_length: pieces of a row at the most.
        token_types: whether the encoder has them.
        statistics: by language, see `COUNTS`.
        left_out: lines that are not in it.
    """

    ids: tuple[np.ndarray, ...]
    index: np.ndarray
    shard: np.ndarray
    start: np.ndarray
    languages: tuple[str, ...]
    parts: tuple[str, ...]
    cls: int
    sep: int
    pad: int
    vocabulary: int
    max_length: int
    token_types: bool
    statistics: Mapping[str, Mapping[str, int]]
    left_out: int

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of each language, over all parts."""
        return {language: counts["bytes"] for language, counts in self.statistics.items()}

    def rows(self, parts: Sequence[int], shares: Mapping[str, float] | None = None) -> ShardedRows:
        """The rows of some parts.

        Args:
            parts: their numbers.
            shares: how often each language is drawn; None: each row once in a pass.
        """
        chosen = np.flatnonzero(np.isin(self.index[:, PART], list(parts)))
        return ShardedRows(
            self, chosen, None if shares is None else np.array([shares[n] for n in self.languages])
        )


def open_shards(folder: Path) -> Shards:
    """Open shards, memory-mapped, once all of them are what was written.

    Nothing in them is code: numbers and JSON.

    Raises:
        RunError: files that are gone, cut short or have other content, ids that the vocabulary does
            not have, rows that are no rows.
    """
    try:
        return _open(folder)
    except (
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        OSError,
        TypeError,
        ValueError,
    ) as error:
        raise RunError(
            f"{folder}: damaged shards of text ({error!r:.200}); remove the folder and run again"
        ) from None


def _open(folder: Path) -> Shards:
    facts = read_json(folder / "shards.json")
    if facts["layout"] != LAYOUT:
        raise ValueError(f"layout {facts['layout']}, expected {LAYOUT}")
    cls, sep, pad = (int(piece) for piece in facts["special"])
    counts = {
        language: {name: int(own[name]) for name in COUNTS}
        for language, own in facts["statistics"].items()
    }
    languages, parts = tuple(counts), tuple(map(str, facts["parts"]))
    number = {language: i for i, language in enumerate(languages)}
    vocabulary, max_length = int(facts["vocabulary"]), int(facts["max_length"])
    ids, indices = [], []
    for one in facts["shards"]:
        shard = folder / f"{int(one['name']):05}"
        _check_hash(shard / "shard.json", one["sha256"])
        own = read_json(shard / "shard.json")
        arrays = {}
        for name in ("ids.npy", "index.npy"):
            _check_hash(shard / name, own["sha256"][name])
            arrays[name] = np.load(shard / name, mmap_mode="r", allow_pickle=False)
        index = _checked(arrays["ids.npy"], arrays["index.npy"], vocabulary, max_length, shard)
        if (index[:, PART] >= len(parts)).any():
            raise ValueError(f"{shard.name}: a part that is none of {parts}")
        here = np.array([number[language] for language in own["languages"]], np.int32)
        index[:, LANGUAGE] = here[index[:, LANGUAGE]]
        ids.append(arrays["ids.npy"])
        indices.append(index)
    sizes = [len(index) for index in indices]
    return Shards(
        tuple(ids),
        np.concatenate(indices),
        np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        np.concatenate([np.cumsum(i[:, LENGTH], dtype=np.int64) - i[:, LENGTH] for i in indices]),
        languages,
        parts,
        cls,
        sep,
        pad,
        vocabulary,
        max_length,
        bool(facts["token_types"]),
        counts,
        int(facts["left_out"]),
    )


def _check_hash(path: Path, expected: str) -> None:
    if sha256(path) != expected:
        raise ValueError(f"{path.parent.name}/{path.name} has other content than was written")


def _checked(
    ids: np.ndarray, index: np.ndarray, vocabulary: int, max_length: int, shard: Path
) -> np.ndarray:
    """The index in memory, found to be that of these ids."""
    if ids.ndim != 1 or ids.dtype not in (np.uint16, np.int32):
        raise ValueError(f"{shard.name}/ids.npy is {ids.dtype} {ids.shape}")
    if index.ndim != 2 or index.shape[1] != 4 or index.dtype != np.int32:
        raise ValueError(f"{shard.name}/index.npy is {index.dtype} {index.shape}")
    found = np.array(index)
    length, lines = found[:, LENGTH].astype(np.int64), found[:, LINES]
    if ((length > max_length) | (lines < 1) | (length < 2 * lines + 1) | (found < 0).any(1)).any():
        raise ValueError(f"{shard.name}/index.npy has rows that are none")
    if length.sum() != len(ids):
        raise ValueError(f"{shard.name}: rows of {length.sum()} pieces in a file of {len(ids)}")
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < vocabulary:
        raise ValueError(f"{shard.name}/ids.npy has a piece outside of 0 to {vocabulary - 1}")
    return found


class ShardedRows:
    """Some rows of shards. These are `TextRows`.

    A row is its own example, without labels, and its tokens are all of its pieces but the special
    ones. So signals are stored and compared piece by piece, which needs one tokenizer for both.

    Args:
        shards: opened.
        chosen: the numbers of the rows there, int64 ``[rows]``.
        shares: how often each language is drawn, float ``[languages]``; None: each row
            once in a pass.
    """

    def __init__(self, shards: Shards, chosen: np.ndarray, shares: np.ndarray | None = None):
        self.shards, self.chosen, self.shares = shards, chosen, shares
        index = shards.index[chosen]
        self.lengths = index[:, LENGTH].astype(np.int64)
        self.language = index[:, LANGUAGE]
        self.example = np.arange(len(chosen))
        self.token_counts = self.lengths - 1 - index[:, LINES]

    def __len__(self) -> int:
        return len(self.chosen)

    def ids(self, row: int) -> np.ndarray:
        """The pieces of a row, special ones included."""
        place = self.chosen[row]
        start = self.shards.start[place]
        return self.shards.ids[self.shards.shard[place]][start : start + self.lengths[row]]

    def epoch_rows(self, generator: np.random.Generator) -> np.ndarray:
        """The rows of one pass: all, or so many of each language as its share is.

        See `draw_pass`.
        """
        if self.shares is None:
            return np.arange(len(self))
        return draw_pass(self.language, self.shares, generator)

    def language_counts(self) -> dict[str, dict[str, int | float]]:
        """By language `COUNTS`, which are of all parts, and ``share``: of the rows of a pass."""
        languages = self.shards.languages
        drawn = np.bincount(self.language, minlength=len(languages)).astype(float)
        if self.shares is not None:  # a language without rows here leaves its share to the others
            drawn = np.where(drawn > 0, self.shares, 0.0)
        shares = drawn / max(drawn.sum(), np.finfo(float).tiny)
        return {
            language: {**self.shards.statistics[language], "share": float(share)}
            for language, share in zip(languages, shares, strict=True)
        }

    def token_range(self, row: int) -> slice:
        """All of the row's tokens."""
        return slice(0, int(self.token_counts[row]))

    def words(self, rows: Sequence[int] | np.ndarray) -> list[Sequence[str]]:
        """No words: a row has nothing but its pieces."""
        return [()] * len(rows)

    def inputs(
        self, rows: Sequence[int] | np.ndarray, multiple: int = MULTIPLE
    ) -> dict[str, np.ndarray]:
        """Padded model inputs and tokens of some rows, as `Rows.inputs` gives them."""
        rows, shards = np.asarray(rows, np.int64), self.shards
        lengths, counts = self.lengths[rows], self.token_counts[rows]
        time, most = padded_lengths(lengths.max(), counts.max(), multiple, shards.max_length)
        ids = np.full((len(rows), time), shards.pad, np.int32)
        for i, row in enumerate(rows):
            ids[i, : lengths[i]] = self.ids(row)
        real = np.arange(time) < lengths[:, None]
        batch = {"input_ids": ids, "attention_mask": real.astype(np.int32)}
        if shards.token_types:
            batch["token_type_ids"] = np.zeros_like(ids)
        token_mask = np.arange(most) < counts[:, None]
        tokens = np.zeros(token_mask.shape, np.int32)
        tokens[token_mask] = np.nonzero(real & (ids != shards.cls) & (ids != shards.sep))[1]
        return batch | {"tokens": tokens, "token_mask": token_mask.astype(np.int32)}

    def target(
        self, output: str, level: str, rows: Sequence[int] | np.ndarray, tokens: int
    ) -> np.ndarray:
        """No labels: `IGNORE` everywhere, int32 ``[B, tokens]`` or ``[B]``."""
        del output
        shape = (len(rows),) if level == "sequence" else (len(rows), tokens)
        return np.full(shape, IGNORE, np.int32)

    def piece_counts(self, progress: Callable[[int], None] = lambda done: None) -> np.ndarray:
        """How often each piece occurs in the rows, see `count_rows`."""
        return count_rows(self, progress)
