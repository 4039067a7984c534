"""The protocol: online and batch latency of any number of model files in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.benchmarks.answers import pair
from tfdistil.benchmarks.environment import environment
from tfdistil.benchmarks.model import (
    Shape,
    open_interpreter,
    random_inputs,
    shapes,
    vocabulary_size,
)
from tfdistil.benchmarks.probe import probe
from tfdistil.benchmarks.timing import Ratio, Timing, cycle, time_interleaved
from tfdistil.console.native_notes import without_notes

INPUTS = 64
"""Different random inputs a model is called with, in turn."""


@dataclass(frozen=True)
class Protocol:
    """What is measured.

    Attributes:
        queries: timed calls of the smallest batch per model.
        batches: timed calls of the largest batch per model.
        rounds: blocks the calls are cut into; models take turns block by block.
        warm_up: untimed calls before.
        threads: of the interpreter.
        seed: of the random ids.
    """

    queries: int = 1000
    batches: int = 100
    rounds: int = 10
    warm_up: int = 20
    threads: int = 1
    seed: int = 0


@dataclass(frozen=True)
class Measurement:
    """One model file.

    Attributes:
        name: what it is called in tables.
        path: the file.
        bytes: size of the file.
        parameters: numbers in its weights and biases.
        online: times of the smallest batch.
        online_shape: its shape.
        batch: times of the largest batch; None if the file has only one signature.
        batch_shape: its shape.
        text: times from a text to its labels through `tfdistil.runtime.Runtime`, if asked for;
            its words have been seen before.
        cold_text: the same with words that are all new.
        memory: see `tfdistil.benchmarks.probe.probe`; empty if it was not measured.
    """

    name: str
    path: Path
    bytes: int
    parameters: int
    online: Timing
    online_shape: Shape
    batch: Timing | None
    batch_shape: Shape | None
    text: Timing | None
    cold_text: Timing | None
    memory: Mapping[str, float] = field(default_factory=dict)

    @property
    def queries_per_second(self) -> float | None:
        """Texts per second in batches, by the median batch."""
        if self.batch is None or self.batch_shape is None:
            return None
        return 1e3 * self.batch_shape.batch / self.batch.quantile(0.5)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON data; times in milliseconds."""
        return {
            "name": self.name,
            "file": self.path.name,
            "bytes": self.bytes,
            "parameters": self.parameters,
            "online_ms": _timing(self.online, self.online_shape),
            "batch_ms": _timing(self.batch, self.batch_shape),
            "queries_per_second": self.queries_per_second,
            "text_ms": None if self.text is None else self.text.to_json(),
            "cold_text_ms": None if self.cold_text is None else self.cold_text.to_json(),
            **self.memory,
        }


def _timing(timing: Timing | None, shape: Shape | None) -> dict[str, float] | None:
    if timing is None or shape is None:
        return None
    return timing.to_json() | {"batch": shape.batch, "length": shape.length}


@dataclass(frozen=True)
class Benchmark:
    """All models of one run.

    Attributes:
        models: in the order they were given.
        protocol: what was measured.
    """

    models: tuple[Measurement, ...]
    protocol: Protocol

    def ratio(self, slower: str, faster: str) -> dict[str, Any]:
        """How many times slower (online, batch) and larger (bytes) one model is than another."""
        a, b = (next(m for m in self.models if m.name == name) for name in (slower, faster))
        batch = None if a.batch is None or b.batch is None else Ratio.of(a.batch, b.batch)
        return {
            "online": Ratio.of(a.online, b.online).to_json(),
            "batch": None if batch is None else batch.to_json(),
            "bytes": a.bytes / b.bytes,
        }

    def to_json(self) -> dict[str, Any]:
        """Measurements, ratios of all to the first model, the protocol and the environment."""
        first = self.models[0].name
        return {
            "models": [model.to_json() for model in self.models],
            "ratios": {m.name: self.ratio(m.name, first) for m in self.models[1:]},
            "protocol": dict(vars(self.protocol)),
            "environment": environment(),
        }


