"""The interpreter of whichever runtime is installed.

``ai-edge-litert`` is what tfdistil installs. Older devices carry ``tflite-runtime``, which is the
same interpreter under its former name; where it is the only one, it is used.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("ai_edge_litert") is None and find_spec("tflite_runtime") is not None:
    from tflite_runtime.interpreter import Interpreter, OpResolverType

    RUNTIME = "tflite-runtime"
else:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    RUNTIME = "ai-edge-litert"

__all__ = ["RUNTIME", "Interpreter", "OpResolverType"]
