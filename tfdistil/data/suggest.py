"""A first recipe line for a file: format and columns as far as its content tells them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tfdistil.data.readers import choices, guess_format
from tfdistil.data.readers.files import check_text
from tfdistil.data.readers.json_items import first_object, is_array
from tfdistil.data.readers.jsonl_spans import spans_field
from tfdistil.data.readers.jsonl_words import tags_field, words_field
from tfdistil.data.readers.tags import is_tag
from tfdistil.data.schemes import scheme_of
from tfdistil.data.source import Source
from tfdistil.errors import DataError
from tfdistil.printable import shown

_ROWS = 2000
_ID = re.compile(r"\d+(?:[-.]\d+)?")
# Names that columns often have.
TEXT = (
    *("text", "sentence", "utterance", "query", "comment", "review", "message", "content", "tweet"),
    *("premise", "sentence1", "question1", "text1", "text_a", "question"),
)
SECOND = ("second", "hypothesis", "sentence2", "question2", "text2", "text_b", "answer")
LABEL = (
    *("label", "intent", "class", "category", "sentiment", "gold_label"),
    *("polarity", "stars", "rating", "is_duplicate"),
)


def suggest(path: str | Path, labelled: bool = True) -> Source:
    """The source a user most likely means; only what differs from the defaults is set.

    Looks at the first rows, of tags at all: names may be rare, or begin late. What it suggests is
    still checked by `load`.

    Args:
        path: a file, or a folder of a format that is one.
        labelled: whether labels have to be there; without them text is all that is asked for.

    Raises:
        DataError: no such file, an empty one, one in UTF-16, or a format or columns that cannot be
            told; says what to set.
    """
    path = Path(path)
    if not path.is_dir():
        check_text(path)
    format = guess_format(path)
    if format is None:
        what = "the files in it" if path.is_dir() else "the name and the first lines"
        raise DataError(f"cannot tell the format from {what}; known: {choices()}", path)
    find = _FINDERS.get(format)
    if find is None:
        return Source(path, format)
    lines = _lines(path, None if format == "conll" else _ROWS)
    return Source(path, format, **find(path, lines, labelled))


def _lines(path: Path, most: int | None) -> list[str]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        lines = (line.rstrip("\r\n") for line in islice(file, most))
        return [line for line in lines if line.strip()]


def _conll(path: Path, lines: Sequence[str], labelled: bool) -> dict[str, Any]:
    comments = [line for line in lines if line.startswith("# ")]
    separator = "\t" if any("\t" in line for line in lines) else None
    rows = [line.split(separator) for line in lines if not line.startswith("# ")]
    if not rows:
        raise DataError("comments alone, and no row with a word", path)
    filled = [
        max((at for at, cell in enumerate(row, 1) if cell.strip()), default=1) for row in rows
    ]
    width = sorted(filled)[len(rows) // 10]  # what `_most` rows have
    word = int(width > 1 and _most(_ID.fullmatch(row[0]) for row in rows))
    # Where chunks and entities have a column each, entities are the last.
    tag = max((at for at in range(word + 1, width) if _scheme(rows, at)), default=None)
    if tag is None and width == 2 and _scheme(rows, 0):  # each word's tag is in front of it
        word, tag = 1, 0
    found: dict[str, Any] = {}
    options: dict[str, Any] = {"word": word} if word else {}
    if tag is None and (path.suffix.lower() == ".conllu" or not labelled):
        options["tag"] = None
    elif tag is None:
        without = next((row for row in rows if not is_tag(row[-1], "iobes")), rows[0])
        if (first := next((at for at in range(width) if _scheme(rows, at)), None)) is not None:
            raise DataError(
                f"column {first} has tags and is in front of the words; set `word` and `tag` in a "
                f"recipe to the columns, counted from 0, that have them; a row is {shown(without)}",
                path,
            )
        raise DataError(
            "no column has spans in IOB2 or IOBES tags, such as B-PER: correct the file, or set "
            "`tag` in a recipe to the column that does, or to null for text without tags; labels "
            "of words, such as parts of speech, need `scheme: words` there, for file and task; a "
            f"row is {shown(without)}",
            path,
        )
    else:
        if any(len(row) != tag + 1 for row in rows):
            options["tag"] = tag
        if (scheme := _scheme(rows, tag)) != "iob2":
            found["scheme"] = scheme
    for key in ("intent", "label"):
        if any(line.startswith(f"# {key} = ") for line in comments):
            options["label_comment"] = key
            break
    return {**found, "options": options}


def _scheme(rows: Sequence[Sequence[str]], at: int) -> str | None:
    """The scheme of a column's tags; None if it does not hold tags, or no span."""
    cells = [row[at] if at < len(row) else "" for row in rows]
    # A file whose names are all single words is IOB2, too.
    scheme = "iobes" if scheme_of(cells) == "iobes" else "iob2"
    stray = ("B-O", "I-O")
    legal = _most(is_tag(cell, scheme) or cell in stray for cell in cells)
    return scheme if legal and any(cell != "O" and is_tag(cell, scheme) for cell in cells) else None


