"""TensorFlow and Keras without their greetings, for the commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfdistil.allocator import keep_freed_memory
from tfdistil.errors import TfdistilError


def import_tensorflow() -> None:
    """Import TensorFlow and let it speak of errors only.

    While it is imported its native code writes notes on oneDNN and CUDA to file descriptor 2,
    whatever the log level; afterwards it warns of retracing, which small data always causes.
    The allocator is set up before it (`tfdistil.allocator`).

    Raises:
        ModuleNotFoundError: the training stack is not installed.
    """
    with _without_notes():
        import tensorflow
    tensorflow.get_logger().setLevel("ERROR")


def import_backend() -> None:
    """Import Keras and its backend, TensorFlow or what ``KERAS_BACKEND`` says, in the same way.

    Raises:
        ModuleNotFoundError: the training stack is not installed.
        TfdistilError: another backend than TensorFlow or JAX, or JAX is not installed.
    """
    asked = os.environ.get("KERAS_BACKEND") or "tensorflow"
    if asked not in ("tensorflow", "jax"):
        raise TfdistilError(f"KERAS_BACKEND is {asked}, expected tensorflow or jax")
    try:
        with _without_notes():
            import keras
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "jaxlib"):
            raise
        raise TfdistilError(
            "KERAS_BACKEND is jax, which needs `pip install 'tfdistil[jax]'`"
        ) from error
    if keras.backend.backend() == "tensorflow":
        import_tensorflow()


@contextmanager
def _without_notes() -> Iterator[None]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    keep_freed_memory()
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
