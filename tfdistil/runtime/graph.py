"""Running the graph: windows in, float logits out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from tfdistil.errors import ModelFileError
from tfdistil.text.featurizer import Window


class Signature:
    """One entry point of the graph, of a fixed batch size and length.

    Args:
        interpreter: holds the model.
        name: the signature's key.
        batch: rows of every input.
        length: positions of every input.
        padding: input name to the value that fills a row.

    Raises:
        ModelFileError: no such signature, or inputs of another name or shape.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        name: str,
        batch: int,
        length: int,
        padding: Mapping[str, int],
    ):
        try:
            self._runner = interpreter.get_signature_runner(name)
        except ValueError as error:
            raise ModelFileError(
                f"the graph has no signature {name!r}, only {[*interpreter.get_signature_list()]}"
            ) from error
        self.name, self.batch, self.length = name, batch, length
        self._empty: dict[str, np.ndarray] = {}  # padding alone
        for key, details in self._runner.get_input_details().items():
            shape = tuple(int(n) for n in details["shape"])
            if key not in padding or shape[:2] != (batch, length):
                raise ModelFileError(
                    f"signature {name!r} takes {key!r} of shape {shape}; expected one of "
                    f"{', '.join(padding)} of shape ({batch}, {length})"
                )
            self._empty[key] = np.full(shape, padding[key], details["dtype"])
        self._outputs = self._runner.get_output_details()

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Name of each output to its shape."""
        return {k: tuple(int(n) for n in d["shape"]) for k, d in self._outputs.items()}

    def run(self, windows: Sequence[Window]) -> dict[str, np.ndarray]:
        """Outputs as the graph gives them, ``[windows, ...]``.

        Args:
            windows: at most `batch`, each of at most `length` positions; rows left over are
                padding.
        """
        feed = {}
        for key, empty in self._empty.items():
            rows = empty.copy()
            for row, window in enumerate(windows):
                values = window.inputs[key]
                rows[row, : len(values)] = values
            feed[key] = rows
        return {k: v[: len(windows)] for k, v in self._runner(**feed).items()}

    def to_float(self, name: str, values: np.ndarray) -> np.ndarray:
        """Values of an output as float32: ``(q - zero point) · scale`` if it is quantized."""
        if values.dtype == np.float32:
            return values
        scale, zero_point = self._outputs[name]["quantization"]
        return (values - np.float32(zero_point)) * np.float32(scale)


class Graph:
    """The signatures of a model file.

    Full batches go through the signature ``batch``, if the file has one; what is left over goes
    through ``online`` one by one, so no time is spent on empty rows. A signature takes memory from
    its first use on.

    Args:
        path: a verified model file.
        signatures: name to ``{"batch": rows, "length": positions}``.
        padding: input name to the value that fills a row.
        threads: threads of the interpreter.

    Raises:
        ModelFileError: the interpreter cannot load the graph, or there is no signature ``online``.
    """

    def __init__(
        self,
        path: Path,
        signatures: Mapping[str, Mapping[str, int]],
        padding: Mapping[str, int],
        threads: int = 1,
    ):
        if "online" not in signatures:
            raise ModelFileError(f"{path} has no signature 'online', only {sorted(signatures)}")
        try:
            self._interpreter = Interpreter(model_path=str(path), num_threads=threads)
        except (ValueError, RuntimeError) as error:
            raise ModelFileError(
                f"{path}: the interpreter cannot load the graph: {error}"
            ) from error
        self._shapes = signatures
        self._padding = padding
        self._loaded: dict[str, Signature] = {}
        self.online = self._signature("online")

    @property
    def length(self) -> int:
        """Positions of a window."""
        return self.online.length

    def run(
        self, windows: Sequence[Window], outputs: Mapping[str, bool]
    ) -> list[dict[str, np.ndarray]]:
        """Float logits of each window.

        Args:
            windows: any number.
            outputs: the graph's output to whether it is word level.

        Returns:
            Per window, for a word-level output ``[owned words, labels]``, at the first piece of
            each; else ``[labels]``.
        """
        found: list[dict[str, np.ndarray]] = []
        batch = self._shapes["batch"]["batch"] if "batch" in self._shapes else len(windows) + 1
        while len(windows) - len(found) >= batch:
            found += self._block(
                self._signature("batch"), windows[len(found) : len(found) + batch], outputs
            )
        size = self.online.batch
        for at in range(len(found), len(windows), size):
            found += self._block(self.online, windows[at : at + size], outputs)
        return found

    def _signature(self, name: str) -> Signature:
        if name not in self._loaded:
            shape = self._shapes[name]
            self._loaded[name] = Signature(
                self._interpreter, name, shape["batch"], shape["length"], self._padding
            )
        return self._loaded[name]

    @staticmethod
    def _block(
        signature: Signature, windows: Sequence[Window], outputs: Mapping[str, bool]
    ) -> list[dict[str, np.ndarray]]:
        values = signature.run(windows)
        return [
            {
                name: signature.to_float(
                    name,
                    values[name][row].take(firsts, axis=0) if words else values[name][row],
                )
                for name, words in outputs.items()
            }
            for row, firsts in enumerate(w.units.take(w.starts) for w in windows)
        ]
