"""Reads the tensors of a checkpoint folder: one safetensors file, or shards with an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from tfdistil.errors import CheckpointError
from tfdistil.printable import listed
from tfdistil.text.checkpoint_files import read_json

SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
_FLOATS = ("F64", "F32", "F16", "BF16")


class TensorFile(Mapping[str, np.ndarray]):
    """Tensors by name, read when asked for, as float32.

    Raises:
        CheckpointError: when asked for a tensor that holds no floats, or NaN or infinite ones.
    """

    def __init__(self, sources: Mapping[str, Any], folder: Path):
        self._sources, self._folder = dict(sources), folder

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __getitem__(self, name: str) -> np.ndarray:
        kind = self._sources[name].get_slice(name).get_dtype()
        if kind not in _FLOATS:
            raise CheckpointError(
                f"{self._folder}: tensor {name} holds {kind}; expected one of "
                f"{', '.join(_FLOATS)}: quantized checkpoints are not supported"
            )
        array = np.asarray(self._sources[name].get_tensor(name))
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite
            array = array.astype(np.float32)
        finite = np.isfinite(array)
        if not finite.all():
            raise CheckpointError(
                f"{self._folder}: tensor {name} holds {array.size - finite.sum()} of {array.size} "
                "values that are NaN or infinite as float32; expected finite weights: the file is "
                "damaged, or its training diverged"
            )
        return array

    def shape(self, name: str) -> tuple[int, ...]:
        """Without reading the tensor."""
        return tuple(self._sources[name].get_slice(name).get_shape())


@contextmanager
def open_tensors(folder: Path) -> Iterator[TensorFile]:
    """The tensors of ``model.safetensors``, or of the shards its index names.

    Raises:
        CheckpointError: no such file (PyTorch pickles are never read), a damaged one, or shards
            that do not hold what the index says.
    """
    with ExitStack() as stack:
        if (folder / SINGLE_FILE).is_file():
            source = _open(stack, folder / SINGLE_FILE)
            yield TensorFile(dict.fromkeys(source.keys(), source), folder)
        elif (folder / INDEX_FILE).is_file():
            yield TensorFile(_shards(stack, folder), folder)
        else:
            raise CheckpointError(_no_file(folder))


def _open(stack: ExitStack, path: Path) -> Any:
    try:
        return stack.enter_context(safe_open(path, framework="np"))
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is not a readable safetensors file: {error}") from error


def _shards(stack: ExitStack, folder: Path) -> dict[str, Any]:
    index = folder / INDEX_FILE
    by_name = read_json(index).get("weight_map")
    if not isinstance(by_name, dict) or not all(isinstance(p, str) for p in by_name.values()):
        raise CheckpointError(f'{index}: expected JSON with a "weight_map" of tensor to file')
    outside = sorted({place for place in by_name.values() if Path(place).name != place})
    if outside:
        raise CheckpointError(f"{index}: shards must lie beside the index, got {listed(outside)}")
    there = {path.name for path in folder.iterdir() if path.is_file()}
    absent = sorted(set(by_name.values()) - there)
    if absent:
        raise CheckpointError(f"{index} names shards that are not there: {listed(absent)}")
    files = {place: _open(stack, folder / place) for place in sorted(set(by_name.values()))}
    held = {(name, place) for place, file in files.items() for name in file.keys()}  # noqa: SIM118
    if held != set(by_name.items()):
        differing = sorted({name for name, _ in held ^ set(by_name.items())})
        raise CheckpointError(f"{index} and its shards disagree on: {listed(differing)}")
    return {name: files[place] for name, place in by_name.items()}


def _no_file(folder: Path) -> str:
    pickles = sorted(path.name for path in folder.glob("*.bin")) + sorted(
        path.name for path in folder.glob("*.pt")
    )
    if not pickles:
        return f"{folder} has no {SINGLE_FILE} (or {INDEX_FILE}); is it a checkpoint folder?"
    return (
        f"{folder} has no {SINGLE_FILE}, only {', '.join(pickles)}. Pickled weights can run code "
        "when they are read, so they are not. Convert them where PyTorch is installed: "
        "`AutoModel.from_pretrained(folder).save_pretrained(new_folder)` (with the Auto class of "
        "its head) writes safetensors"
    )
