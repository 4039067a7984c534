"""YAML that anybody may have written: measured before anything is built of it.

A few hundred bytes of YAML can name a document of billions of parts, by aliases within aliases; a
document can nest deeper than the loader's stack, hold characters that no file can be written with,
or ask by a tag for other things than plain data. All that can be told from the parser's events, one
after the other, without unfolding anything.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    NodeEvent,
    ScalarEvent,
)
from ruamel.yaml.reader import ReaderError

from tfdistil.errors import RecipeError
from tfdistil.files import check_regular

MOST_BYTES = 1 << 18
MOST_PARTS = 20_000
"""Mappings, lists and plain values, those that aliases repeat counted each time."""
MOST_LEVELS = 50

_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class BadYaml(ValueError):
    """What is wrong with a text, and on which line where that is known."""

    def __init__(self, why: str, line: int | None = None):
        super().__init__(why)
        self.line = line


def load_file(path: str | Path) -> Any:
    """The YAML of a file, with line numbers; aliases are shared parts.

    Raises:
        RecipeError: no regular file, more than `MOST_BYTES`, no UTF-8, or what `load_text` refuses.
    """
    try:
        check_regular(Path(path))
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RecipeError(f"{path}: cannot be read ({reason})") from None
    if len(data) > MOST_BYTES:
        raise RecipeError(f"{path}: more than {MOST_BYTES:,} bytes, which is no recipe")
    try:
        text = data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        return load_text(text, YAML())
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: not UTF-8 (byte {error.start})") from None
    except BadYaml as error:
        where = path if error.line is None else f"{path}:{error.line}"
        raise RecipeError(f"{where}: {error}") from None


def load_text(text: str, yaml: YAML) -> Any:
    """YAML to plain data.

    Args:
        text: the YAML.
        yaml: the loader.

    Raises:
        BadYaml: broken YAML, or what `measure` refuses.
    """
    try:
        measure(text)
        return yaml.load(text)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadYaml(f"not valid YAML: the character {chr(error.character)!r}", line) from None
    except MarkedYAMLError as error:
        found = error.problem_mark.line + 1 if error.problem_mark else None
        raise BadYaml(f"not valid YAML: {error.problem}", found) from None
    except BadYaml:
        raise
    except (YAMLError, ValueError, ArithmeticError) as error:
        # Dates that are none, numbers of thousands of digits, escapes beyond Unicode.
        raise BadYaml(f"not valid YAML: {error}") from None


def measure(text: str) -> None:
    """Read YAML without building anything of it.

    Raises:
        BadYaml: more than `MOST_PARTS` or `MOST_LEVELS`, an alias within what it stands for,
            a tag, another version of YAML than 1.2, or text with control characters or half a
            surrogate pair.
        YAMLError: broken YAML.
    """
    parts = 0
    sizes: dict[str, int] = {}
    unfinished: list[tuple[str | None, int]] = []

    def refuse(event: Any, why: str) -> BadYaml:
        return BadYaml(why, event.start_mark.line + 1)

    for event in YAML(typ="safe", pure=True).parse(text):
        if isinstance(event, DocumentStartEvent) and event.version not in (None, (1, 2)):
            raise refuse(event, "a recipe is YAML 1.2; remove the line that begins with %YAML")
        if isinstance(event, AliasEvent):
            if any(event.anchor == anchor for anchor, _ in unfinished):
                raise refuse(event, f"the alias *{event.anchor} stands within what it stands for")
            parts += sizes.get(event.anchor, 1)  # the loader names an alias of nothing
        elif isinstance(event, NodeEvent):
            if getattr(event, "tag", None) is not None:  # the library's types do not know it
                raise refuse(event, "tags (!) have no meaning here; quote what is text")
            if event.anchor in sizes or any(event.anchor == a for a, _ in unfinished if a):
                raise refuse(event, f"the anchor &{event.anchor} is there twice")
            if isinstance(event, ScalarEvent):
                if (character := _UNWRITABLE.search(event.value)) is not None:
                    raise refuse(event, f"text with the character {character[0]!r}")
                if event.anchor is not None:
                    sizes[event.anchor] = 1
            parts += 1
        if isinstance(event, CollectionStartEvent):
            unfinished.append((event.anchor, parts - 1))
            if len(unfinished) > MOST_LEVELS:
                raise refuse(event, f"more than {MOST_LEVELS} levels of mappings and lists")
        elif isinstance(event, CollectionEndEvent):
            anchor, before = unfinished.pop()
            if anchor is not None:
                sizes[anchor] = parts - before
        if parts > MOST_PARTS:
            raise refuse(event, f"more than {MOST_PARTS:,} parts, aliases unfolded")
