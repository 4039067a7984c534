"""Signals that are derived from others of a whole text: kept on disk in shards, or as it goes.

They are those of what the student sees of a text, a window of its own: of signals that have been
joined over the teacher's windows before.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tfdistil.distill.compiled import compiled
from tfdistil.distill.forward import SignalModel
from tfdistil.distill.rows import TextRows, bucketed_batches, tokens_of
from tfdistil.distill.signals import TeacherSignals
from tfdistil.files import write_bytes
from tfdistil.heads.derivation import Derivation

SHARD = 4096
"""Rows in a file: what a killed process has to do again at the most."""


def split(model: SignalModel, names: Sequence[str]) -> tuple[list[str], list[Derivation]]:
    """The signals that a call of the model returns, and what makes the others."""
    own = [name for name in names if model.level(name) != "derived"]
    declared: Callable[[Sequence[str]], list[Derivation]] | None
    declared = getattr(model, "derivations", None)
    return own, [] if declared is None else declared(names)


def signals_read(own: Sequence[str], derivations: Sequence[Derivation]) -> list[str]:
    """What the model is run for: its own signals, and those that others are made of."""
    return sorted({*own, *(name for derivation in derivations for name in derivation.reads)})


class LiveDerived:
    """Derived signals made for each batch.

    Args:
        source: gives the signals they are made of, and ``own``.
        own: signals that are passed on as they are.
        derivations: what makes the others.
    """

    def __init__(
        self, source: TeacherSignals, own: Sequence[str], derivations: Sequence[Derivation]
    ):
        self.source, self.own = source, own
        self.makers = [(derivation, _maker(derivation)) for derivation in derivations]

    def batch(
        self, rows: TextRows, chosen: Sequence[int] | np.ndarray, inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """See `TeacherSignals.batch`."""
        read = self.source.batch(rows, chosen, inputs)
        found = {name: read[name] for name in self.own}
        for derivation, make in self.makers:
            made = make(read, inputs["token_mask"], _inner(rows, chosen))
            found |= derivation.select(made)
        return found


class RowSignals:
    """Signals of the student's rows in flat arrays.

    Args:
        arrays: name to ``[tokens of all rows, ...]`` or ``[rows, ...]``, in the order of the rows.
        per_token: name to whether its first axis is tokens.
        token_counts: tokens of each row, int64 ``[rows]``.
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        per_token: Mapping[str, bool],
        token_counts: np.ndarray,
    ):
        self.arrays, self.per_token, self.token_counts = arrays, per_token, token_counts
        self.offsets = np.concatenate([[0], np.cumsum(token_counts)])

    def batch(
        self, rows: TextRows, chosen: Sequence[int] | np.ndarray, inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """See `TeacherSignals.batch`."""
        del rows
        found = {}
        for name, array in self.arrays.items():
            if not self.per_token[name]:
                found[name] = array[chosen]
                continue
            shape = (len(chosen), inputs["tokens"].shape[1], *array.shape[1:])
            found[name] = np.zeros(shape, array.dtype)
            for i, row in enumerate(chosen):
                own = array[self.offsets[row] : self.offsets[row + 1]]
                found[name][i, : len(own)] = own
        return found


def pooled(parts: Sequence[RowSignals]) -> RowSignals:
    """Several sets one after another, for a stream that pools them."""
    first = parts[0]
    arrays = {name: np.concatenate([part.arrays[name] for part in parts]) for name in first.arrays}
    counts = np.concatenate([part.token_counts for part in parts])
    return RowSignals(arrays, first.per_token, counts)


class JoinedSignals:
    """What several sources give for the same rows."""

    def __init__(self, sources: Sequence[TeacherSignals]):
        self.sources = sources

    def batch(
        self, rows: TextRows, chosen: Sequence[int] | np.ndarray, inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """See `TeacherSignals.batch`."""
        batches = [source.batch(rows, chosen, inputs) for source in self.sources]
        return {name: array for batch in batches for name, array in batch.items()}


Counted = Callable[[int], Callable[[int], None]]
"""How many rows there are to do, to what is told how many are done."""


def derive(
    derivations: Sequence[Derivation],
    source: TeacherSignals,
    rows: TextRows,
    folder: Path,
    counter: Counted = lambda total: lambda done: None,
) -> RowSignals:
    """Derived signals of a set, from shards on disk.

    A shard that is missing or damaged is made again, so what was interrupted goes on where it was.

    Args:
        derivations: what makes them.
        source: gives the signals that these read; always the same for one folder.
        rows: the student's.
        folder: of all that is kept of these signals. What is derived has a folder of its own in
            it, named by the key of the derivation and how texts are cut into rows.
        counter: is told of the rows of missing shards, if there are any.

    Raises:
        OSError: no space for them.
    """
    counts = _token_counts(rows)
    facts = json.dumps([rows.example.tolist(), counts.tolist()])
    cuts = hashlib.sha256(facts.encode()).hexdigest()[:16]
    arrays: dict[str, np.ndarray] = {}
    per_token: dict[str, bool] = {}
    for derivation in derivations:
        own = folder / f"{derivation.key}-{cuts}"
        arrays |= derivation.select(_kept(derivation, source, rows, own, counter))
        per_token |= derivation.names
    return RowSignals(arrays, per_token, counts)


def _kept(
    derivation: Derivation,
    source: TeacherSignals,
    rows: TextRows,
    folder: Path,
    counter: Counted,
) -> dict[str, np.ndarray]:
    """The arrays of `Derivation.made`, flat: ``[tokens of all rows, ...]`` or ``[rows, ...]``."""
    total = len(rows.lengths)
    parts = [np.arange(i, min(i + SHARD, total)) for i in range(0, total, SHARD)]
    paths = [folder / f"{number:06}.shard" for number in range(len(parts))]
    shards = [_read(path) for path in paths]
    missing = [number for number, shard in enumerate(shards) if shard is None]
    if missing:
        make, done = _maker(derivation), 0
        progress = counter(sum(len(parts[number]) for number in missing))
        for number in missing:
            shard = _made(derivation, make, source, rows, parts[number])
            _write(paths[number], shard)
            shards[number] = shard
            done += len(parts[number])
            progress(done)
    found = [shard for shard in shards if shard is not None]
    return {name: np.concatenate([shard[name] for shard in found]) for name in derivation.made}


def _made(
    derivation: Derivation,
    make: Callable[..., dict[str, np.ndarray]],
    source: TeacherSignals,
    rows: TextRows,
    shard: np.ndarray,
) -> dict[str, np.ndarray]:
    """The arrays of some rows, whose batches depend on nothing but these rows."""
    found: list[dict[str, np.ndarray]] = [{} for _ in shard]
    for places in bucketed_batches(rows.lengths[shard], 64, None):
        chosen = shard[places]
        inputs = rows.inputs(chosen)
        read = source.batch(rows, chosen, inputs)
        made = make(read, inputs["token_mask"], _inner(rows, chosen))
        for i, (place, row) in enumerate(zip(places, chosen, strict=True)):
            tokens = tokens_of(rows, row)
            found[place] = {
                name: made[name][i, :tokens] if per_token else made[name][i : i + 1]
                for name, per_token in derivation.made.items()
            }
    return {name: np.concatenate([row[name] for row in found]) for name in derivation.made}


def _maker(derivation: Derivation) -> Callable[..., dict[str, np.ndarray]]:
    """``(signals by name, mask, inner)`` to what is made; compiled where that helps."""
    make = compiled(derivation.make)

    def run(
        signals: Mapping[str, np.ndarray], mask: np.ndarray, inner: np.ndarray
    ) -> dict[str, np.ndarray]:
        given = [keras.ops.convert_to_tensor(signals[name]) for name in derivation.reads]
        made: dict[str, Any] = make(given, *map(keras.ops.convert_to_tensor, (mask, inner)))
        return {name: np.asarray(made[name]) for name in derivation.made}

    return run


def _inner(rows: TextRows, chosen: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.array([rows.token_range(row).start > 0 for row in chosen], bool)


def _token_counts(rows: TextRows) -> np.ndarray:
    return np.array([tokens_of(rows, row) for row in range(len(rows.lengths))], np.int64)


_DIGEST = hashlib.sha256().digest_size


def _write(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """A file: the SHA-256 of what follows it, a NumPy archive."""
    archive = io.BytesIO()
    given: dict[str, Any] = dict(arrays)
    np.savez(archive, **given)
    data = archive.getvalue()
    write_bytes(path, hashlib.sha256(data).digest() + data)


def _read(path: Path) -> dict[str, np.ndarray] | None:
    """What `_write` wrote; None where there is no such file, or another one."""
    if not path.exists():
        return None
    file = path.read_bytes()
    digest, data = file[:_DIGEST], file[_DIGEST:]
    if hashlib.sha256(data).digest() != digest:
        return None
    with np.load(io.BytesIO(data)) as arrays:
        return dict(arrays)
