"""Guess a file's format, or say nothing: a wrong guess costs more than a line in the recipe."""

from __future__ import annotations

import re
from pathlib import Path

from tfdistil.data.readers.json_items import first_object, is_array
from tfdistil.data.readers.jsonl_spans import spans_field
from tfdistil.data.readers.jsonl_words import words_field
from tfdistil.data.readers.tags import is_tag
from tfdistil.data.schemes import scheme_of

_HEAD = 65536
_CLINC = re.compile(r'\s*\{\s*"(?:oos_)?(?:train|val|test)"\s*:\s*\[\s*\[')
_ABSA = re.compile(r"<sentence\s[^<]*>\s*<text>")
_CONLL_SUFFIXES = (".conll", ".conllu", ".iob2", ".iob", ".bio")


def guess_format(path: Path) -> str | None:
    """The registered name of the format, or None where name and content leave doubt."""
    if path.is_dir():
        return "slotgated" if (path / "seq.in").is_file() else None
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).decode("utf-8", "ignore").removeprefix("\ufeff")
    except (OSError, ValueError):
        return None
    lines = [line for line in head.split("\n") if line.strip()][:50]
    if len(head) >= _HEAD // 4 and len(lines) > 1:
        lines = lines[:-1]  # the last one may be cut off
    suffix = path.suffix.lower()
    if not lines:
        return None
    if lines[0].lstrip().startswith("{") or is_array(head):
        return _guess_json(head)
    if _ABSA.search(head):
        return "absa"
    if '{"tokenizations"' in lines[0] and lines[0].count("\t") == 4:
        return "mtod"
    if "[IN:" in lines[-1]:
        return "top"
    if suffix in _CONLL_SUFFIXES or _has_tags(lines):
        return "conll"
    if suffix in (".tsv", ".csv"):
        return "table"
    if suffix == ".txt" and not any("\t" in line for line in lines):
        return "text"
    return None


def _guess_json(head: str) -> str | None:
    if '"rasa_nlu_data"' in head:
        return "rasa"
    if _CLINC.match(head):
        return "clinc"
    row = first_object(head.lstrip())
    if row is None:
        return None
    if spans_field(row) is not None:
        return "jsonl_spans"
    return "table" if words_field(row) is None else "jsonl_words"


def _has_tags(lines: list[str]) -> bool:
    """Whether every row has a word and ends in a tag, or is a tag and a word; some in a span."""
    rows = [line.split() for line in lines if not line.startswith("# ")]
    if not rows or any(len(row) < 2 for row in rows):
        return False
    pairs = {len(row) for row in rows} == {2}
    last, first = [row[-1] for row in rows], [row[0] for row in rows]
    if _are_tags(last):
        return pairs or any(tag != "O" for tag in last)
    return pairs and _are_tags(first) and any(tag != "O" for tag in first)


def _are_tags(cells: list[str]) -> bool:
    scheme = scheme_of(cells)
    return all(is_tag(cell, scheme) for cell in cells)
