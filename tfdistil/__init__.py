"""Distil a transformer into an int8 TensorFlow Lite model that fits on a phone.

Nothing is imported before it is used: a device that only runs a model loads no training library.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfdistil.data.example import Example
    from tfdistil.distill.distiller import Distiller
    from tfdistil.distill.objectives import objective
    from tfdistil.evaluation.evaluate import evaluate
    from tfdistil.exporting.run import export
    from tfdistil.pipeline.entry import run
    from tfdistil.recipe.loading import load_recipe
    from tfdistil.runtime.runtime import Runtime

    __version__: str

__all__ = [
    "Distiller",
    "Example",
    "Runtime",
    "__version__",
    "evaluate",
    "export",
    "load_recipe",
    "objective",
    "run",
]

_MODULES = {
    "Distiller": "tfdistil.distill.distiller",
    "Example": "tfdistil.data.example",
    "Runtime": "tfdistil.runtime.runtime",
    "evaluate": "tfdistil.evaluation.evaluate",
    "export": "tfdistil.exporting.run",
    "load_recipe": "tfdistil.recipe.loading",
    "objective": "tfdistil.distill.objectives",
    "run": "tfdistil.pipeline.entry",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return metadata.version("tfdistil")
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'tfdistil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
