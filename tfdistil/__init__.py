"""Distil a transformer into an int8 TensorFlow Lite model that fits on a phone.

Nothing is imported before it is used: a device that only runs a model loads no training library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfdistil.runtime.runtime import Runtime

    __version__: str

__all__ = ["Runtime", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "Runtime":
        from tfdistil.runtime.runtime import Runtime

        return Runtime
    if name == "__version__":
        from importlib.metadata import version

        return version("tfdistil")
    raise AttributeError(f"module 'tfdistil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
