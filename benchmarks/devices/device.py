"""What a device is, and what it is asked to measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tfdistil.errors import RecipeError

if TYPE_CHECKING:
    from tfdistil.benchmarks.latency import Protocol

Screen = Callable[[str], None]
"""Is told what is going on, a line at a time."""

MODEL_IN_RUN = "student.tflite"
"""The file that a run folder stands for."""


@dataclass(frozen=True)
class Option:
    """An option of the command that one device alone has.

    Attributes:
        flag: such as ``--host``.
        metavar: what it takes.
        help: a line for ``--help``.
        type: what its text becomes.
    """

    flag: str
    metavar: str
    help: str
    type: Callable[[str], Any] = str

    @property
    def argument(self) -> str:
        """The device's constructor argument."""
        return self.flag.removeprefix("--").replace("-", "_")


@dataclass(frozen=True)
class Job:
    """What is measured.

    Attributes:
        models: ``.tflite`` files and folders of runs; the first is what others are compared with.
        protocol: how it is timed.
        texts: what text-to-labels latency is measured with; none: it is not.
        references: shapes with random weights, see `tfdistil.benchmarks.shapes.REFERENCES`.
        reference_quantize: how they are quantized.
        batch, length: rows and positions of a reference.
        cache: where references are kept; None: `tfdistil.benchmarks.cache.cache_folder`.
    """

    models: Sequence[Path]
    protocol: Protocol
    texts: Sequence[str] = ()
    references: Sequence[str] = field(default_factory=tuple)
    reference_quantize: str = "none"
    batch: int = 32
    length: int = 32
    cache: Path | None = None

    def files(self, screen: Screen) -> dict[str, Path]:
        """Model files by name, references among them; those that are missing are built.

        Raises:
            ModelFileError: a file that is missing or no model.
            RecipeError: an unknown reference, or one whose name a file has.
        """
        from tfdistil.benchmarks.model import open_interpreter

        files = names(self.models)
        for path in files.values():
            open_interpreter(path)  # a wrong path is found before the long work
        for name in self.references:
            from tfdistil.console.silence import import_tensorflow

            import_tensorflow()
            from tfdistil.benchmarks.shapes import reference_file

            check_free(name, files)
            files[name] = reference_file(
                name,
                self.cache,
                length=self.length,
                batch=self.batch,
                quantize=self.reference_quantize,
                screen=screen,
            )
        return files


def names(paths: Sequence[Path]) -> dict[str, Path]:
    """Files by their stems, runs by their folders' names, or by paths where two are the same."""
    stems = [path.name if path.is_dir() else path.stem for path in paths]
    return {
        stem if stems.count(stem) == 1 else str(path): path / MODEL_IN_RUN
        if path.is_dir()
        else path
        for stem, path in zip(stems, paths, strict=True)
    }


def check_free(reference: str, models: dict[str, Path]) -> None:
    """Make sure that no model has the name of a reference.

    Raises:
        RecipeError: one has.
    """
    if reference in models:
        raise RecipeError(
            f"{models[reference]} has the name of the reference {reference!r}; rename it"
        )


class Device:
    """Something that models are timed on.

    A subclass has `about`, `options`, whose values are the arguments of its constructor (None where
    an option is not given), and `measure`.
    """

    about: ClassVar[str]
    options: ClassVar[tuple[Option, ...]] = ()

    def measure(self, job: Job, screen: Screen) -> dict[str, Any]:
        """Measure models.

        Args:
            job: what is measured.
            screen: told what is going on.

        Returns:
            Plain JSON data as `tfdistil.benchmarks.latency.Benchmark.to_json` gives it.

        Raises:
            TfdistilError: the device, a model or a text cannot be used.
        """
        raise NotImplementedError
