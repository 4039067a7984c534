"""TensorFlow and Keras without their greetings, for the commands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from tfdistil.allocator import keep_freed_memory
from tfdistil.console.native_notes import without_notes
from tfdistil.errors import TfdistilError


def import_tensorflow() -> None:
    """Import TensorFlow and let it speak of errors only.

    While it is imported its native code writes notes on oneDNN and CUDA to file descriptor 2,
    whatever the log level; afterwards it warns of retracing, which small data always causes.
    The allocator is set up before it (`tfdistil.allocator`).

    Raises:
        ModuleNotFoundError: the training stack is not installed.
    """
    with _quietly():
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
        with _quietly():
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
def _quietly() -> Iterator[None]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    keep_freed_memory()
    with without_notes():
        yield
