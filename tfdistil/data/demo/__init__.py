"""The demo corpus: a seeded template grammar in five languages, written for this project.

Requests to a small voice assistant (intent and slots), news-like sentences with persons, places
and organisations, and unlabelled text of both, in English, Spanish, German, Hindi and Japanese.
"""

from __future__ import annotations

from tfdistil.data.demo.files import SIZES, DemoFiles, write_demo
from tfdistil.data.demo.generator import LANGUAGES, generate

__all__ = ["LANGUAGES", "SIZES", "DemoFiles", "generate", "write_demo"]
