"""From a model file to labels, without any training library."""

from __future__ import annotations

from tfdistil.runtime.model_file import ModelFile
from tfdistil.runtime.result import Result, TextSpan, Word
from tfdistil.runtime.runtime import Runtime

__all__ = ["ModelFile", "Result", "Runtime", "TextSpan", "Word"]
