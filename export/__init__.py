"""From a Keras model to one verified ``.tflite`` file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfdistil.exporting.exporter import ExportResult, export_student

__all__ = ["ExportResult", "export_student"]


def __getattr__(name: str) -> Any:
    # Packing and inspecting a file need no training library; exporting a model does.
    if name in __all__:
        from tfdistil.exporting import exporter

        return getattr(exporter, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
