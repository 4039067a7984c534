"""Teacher signals for a stream: from a cache on disk, or from the teacher as it goes.

Both give the same arrays, aligned on the units of the *student's* rows; that the teacher may
tokenize differently is settled here, once.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from tfdistil.distill.forward import SignalModel, SignalReader
from tfdistil.distill.rows import Rows
from tfdistil.errors import RunError


class TeacherSignals(Protocol):
    """Signals for a batch of student rows."""

    def batch(
        self, rows: Rows, chosen: Sequence[int], inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Arrays by signal name: ``[B, U, ...]`` or ``[B, ...]``.

        Args:
            rows: the student's rows.
            chosen: which of them are in the batch.
            inputs: their padded inputs, as `Rows.inputs` gives them.
        """
        ...


def _gather(
    rows: Rows,
    chosen: Sequence[int],
    units: int,
    unit_level: dict[str, bool],
    example: Callable[[str, int], np.ndarray],
) -> dict[str, np.ndarray]:
    """Cut each row's units out of its example's signals and pad them."""
    batch = {}
    for name, per_unit in unit_level.items():
        found = [example(name, int(rows.example[row])) for row in chosen]
        if not per_unit:
            batch[name] = np.stack(found).astype(np.float32)
            continue
        out = np.zeros((len(chosen), units, *found[0].shape[1:]), np.float32)
        for i, (row, array) in enumerate(zip(chosen, found, strict=True)):
            part = array[rows.unit_range(row)]
            out[i, : len(part)] = part
        batch[name] = out
    return batch


class StoredSignals:
    """Signals of a list of examples in flat arrays, in memory or memory-mapped.

    Args:
        arrays: name to ``[total units, ...]`` or ``[examples, ...]``.
        offsets: start of each example's units and the total, int64 ``[examples + 1]``.
        unit_level: name to whether its first axis is units.
    """

    def __init__(
        self, arrays: dict[str, np.ndarray], offsets: np.ndarray, unit_level: dict[str, bool]
    ):
        self.arrays, self.offsets, self.unit_level = arrays, offsets, unit_level

    def example(self, name: str, index: int) -> np.ndarray:
        """A signal of one example, ``[units, ...]`` or ``[...]``."""
        if self.unit_level[name]:
            return self.arrays[name][self.offsets[index] : self.offsets[index + 1]]
        return self.arrays[name][index]

    def batch(
        self, rows: Rows, chosen: Sequence[int], inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """See `TeacherSignals.batch`."""
        return _gather(rows, chosen, inputs["units"].shape[1], self.unit_level, self.example)


class PooledSignals:
    """Several `StoredSignals` one after another, for a stream that pools sets."""

    def __init__(self, parts: Sequence[StoredSignals]):
        self.parts = parts
        sizes = [len(part.offsets) - 1 for part in parts]
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        self.unit_level = parts[0].unit_level

    def example(self, name: str, index: int) -> np.ndarray:
        """A signal of one example of the pool."""
        part = int(np.searchsorted(self.first, index, side="right")) - 1
        return self.parts[part].example(name, index - int(self.first[part]))

    def batch(
        self, rows: Rows, chosen: Sequence[int], inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """See `TeacherSignals.batch`."""
        return _gather(rows, chosen, inputs["units"].shape[1], self.unit_level, self.example)


class LiveSignals:
    """The teacher runs on the texts of each batch, with its own tokenizer.

    Args:
        model: the teacher.
        teacher_rows: the same examples as the student's rows, in the same order, encoded with the
            teacher's featurizer.
        names: which signals.
    """

    def __init__(self, model: SignalModel, teacher_rows: Rows, names: Sequence[str]):
        self.rows, self.reader = teacher_rows, SignalReader(model, names)
        self._rows_of = teacher_rows.rows_of()

    def batch(
        self, rows: Rows, chosen: Sequence[int], inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """See `TeacherSignals.batch`."""
        examples = list(dict.fromkeys(int(rows.example[row]) for row in chosen))
        mine = [row for example in examples for row in self._rows_of[example]]
        place = {row: i for i, row in enumerate(mine)}
        output = self.reader.batch(self.rows.inputs(mine))
        joined = {
            example: self.reader.join(
                [
                    self.reader.row(output, place[row], len(self.rows.windows[row].units))
                    for row in self._rows_of[example]
                ]
            )
            for example in examples
        }
        return _gather(
            rows,
            chosen,
            inputs["units"].shape[1],
            self.reader.per_unit,
            lambda name, index: joined[index][name],
        )


class SharedInputSignals:
    """The teacher runs on the student's very inputs: same tokenizer, masked or not.

    This is what objectives that align on pieces (attention maps, masked language models) need.
    """

    def __init__(self, model: SignalModel, names: Sequence[str]):
        self.model, self.names = model, list(names)

    def batch(
        self, rows: Rows, chosen: Sequence[int], inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """See `TeacherSignals.batch`; arrays are ``[B, T, ...]``, not gathered."""
        del rows, chosen
        signals = self.model(inputs, training=False)
        return {name: np.asarray(signals[name]) for name in self.names}


def store_signals(
    model: SignalModel,
    rows: Rows,
    names: Sequence[str],
    folder: Path,
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Run the teacher once over all examples and keep its signals on disk.

    The folder appears under its name only when it is complete.

    Args:
        model: the teacher.
        rows: the examples, encoded with the teacher's featurizer.
        names: signals of level ``subword`` or ``sequence``.
        folder: where ``<signal>.npy``, ``offsets.npy`` and ``signals.json`` go.
        progress: called with the number of examples done so far.
    """
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    offsets = np.concatenate([[0], np.cumsum(rows.unit_counts)])
    reader = SignalReader(model, names)
    unit_level = reader.per_unit
    arrays: dict[str, np.ndarray] = {}
    for done, (example, signals) in enumerate(reader.examples(rows)):
        for name, array in signals.items():
            if name not in arrays:
                total = offsets[-1] if unit_level[name] else len(rows.targets)
                shape = (int(total), *array.shape[int(unit_level[name]) :])
                arrays[name] = np.lib.format.open_memmap(
                    partial / f"{name.replace('/', '.')}.npy", "w+", np.float32, shape
                )
            where = slice(offsets[example], offsets[example + 1]) if unit_level[name] else example
            arrays[name][where] = array
        progress(done + 1)
    for array in arrays.values():
        array.flush()  # type: ignore[attr-defined]
    np.save(partial / "offsets.npy", offsets)
    (partial / "signals.json").write_text(json.dumps(unit_level, indent=1, sort_keys=True))
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def load_signals(folder: Path, rows: Rows) -> StoredSignals:
    """Open what `store_signals` wrote, memory-mapped, for these student rows.

    Raises:
        RunError: the teacher scored other units than the student does (alignment ``x`` needs one
            tokenizer for both).
    """
    unit_level = json.loads((folder / "signals.json").read_text())
    offsets = np.load(folder / "offsets.npy")
    if not np.array_equal(np.diff(offsets), rows.unit_counts):
        raise RunError(
            f"{folder}: the teacher's scored units differ from the student's. With different "
            "tokenizers use `task: {kind: tags, continuation: false}`, which aligns on words"
        )
    arrays = {
        name: np.load(folder / f"{name.replace('/', '.')}.npy", mmap_mode="r")
        for name in unit_level
    }
    return StoredSignals(arrays, offsets, unit_level)