def _most(true: Iterable[object]) -> bool:
    """Whether all are true but for a tenth: a broken line is for `load` to name."""
    counts = Counter(map(bool, true))
    return counts[False] * 9 <= counts[True]


def _table(path: Path, lines: Sequence[str], labelled: bool) -> dict[str, Any]:
    first = lines[0]
    if first.lstrip().startswith("{") or is_array("\n".join(lines[:2])):
        return _by_name(path, list(first_object("\n".join(lines).lstrip()) or {}), labelled)
    separator = "\t" if "\t" in first else "," if "," in first else ";"
    try:
        rows = list(csv.reader(lines, delimiter=separator))
    except csv.Error:
        rows = [line.split(separator) for line in lines]
    names = rows[0]
    if any(_folded(name) in (*TEXT, *LABEL) for name in names):
        return _by_name(path, names, labelled)
    if {len(row) for row in rows} == {2}:
        kinds = [len({row[at] for row in rows}) for at in (0, 1)]
        label = int(kinds[1] <= kinds[0])
        found: dict[str, Any] = {"text": 1 - label, "label": label}
        if _is_header(names, [row[label] for row in rows], label):
            return {option: names[at] for option, at in found.items()}
        return found
    raise DataError(f"set `text` and `label` to columns; the first row is {shown(names)}", path)


def _is_header(first: Sequence[str], labels: Sequence[str], at: int) -> bool:
    """Whether the first row names the columns: two words, and no label of any other row."""
    others = labels[1:]
    is_named = len(first[1 - at].split()) == 1 == len(first[at].split())
    repeat = len(others) > 1 and 2 * len({*others}) <= len(others)
    return is_named and repeat and first[at] not in others


def _folded(name: str) -> str:
    return name.strip().lower()


def _by_name(path: Path, names: Sequence[str], labelled: bool) -> dict[str, Any]:
    own = {_folded(name): name for name in names}
    found = {
        option: next((own[name] for name in known if name in own), None)
        for option, known in (("text", TEXT), ("second", SECOND), ("label", LABEL))
    }
    if found["text"] is None or (labelled and found["label"] is None):
        raise DataError(
            f"set `text` and `label` to two of the columns {shown(list(names))} in a recipe"
            if labelled
            else f"set `text` to one of the columns {shown(list(names))} in a recipe, and `label` "
            "to null",
            path,
        )
    options: dict[str, Any] = {o: n for o, n in found.items() if n is not None and n != o}
    return options if found["label"] is not None else {**options, "label": None}


def _top(_path: Path, lines: Sequence[str], _labelled: bool) -> dict[str, Any]:
    last = lines[-1].split("\t")
    column = max((at for at, cell in enumerate(last) if cell.startswith("[IN:")), default=0)
    names = lines[0].split("\t")
    return {"parse": column if "[IN:" in lines[0] else names[min(column, len(names) - 1)]}


def _spans(_path: Path, lines: Sequence[str], _labelled: bool) -> dict[str, Any]:
    field = spans_field(first_object("\n".join(lines).lstrip()) or {})
    return {} if field in (None, "entities", "spans") else {"spans": field}


def _words(path: Path, lines: Sequence[str], _labelled: bool) -> dict[str, Any]:
    row = first_object("\n".join(lines).lstrip()) or {}
    words, tags = words_field(row), tags_field(row)
    found = {} if words in (None, "words") else {"words": words}
    if tags not in (None, "tags"):
        found["tags"] = tags
    if tags is not None and any(type(tag) is int for tag in row[tags]):
        raise DataError(
            f"the tags in {tags!r} are numbers; set `options` to {{words: {words}, tags: {tags}, "
            "names: [O, B-PER, I-PER, ...]} in a recipe, with what they are called, from 0 on",
            path,
        )
    label = next((name for name in LABEL if isinstance(row.get(name), str)), None)
    return found if label in (None, "label") else {**found, "label": label}


def _options(find: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """What it finds are options of the format."""
    return lambda *given: {"options": find(*given)}


_FINDERS: dict[str, Callable[[Path, Sequence[str], bool], dict[str, Any]]] = {
    "conll": _conll,
    "jsonl_spans": _options(_spans),
    "jsonl_words": _options(_words),
    "table": _options(_table),
    "top": _options(_top),
}
"""By format, what tells the fields of its source."""
