"""Teacher signals for a stream: from a cache on disk, or from the teacher as it goes.

Both give the same arrays, aligned on the tokens of the *student's* rows; that the teacher may
tokenize differently is settled here, once.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np

from tfdistil.distill.forward import SignalModel, SignalReader
from tfdistil.distill.rows import TextRows, rows_by_example, tokens_of
from tfdistil.errors import RunError
from tfdistil.files import new_folder, reserve, write_bytes, write_json


class TeacherSignals(Protocol):
    """Signals for a batch of student rows."""

    def batch(
        self, rows: TextRows, chosen: Sequence[int] | np.ndarray, inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Arrays by signal name: ``[B, U, ...]``, ``[B, ...]`` or, of the model itself, ``[...]``.

        Args:
            rows: the student's rows.
            chosen: which of them are in the batch.
            inputs: their padded inputs, as `Rows.inputs` gives them.
        """
        ...


def _gather(
    rows: TextRows,
    chosen: Sequence[int] | np.ndarray,
    tokens: int,
    token_level: dict[str, bool],
    example: Callable[[str, int], np.ndarray],
) -> dict[str, np.ndarray]:
    """Cut each row's tokens out of its example's signals and pad them."""
    batch = {}
    for name, per_token in token_level.items():
        found = [example(name, int(rows.example[row])) for row in chosen]
        if not per_token:
            batch[name] = np.stack(found).astype(_kept_as(found[0]))
            continue
        out = np.zeros((len(chosen), tokens, *found[0].shape[1:]), _kept_as(found[0]))
        for i, (row, array) in enumerate(zip(chosen, found, strict=True)):
            part = array[rows.token_range(row)]
            out[i, : len(part)] = part
        batch[name] = out
    return batch


def _kept_as(array: np.ndarray) -> np.dtype:
    """Integers (ids) stay as they are; everything else is float32."""
    return array.dtype if np.issubdtype(array.dtype, np.integer) else np.dtype(np.float32)


