"""Running the graph: windows in, float logits out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfdistil.errors import ModelFileError
from tfdistil.runtime.check_graph import check_graph
from tfdistil.runtime.interpreter import Interpreter, OpResolverType
from tfdistil.runtime.tflite import read_model
from tfdistil.text.featurizer import WORD_MASK, Window

MOST_THREADS = 256
"""The interpreter starts as many as it is told, and dies where the system gives it fewer."""


_INTEGERS = (np.int8, np.uint8, np.int16)


def check_threads(threads: int) -> int:
    """The number of threads of an interpreter.

    Raises:
        ValueError: not 1 to `MOST_THREADS`.
    """
    if type(threads) is not int or not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"threads is {threads!r}; expected 1 to {MOST_THREADS}")
    return threads


class Signature:
    """One entry point of the graph, of a fixed batch size and length.

    Args:
        interpreter: holds the model.
        name: the signature's key.
        batch: rows of every input.
        length: positions of every input.
        padding: input name to the value that fills a row; beside these an input may be
            `tfdistil.text.featurizer.WORD_MASK`.
        example: a window of the featurizer; the inputs take what it has.

    Raises:
        ModelFileError: no such signature, or inputs of another name, shape or type.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        name: str,
        batch: int,
        length: int,
        padding: Mapping[str, int],
        example: Window,
    ):
        self._runner = _allocate(interpreter, name)
        padding = {**padding, WORD_MASK: 0}
        self.name, self.batch, self.length = name, batch, length
        self._empty: dict[str, np.ndarray] = {}  # padding alone
        for key, details in self._runner.get_input_details().items():
            shape = tuple(int(n) for n in details["shape"])
            if key not in padding or shape[:2] != (batch, length):
                raise ModelFileError(
                    f"signature {name!r} takes {key!r} of shape {shape}; expected one of "
                    f"{', '.join(padding)} of shape ({batch}, {length})"
                )
            given, dtype = example.input(key), np.dtype(details["dtype"])
            if shape[2:] != given.shape[1:] or not _holds(dtype, given.dtype):
                raise ModelFileError(
                    f"signature {name!r} takes {key!r} of shape {shape} and type {dtype}; the "
                    f"featurizer gives {given.dtype} with {given.shape[1:]} after the positions"
                )
            self._empty[key] = np.full(shape, padding[key], dtype)
        if not self._empty:
            raise ModelFileError(f"signature {name!r} takes no inputs")
        self._outputs = self._runner.get_output_details()

    def check_output(self, name: str, words: bool, labels: int) -> None:
        """The signature has an output of logits.

        Args:
            name: of the output.
            words: whether it has logits for each position: ``[batch, length, labels]``, else
                ``[batch, labels]``.
            labels: how many.

        Raises:
            ModelFileError: no such output, or another shape or type.
        """
        details, shape, dtype = self._output(name)
        if shape != (self.batch, *[self.length] * words, labels):
            raise ModelFileError(
                f"the graph's output {name!r} has shape {shape}; expected "
                f"{'batch, length' if words else 'batch'} and {labels} labels"
            )
        if dtype != np.float32 and not (dtype in _INTEGERS and details["quantization"][0] > 0):
            raise ModelFileError(
                f"the graph's output {name!r} is {dtype} with the scale "
                f"{details['quantization'][0]}; expected float32, or integers with a scale"
            )

    def check_path(self, name: str) -> None:
        """The signature has an output of label ids, int32 ``[batch, length]``.

        Raises:
            ModelFileError: no such output, or another shape or type.
        """
        _, shape, dtype = self._output(name)
        if (shape, dtype) != ((self.batch, self.length), np.int32):
            raise ModelFileError(
                f"the graph's output {name!r} is {dtype} of shape {shape}; expected the labels' "
                f"ids, int32 of shape {(self.batch, self.length)}"
            )

    def _output(self, name: str) -> tuple[Mapping[str, Any], tuple[int, ...], np.dtype]:
        """What the interpreter says of an output; its shape and type."""
        if name not in self._outputs:
            raise ModelFileError(
                f"expected {name!r} among the outputs of signature {self.name!r}, but the graph "
                f"has only {', '.join(self._outputs)}"
            )
        details = self._outputs[name]
        return details, tuple(int(n) for n in details["shape"]), np.dtype(details["dtype"])

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
                values = window.input(key)
                rows[row, : len(values)] = values
            feed[key] = rows
        return {k: v[: len(windows)] for k, v in self._runner(**feed).items()}

    def to_float(self, name: str, values: np.ndarray) -> np.ndarray:
        """Values of an output as float32: ``(q - zero point) · scale`` if it is quantized.

        Raises:
            ModelFileError: values that are no finite numbers.
        """
        if values.dtype == np.float32:
            if not np.isfinite(values).all():
                raise ModelFileError(f"gives logits for {name!r} that are no finite numbers")
            return values
        scale, zero_point = self._outputs[name]["quantization"]
        return (values - np.float32(zero_point)) * np.float32(scale)


