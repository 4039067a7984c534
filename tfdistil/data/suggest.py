"""A first recipe line for a file: format and columns as far as its content tells them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tfdistil.data.readers import guess_format
from tfdistil.data.readers.files import check_readable
from tfdistil.data.readers.tags import is_tag
from tfdistil.data.source import Source
from tfdistil.errors import DataError

_ROWS = 2000
_ID = re.compile(r"\d+(?:[-.]\d+)?")
# Names that columns often have.
TEXT = ("text", "sentence", "utterance", "query", "comment", "premise", "sentence1", "question1")
SECOND = ("second", "hypothesis", "sentence2", "question2", "text2")
LABEL = ("label", "intent", "class", "category", "sentiment", "gold_label")


def suggest(path: str | Path) -> Source:
    """The source a user most likely means; only what differs from the defaults is set.

    Looks at the first rows. What it suggests is still checked by `load`.

    Raises:
        DataError: no such file, or a format or columns that cannot be told; says what to set.
    """
    path = Path(path)
    if not path.is_dir():
        check_readable(path)
    format = guess_format(path)
    if format is None:
        raise DataError("cannot tell the format from the name and the first lines", path)
    find = _FINDERS.get(format)
    return Source(path, format, options={} if find is None else find(path, _head(path)))


def _head(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        lines = (line.rstrip("\r\n") for _, line in zip(range(_ROWS), file, strict=False))
        return [line for line in lines if line.strip()]


def _conll(path: Path, lines: Sequence[str]) -> dict[str, Any]:
    comments = [line for line in lines if line.startswith("# ")]
    separator = "\t" if any("\t" in line for line in lines) else None
    rows = [line.split(separator) for line in lines if not line.startswith("# ")]
    width = min(map(len, rows), default=0)
    word = int(width > 1 and all(_ID.fullmatch(row[0]) for row in rows))
    columns = range(word + 1, width)
    tag = next((at for at in columns if _holds_tags([row[at] for row in rows])), None)
    options: dict[str, Any] = {}
    if word:
        options["word"] = word
    if tag is None and path.suffix.lower() == ".conllu":
        options["tag"] = None
    elif tag is None:
        raise DataError("no column holds IOB2 tags; set `tag`, or `tag: null` for none", path)
    elif any(len(row) != tag + 1 for row in rows):
        options["tag"] = tag
    for key in ("intent", "label"):
        if any(line.startswith(f"# {key} = ") for line in comments):
            options["label_comment"] = key
            break
    return options


def _holds_tags(cells: Sequence[str]) -> bool:
    stray = ("B-O", "I-O")
    legal = all(is_tag(cell) or cell in stray for cell in cells)
    return legal and any(cell.startswith("B-") for cell in cells)


def _table(path: Path, lines: Sequence[str]) -> dict[str, Any]:
    first = lines[0]
    if first.lstrip().startswith("{"):
        try:
            row = json.loads(first)
        except (ValueError, RecursionError):
            row = {}
        return _by_name(path, list(row) if isinstance(row, dict) else [])
    separator = "\t" if "\t" in first else "," if "," in first else ";"
    try:
        rows = list(csv.reader(lines, delimiter=separator))
    except csv.Error:
        rows = [line.split(separator) for line in lines]
    names = rows[0]
    if any(name in (*TEXT, *LABEL) for name in names):
        return _by_name(path, names)
    if {len(row) for row in rows} == {2}:
        kinds = [len({row[at] for row in rows}) for at in (0, 1)]
        label = int(kinds[1] <= kinds[0])
        return {"text": 1 - label, "label": label}
    raise DataError(f"set `text` and `label` to columns; the first row is {names}", path)


def _by_name(path: Path, names: Sequence[str]) -> dict[str, Any]:
    found = {
        option: next((name for name in known if name in names), None)
        for option, known in (("text", TEXT), ("second", SECOND), ("label", LABEL))
    }
    if found["text"] is None or found["label"] is None:
        raise DataError(f"set `text` and `label` to two of the columns {list(names)}", path)
    return {o: name for o, name in found.items() if name is not None and name != o}


def _top(_path: Path, lines: Sequence[str]) -> dict[str, Any]:
    last = lines[-1].split("\t")
    column = max((at for at, cell in enumerate(last) if cell.startswith("[IN:")), default=0)
    names = lines[0].split("\t")
    return {"parse": column if "[IN:" in lines[0] else names[min(column, len(names) - 1)]}


_FINDERS: dict[str, Callable[[Path, Sequence[str]], dict[str, Any]]] = {
    "conll": _conll,
    "table": _table,
    "top": _top,
}