class StoredSignals:
    """Signals of a list of examples in flat arrays, in memory or memory-mapped.

    Args:
        arrays: name to ``[total tokens, ...]`` or ``[examples, ...]``.
        offsets: start of each example's tokens and the total, int64 ``[examples + 1]``.
        token_level: name to whether its first axis is tokens.
        of_model: signals of the model itself, the same for every example.
    """

    def __init__(
        self,
        arrays: dict[str, np.ndarray],
        offsets: np.ndarray,
        token_level: dict[str, bool],
        of_model: Mapping[str, np.ndarray] | None = None,
    ):
        self.arrays, self.offsets, self.token_level = arrays, offsets, token_level
        self.of_model = dict(of_model or {})

    def of(self, names: Sequence[str]) -> StoredSignals:
        """Some of the signals alone."""
        kept, of_model = ({n: d[n] for n in names if n in d} for d in (self.arrays, self.of_model))
        token_level = {name: self.token_level[name] for name in kept}
        return StoredSignals(kept, self.offsets, token_level, of_model)

    def example(self, name: str, index: int) -> np.ndarray:
        """A signal of one example, ``[tokens, ...]`` or ``[...]``."""
        if self.token_level[name]:
            return self.arrays[name][self.offsets[index] : self.offsets[index + 1]]
        return self.arrays[name][index]

    def batch(
        self, rows: TextRows, chosen: Sequence[int] | np.ndarray, inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """See `TeacherSignals.batch`."""
        tokens = inputs["tokens"].shape[1]
        return _gather(rows, chosen, tokens, self.token_level, self.example) | self.of_model


class PooledSignals:
    """Several `StoredSignals` one after another, for a stream that pools sets."""

    def __init__(self, parts: Sequence[StoredSignals]):
        self.parts = parts
        sizes = [len(part.offsets) - 1 for part in parts]
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        self.token_level, self.of_model = parts[0].token_level, parts[0].of_model

    def example(self, name: str, index: int) -> np.ndarray:
        """A signal of one example of the pool."""
        part = int(np.searchsorted(self.first, index, side="right")) - 1
        return self.parts[part].example(name, index - int(self.first[part]))

    def batch(
        self, rows: TextRows, chosen: Sequence[int] | np.ndarray, inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """See `TeacherSignals.batch`."""
        tokens = inputs["tokens"].shape[1]
        return _gather(rows, chosen, tokens, self.token_level, self.example) | self.of_model


class LiveSignals:
    """The teacher runs on the texts of each batch, with its own tokenizer.

    Args:
        model: the teacher.
        teacher_rows: the same examples as the student's rows, in the same order, encoded with the
            teacher's featurizer.
        names: which signals.

    Raises:
        RecipeError: see `SignalReader.check_windows`.
    """

    def __init__(self, model: SignalModel, teacher_rows: TextRows, names: Sequence[str]):
        self.rows, self.reader = teacher_rows, SignalReader(model, names)
        self._rows_of = rows_by_example(teacher_rows)
        self.reader.check_windows(self._rows_of)

    def batch(
        self, rows: TextRows, chosen: Sequence[int] | np.ndarray, inputs: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """See `TeacherSignals.batch`."""
        examples = list(dict.fromkeys(int(rows.example[row]) for row in chosen))
        if any(self.reader.per_token.values()):
            counts = (of.token_counts[examples] for of in (self.rows, rows))
            _check_tokens("live signals", *counts)
        mine = [row for example in examples for row in self._rows_of[example]]
        place = {row: i for i, row in enumerate(mine)}
        output = self.reader.batch(self.rows.inputs(mine))
        joined = {
            example: self.reader.join(
                [
                    self.reader.row(output, place[row], tokens_of(self.rows, row))
                    for row in self._rows_of[example]
                ]
            )
            for example in examples
        }
        of_texts = _gather(
            rows,
            chosen,
            inputs["tokens"].shape[1],
            self.reader.per_token,
            lambda name, index: joined[index][name],
        )
        return of_texts | {name: output[name] for name in self.reader.of_model}


def store_signals(
    model: SignalModel,
    rows: TextRows,
    folders: Mapping[Path, Sequence[str]],
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Run the teacher once over all examples and keep its signals on disk.

    A folder appears under its name only when all are complete. Their space on the disk is taken
    before the first example is through.

    Args:
        model: the teacher.
        rows: the examples, encoded with the teacher's featurizer.
        folders: where ``<signal>.npy``, ``offsets.npy`` and ``signals.json`` go, to the signals of
            each, of any level but ``window``.
        progress: called with the number of examples done so far.

    Raises:
        OSError: no space for them.
        RecipeError: see `SignalReader.check_windows`.
    """
    offsets = np.concatenate([[0], np.cumsum(rows.token_counts)])
    reader = SignalReader(model, sorted({*chain.from_iterable(folders.values())}))
    with ExitStack() as stack:
        files = [
            _Files(stack.enter_context(new_folder(folder)), names, offsets, reader.per_token)
            for folder, names in folders.items()
        ]
        for done, (example, signals) in enumerate(reader.examples(rows)):
            for own in files:
                own.put(example, signals)
            progress(done + 1)
        of_model = reader.batch(rows.inputs([0])) if reader.of_model else {}
        for own in files:
            own.finish({name: of_model[name] for name in reader.of_model})


class _Files:
    """The files of a folder of signals while they are filled.

    Args:
        folder: is there.
        names: the signals that it is for.
        offsets: see `StoredSignals`.
        per_token: name of a signal to whether its first axis is tokens.
    """

    def __init__(
        self,
        folder: Path,
        names: Sequence[str],
        offsets: np.ndarray,
        per_token: Mapping[str, bool],
    ):
        self.folder, self.names, self.offsets = folder, names, offsets
        self.per_token = {name: per_token[name] for name in names if name in per_token}
        self.arrays: dict[str, np.ndarray] = {}

    def put(self, example: int, signals: Mapping[str, np.ndarray]) -> None:
        """Write what one example has."""
        for name, per_token in self.per_token.items():
            array = signals[name]
            if name not in self.arrays:
                total = self.offsets[-1] if per_token else len(self.offsets) - 1
                shape = (int(total), *array.shape[int(per_token) :])
                path = self.folder / _file(name)
                self.arrays[name] = _new_array(path, _kept_as(array), shape)
            own = slice(self.offsets[example], self.offsets[example + 1])
            self.arrays[name][own if per_token else example] = array

    def finish(self, of_model: Mapping[str, np.ndarray]) -> None:
        """Write what the model has of itself, and what all of it is."""
        for array in self.arrays.values():
            array.flush()  # type: ignore[attr-defined]
        own = [name for name in of_model if name in self.names]
        for name in own:
            _save(self.folder / _file(name), of_model[name])
        _save(self.folder / "offsets.npy", self.offsets)
        # Null: the signal has no axis for examples at all.
        write_json(self.folder / "signals.json", {**self.per_token, **dict.fromkeys(own)})


def _new_array(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """A new ``.npy`` file, memory-mapped, with its space on the disk."""
    array = np.lib.format.open_memmap(path, "w+", dtype, shape)
    reserve(path)
    return array


def _save(path: Path, array: np.ndarray) -> None:
    data = io.BytesIO()
    np.save(data, array)
    write_bytes(path, data.getvalue())


def load_signals(folder: Path, rows: TextRows) -> StoredSignals:
    """Open what `store_signals` wrote, memory-mapped, for these student rows.

    Raises:
        RunError: the files are damaged, or there are signals of tokens and the teacher scored
            others than the student does (alignment ``x`` needs one tokenizer for both).
    """
    try:
        facts = json.loads((folder / "signals.json").read_text())
        offsets = np.load(folder / "offsets.npy")
        arrays = {name: np.load(folder / _file(name), mmap_mode="r") for name in facts}
    except (OSError, ValueError, EOFError, RecursionError) as error:
        raise RunError(
            f"{folder}: damaged cache of teacher signals ({error}); remove the folder and run again"
        ) from None
    token_level = {name: fact for name, fact in facts.items() if fact is not None}
    if any(token_level.values()):  # those of whole texts do not care how much of them was read
        _check_tokens(folder, np.diff(offsets), rows.token_counts)
    of_model = {name: arrays.pop(name) for name in facts.keys() - token_level.keys()}
    return StoredSignals(arrays, offsets, token_level, of_model)


def _check_tokens(where: object, teacher: np.ndarray, student: np.ndarray) -> None:
    if not np.array_equal(teacher, student):
        raise RunError(
            f"{where}: the teacher's scored tokens differ from the student's. With different "
            "tokenizers use `task: {kind: tags, continuation: false}`, which aligns on words"
        )


def _file(name: str) -> str:
    return f"{name.replace('/', '.')}.npy"