def _allocate(interpreter: Interpreter, name: str) -> Any:
    """The runner of a signature, whose memory is planned and taken.

    The public interface does that at the first run only, which may take long.

    Raises:
        ModelFileError: no such signature.
        RuntimeError: the kernels refuse the graph.
    """
    signatures = [*interpreter.get_signature_list()]
    if name not in signatures:
        raise ModelFileError(f"the graph has no signature {name!r}, only {signatures!s:.200}")
    runner = interpreter.get_signature_runner(name)
    runner._interpreter_wrapper.AllocateTensors(runner._subgraph_index)
    return runner


def _holds(dtype: np.dtype, given: np.dtype) -> bool:
    """Whether an input holds all that a window may have."""
    return np.issubdtype(dtype, np.floating) or np.can_cast(given, dtype)


class Graph:
    """The signatures of a model file.

    Full batches go through the signature ``batch``, if the file has one; what is left over goes
    through ``online`` one by one, so no time is spent on empty rows. Both have their memory from
    the start.

    Args:
        model: a flatbuffer.
        signatures: name to ``{"batch": rows, "length": positions}``.
        padding: input name to the value that fills a row.
        example: a window of the featurizer.
        threads: threads of the interpreter.

    Raises:
        ModelFileError: the interpreter cannot load the graph, or there is no signature ``online``.
        ValueError: threads that are not 1 to `MOST_THREADS`.
    """

    def __init__(
        self,
        model: bytes,
        signatures: Mapping[str, Mapping[str, int]],
        padding: Mapping[str, int],
        example: Window,
        threads: int = 1,
    ):
        if "online" not in signatures:
            raise ModelFileError(f"has no signature 'online', only {sorted(signatures)}")
        check_graph(read_model(model))
        try:
            # The kernels refuse what does not fit. XNNPACK, which takes their place, frees memory
            # twice when it does, and that ends the process.
            plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            trial = Interpreter(model_content=model, experimental_op_resolver_type=plain)
            for name in signatures:
                _allocate(trial, name)
            del trial
            interpreter = Interpreter(model_content=model, num_threads=threads)
            found = {
                name: Signature(
                    interpreter, name, shape["batch"], shape["length"], padding, example
                )
                for name, shape in signatures.items()
            }
        except (ValueError, RuntimeError) as error:
            raise ModelFileError(f"the interpreter cannot load the graph: {error}") from error
        self.online, self._batch = found["online"], found.get("batch")

    def check_output(self, name: str, words: bool, labels: int) -> None:
        """See `Signature.check_output`."""
        for signature in filter(None, (self.online, self._batch)):
            signature.check_output(name, words, labels)

    def check_path(self, name: str) -> None:
        """See `Signature.check_path`."""
        for signature in filter(None, (self.online, self._batch)):
            signature.check_path(name)

    @property
    def length(self) -> int:
        """Positions of a window."""
        return self.online.length

    def run(
        self, windows: Sequence[Window], outputs: Mapping[str, bool], paths: Iterable[str] = ()
    ) -> list[dict[str, np.ndarray]]:
        """Float logits and label ids of each window.

        Args:
            windows: any number.
            outputs: the graph's output of logits to whether it is word level.
            paths: the graph's outputs of label ids.

        Returns:
            Per window, for a word-level output ``[owned words, labels]``, at the first piece of
            each; else ``[labels]``. For one of ids, int32 ``[owned words]``.
        """
        found: list[dict[str, np.ndarray]] = []
        if self._batch is not None:
            size = self._batch.batch
            for at in range(0, len(windows) - size + 1, size):
                found += self._block(self._batch, windows[at : at + size], outputs, paths)
        size = self.online.batch
        for at in range(len(found), len(windows), size):
            found += self._block(self.online, windows[at : at + size], outputs, paths)
        return found

    @staticmethod
    def _block(
        signature: Signature,
        windows: Sequence[Window],
        outputs: Mapping[str, bool],
        paths: Iterable[str],
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
            | {name: values[name][row].take(firsts) for name in paths}
            for row, firsts in enumerate(w.tokens.take(w.starts) for w in windows)
        ]
