"""Errors a user can act on. The commands print them without a traceback and exit with status 2."""

from __future__ import annotations

from pathlib import Path

from tfdistil.printable import printable, shortened


class TfdistilError(Exception):
    """Base of every error that says what came, what was expected, where, and what to do.

    What came may be anything, so a message is cut to a length that can be read, and characters that
    do not print are escaped.
    """

    def __init__(self, message: str):
        super().__init__(shortened(printable(shortened(message))))


class DataError(TfdistilError):
    """A data file that cannot be read as its format.

    Args:
        message: what came, what was expected and what to do.
        path: the file.
        line: the 1-based line, where there is one.
    """

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None):
        self.path, self.line = path, line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message)


class RecipeError(TfdistilError):
    """A recipe with an unknown key, a wrong value, or parts that do not fit together."""


class CheckpointError(TfdistilError):
    """A checkpoint whose architecture, tensors or shapes are not what the model expects."""


class ExportError(TfdistilError):
    """A conversion that failed, or an exported file that is not what was asked for."""


class ModelFileError(TfdistilError):
    """A ``.tflite`` file that is damaged, too new, or not made by tfdistil."""


class RunError(TfdistilError):
    """A run folder that cannot be used: another recipe, an unfinished step, a missing artefact."""


class DeviceError(TfdistilError):
    """A device to measure on that is not there, not ready, or without what it needs."""