def measure(
    files: Mapping[str, Path],
    protocol: Protocol | None = None,
    texts: Sequence[str] = (),
    screen: Callable[[str], None] = lambda line: None,
    memory: bool = True,
) -> Benchmark:
    """Time model files side by side.

    Online latency is one call of the signature with the smallest batch, arrays in, arrays out, with
    ids that fill the whole length; batch latency the same with the largest. Load time and memory
    are those of a process of its own.

    Args:
        files: name to file.
        protocol: what is measured; the default is `Protocol`'s.
        texts: if there are any, text-to-labels latency is measured too, for files that
            `tfdistil.runtime.Runtime` can read; two texts with a tab between them for pairs.
        screen: told what is going on.
        memory: whether load time and memory are measured; it takes further processes.

    Raises:
        ModelFileError: a file that is missing, no model, or without static signatures.
        DataError: a text that is no pair, for a model of pairs.
    """
    from tfdistil.exporting.inspect import inspect_model

    protocol = protocol or Protocol()
    generator = np.random.default_rng(protocol.seed)
    online: dict[str, Callable[[int], Any]] = {}
    batch: dict[str, Callable[[int], Any]] = {}
    found: dict[str, tuple[Shape, Shape | None]] = {}
    for name, path in files.items():
        interpreter = open_interpreter(path, protocol.threads)
        known = shapes(interpreter, path)
        vocabulary = vocabulary_size(path)
        largest = known[-1] if len(known) > 1 else None
        found[name] = known[0], largest
        for shape, into in ((known[0], online), (largest, batch)):
            if shape is not None:
                runner = interpreter.get_signature_runner(shape.signature)
                inputs = [random_inputs(shape, vocabulary, generator) for _ in range(INPUTS)]
                into[name] = cycle(inputs, partial(_call, runner))

    def progress(what: str) -> Callable[[str, int, int], None]:
        def show(name: str, done: int, total: int) -> None:
            if done == 0 and name == next(iter(files)):
                screen(f"  {what}, {total} rounds")

        return show

    online_times = time_interleaved(
        online, protocol.queries, protocol.rounds, protocol.warm_up, progress("online")
    )
    batch_times = time_interleaved(
        batch, protocol.batches, protocol.rounds, min(3, protocol.warm_up), progress("batch")
    )
    text_times: dict[str, Timing] = {}
    cold_times: dict[str, Timing] = {}
    if texts:
        runtimes = readable(files, protocol.threads)
        readers = {name: _text_calls(runtime, texts) for name, runtime in runtimes.items()}
        for name in [name for name in files if name not in readers]:
            screen(f"  {name} has no tokenizer inside: not timed from text to labels")
        text_times = time_interleaved(
            readers, protocol.queries, protocol.rounds, protocol.warm_up, progress("text")
        )
        forgetful = {name: _cold(runtimes[name], call) for name, call in readers.items()}
        cold_times = time_interleaved(
            forgetful, protocol.queries, protocol.rounds, protocol.warm_up, progress("cold text")
        )
    if memory:
        screen("  memory and load time")
    return Benchmark(
        tuple(
            Measurement(
                name=name,
                path=path,
                bytes=path.stat().st_size,
                parameters=inspect_model(path.read_bytes()).parameters,
                online=online_times[name],
                online_shape=found[name][0],
                batch=batch_times.get(name),
                batch_shape=found[name][1],
                text=text_times.get(name),
                cold_text=cold_times.get(name),
                memory=probe(path, protocol.threads) if memory else {},
            )
            for name, path in files.items()
        ),
        protocol,
    )


def readable(files: Mapping[str, Path], threads: int) -> dict[str, Any]:
    """A `tfdistil.runtime.Runtime` for each file that has what it takes from text to labels."""
    from tfdistil.errors import ModelFileError
    from tfdistil.runtime import Runtime

    found = {}
    for name, path in files.items():
        with suppress(ModelFileError), without_notes():  # a bare graph has no tokenizer
            found[name] = Runtime(path, threads)
    return found


def _text_calls(runtime: Any, texts: Sequence[str]) -> Callable[[int], Any]:
    if runtime.task.kind == "pair":
        return cycle([pair(text) for text in texts], partial(_answer_pair, runtime))
    return cycle(texts, partial(_answer, runtime))


def _cold(runtime: Any, call: Callable[[int], Any]) -> Callable[[int], Any]:
    """The call by a runtime that knows no word; dropping them takes no time to speak of."""

    def forgetful(number: int) -> None:
        runtime.featurizer.forget()
        call(number)

    return forgetful


def _call(runner: Any, inputs: dict[str, Any]) -> None:
    runner(**inputs)


def _answer(runtime: Any, text: str) -> None:
    runtime.predict([text])


def _answer_pair(runtime: Any, pair: tuple[str, str]) -> None:
    runtime.predict_pairs([pair])
