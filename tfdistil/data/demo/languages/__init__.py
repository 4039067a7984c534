"""The languages of the demo corpus, a YAML file each; add one here and it is generated."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ruamel.yaml import YAML

from tfdistil.data.demo.grammar import Language

LANGUAGES = ("en", "es", "de", "hi", "ja")
"""English, Spanish, German, Hindi, Japanese."""


@cache
def grammar(code: str) -> Language:
    """The grammar of one of `LANGUAGES`."""
    tree = YAML(typ="safe").load(Path(__file__).with_name(f"{code}.yaml"))
    return Language(
        code,
        slots=_pairs(tree["slots"]),
        helpers=tree["helpers"],
        intents=_pairs(tree["intents"]),
        requests=tree["requests"],
        entities=_pairs(tree["entities"]),
        news=_pair(tree["news"]),
        reports=tree["reports"],
    )


def _pairs(parts: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, str]]:
    return {name: _pair(part) for name, part in parts.items()}


def _pair(part: Mapping[str, str]) -> tuple[str, str]:
    """What train has, and what it has not; a closed class has nothing of the latter."""
    return part["seen"], part.get("unseen", "")
