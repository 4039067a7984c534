"""The state of a phase that is still running, in a file from which a killed run continues exactly.

What cannot be read off the seed and the number of batches is in it: see `PhaseState`. Files hold
plain arrays and JSON, each with a checksum, and no code.
"""

from __future__ import annotations

import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tfdistil.distill.best_weights import BestWeights, Progress
from tfdistil.distill.distiller import Distiller
from tfdistil.files import new_file

LEAST = 60.0
"""Seconds between two writes at the least, however fast the disk is."""

SHARE = 0.01
"""Of the time, which writing may take at the most once the first has shown how long it takes: what
takes 3 s is written every 5 minutes."""

FORMAT = 1


class PhaseState:
    """What a phase has come to, in a file and back.

    That is every variable of the distiller (weights, statistics, what terms learn, the generators
    of dropout, means over the batches since the last check) and of its optimizer (moments,
    iterations, accumulated gradients), the best weights so far, and the `Progress`. The file is a
    NumPy archive (``.npz``): arrays by number, and the rest as JSON in ``state``.

    Args:
        path: of the file.
        phase: all that the phase depends on beside models and data, as JSON; a state of anything
            else is not used.
        distiller: compiled, its optimizer built.
    """

    def __init__(self, path: Path, phase: Mapping[str, Any], distiller: Distiller):
        self.path = path
        self.weights = distiller.weights
        self.variables = [
            *distiller.variables,
            *distiller.metrics_variables,
            *distiller.optimizer.variables,
        ]
        shapes = [[v.dtype, *v.shape] for v in self.variables]
        facts = {"format": FORMAT, "backend": keras.backend.backend(), "variables": shapes}
        self.phase = json.loads(json.dumps({**facts, **phase}))

    def write(self, progress: Progress, best_weights: Sequence[np.ndarray]) -> None:
        """Replace the file, whole or not at all.

        Raises:
            OSError: no space for it.
        """
        facts = json.dumps({"phase": self.phase, "progress": asdict(progress)})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(self.path) as partial, partial.open("wb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                for name, array in self._arrays(facts, best_weights):
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())

    def _arrays(
        self, facts: str, best_weights: Sequence[np.ndarray]
    ) -> Iterator[tuple[str, np.ndarray]]:
        """What is in the file, one array in memory at a time."""
        yield "state", np.frombuffer(facts.encode(), np.uint8)
        for number, variable in enumerate(self.variables):
            yield f"variable.{number}", variable.numpy()
        for number, array in enumerate(best_weights):
            yield f"best.{number}", array

    def read(self) -> tuple[Progress, list[np.ndarray]] | None:
        """Set all variables to what they were.

        Returns:
            How far the phase was and its best weights; None where there is no file.

        Raises:
            ValueError: a damaged file, or the state of another phase; no variable has changed.
        """
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                facts = json.loads(archive["state"].tobytes())
                if facts["phase"] != self.phase:
                    raise ValueError("the state of another training")
                progress = Progress(**facts["progress"])
                arrays = [
                    _array(archive, f"variable.{number}", variable)
                    for number, variable in enumerate(self.variables)
                ]
                best_weights = [
                    _array(archive, f"best.{number}", weight)
                    for number, weight in enumerate(self.weights)
                ]
        except Exception as error:  # readers of archives have many ways to say that one is damaged
            raise ValueError(str(error) or type(error).__name__) from None
        for variable, array in zip(self.variables, arrays, strict=True):
            variable.assign(array)
        return progress, best_weights


def _array(archive: Any, name: str, like: keras.Variable) -> np.ndarray:
    """One of the arrays, in the shape and type of a variable."""
    array = archive[name]
    found, expected = (array.dtype, array.shape), (np.dtype(like.dtype), tuple(like.shape))
    if found != expected:
        raise ValueError(f"{name} is {found}, expected {expected}")
    return array


class WriteState(keras.callbacks.Callback):
    """Writes a phase's state now and then, see `LEAST` and `SHARE`.

    Args:
        state: what is written.
        best: the callback that counts and keeps; it comes before this one.
        say: told of a file that cannot be written, which is no reason to stop training.
    """

    def __init__(self, state: PhaseState, best: BestWeights, say: Callable[[str], None]):
        super().__init__()
        self.state, self.best, self.say = state, best, say
        self.last = self.took = 0.0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Start the clock."""
        self.last = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Write, if it is time to and the phase goes on."""
        start = time.monotonic()
        if start - self.last < max(LEAST, self.took / SHARE):
            return
        if self.model.stop_training:  # on JAX this lookup puts the state of the step into the model
            return
        try:
            self.state.write(self.best.progress, self.best.best_weights)
        except OSError as error:
            self.say(f"  a stop now would lose this phase, its state cannot be written: {error}")
        self.last = time.monotonic()
        self.took = self.last - start
