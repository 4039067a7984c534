"""Labelled data from memory: `Example`s, a pandas frame or a Hugging Face ``datasets`` split.

Neither library is imported: a frame has ``columns`` and ``to_dict("records")``, a split has
``features``, ``column_names`` and, when it is iterated, rows. All become rows of ``jsonl_words``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading, Split
from tfdistil.data.readers.jsonl_words import Row, examples_of_rows
from tfdistil.data.suggest import LABEL, SECOND, TEXT
from tfdistil.errors import DataError


class Frame(Protocol):
    """What is used of a pandas frame."""

    @property
    def columns(self) -> Any:
        """Names."""

    def to_dict(self, orient: Any) -> Any:
        """Rows, for ``records``."""


class DatasetSplit(Protocol):
    """What is used of a split of Hugging Face ``datasets``."""

    @property
    def features(self) -> Any:
        """Column to its type, which of a class has ``names``."""

    @property
    def column_names(self) -> Any:
        """Names."""

    def __iter__(self) -> Any:
        """Rows."""


Table = Sequence[Example] | Frame | DatasetSplit
Tables = Mapping[str, Table]
"""Set to its data, such as a ``DatasetDict``."""
Columns = Mapping[str, str | None]
"""Field to the column that holds it; None: no column does."""

FIELDS: dict[str, tuple[str, ...]] = {
    "words": ("words", "tokens"),
    "text": TEXT,
    "tags": ("tags", "ner_tags"),
    "label": LABEL,
    "second": SECOND,
    "language": ("language", "lang"),
}
"""Fields and the columns they are found in, the first that is there."""
SETS = ("train", "dev", "test", "transfer")
_ALIASES = {"validation": "dev"}


def rows_of_sets(data: Tables, columns: Columns | None = None) -> dict[str, list[Row]]:
    """The rows of each set.

    Args:
        data: ``train``, ``dev`` (or ``validation``), ``test``, ``transfer``, as many as there are.
        columns: see `rows_of`; transfer has no labels.

    Raises:
        DataError: another name, a set twice, or see `rows_of`.
    """
    if not isinstance(data, Mapping):
        raise DataError(
            f"data is {type(data).__name__}, expected sets by name, such as {{'train': ...}}"
        )
    found: dict[str, list[Row]] = {}
    for given, table in data.items():
        name = _ALIASES.get(given, given)
        if name not in SETS:
            raise DataError(
                f"data has the set {given!r}; there are {', '.join(SETS)}, and validation for dev. "
                "Name what you want of it: data={'train': ..., 'transfer': ...}"
            )
        if name in found:
            raise DataError("data has both 'dev' and 'validation', which are the same set")
        found[name] = rows_of(name, table, columns)
        if name == "transfer":
            found[name] = [_without_labels(row) for row in found[name]]
    return found


def rows_of(name: str, table: Table, columns: Columns | None = None) -> list[Row]:
    """The rows of one set.

    Args:
        name: of the set, for messages.
        table: the data.
        columns: those that are not to be found by `FIELDS`. Numbers of classes become their names
            where a split has them; -1 is no class.

    Raises:
        DataError: no such data or column, neither words nor text, numbers without names, no rows.
    """
    if isinstance(table, Sequence) and all(isinstance(one, Example) for one in table):
        rows = [_row_of_example(example) for example in table]
    elif _is_split(table):
        records = [dict(record) for record in table]
        have = list(table.column_names or (records[0] if records else ()))
        classes = {column: _class_names(of) for column, of in (table.features or {}).items()}
        rows = _rows_of_records(name, records, _places(name, have, columns or {}), classes)
    elif _is_frame(table):
        places = _places(name, list(table.columns), columns or {})
        rows = _rows_of_records(name, table.to_dict("records"), places, {})
    else:
        raise DataError(
            f"{name} is {type(table).__name__}, expected a list of Example, a pandas frame or a "
            "split of Hugging Face datasets"
        )
    if not rows:
        raise DataError(f"{name} has no rows")
    return rows


def read_rows(
    name: str, rows: Iterable[Row], split: Split, language: str | None = None
) -> tuple[Example, ...]:
    """Rows as examples, which are those that the file of the rows would give.

    Args:
        name: of the set, for messages.
        rows: of `rows_of`.
        split: splits texts that come without words.
        language: BCP 47 code of all rows; None: as they say.

    Raises:
        DataError: a row that is none, with its number.
    """
    reading = Reading(Path(name), language=language, split=split)
    lines = rows_to_bytes(rows).decode("utf-8", "surrogatepass").split("\n")[:-1]
    return tuple(examples_of_rows(reading, lines))


def rows_to_bytes(rows: Iterable[Row]) -> bytes:
    """Rows as a file of the format ``jsonl_words``."""
    lines = [json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows]
    return "".join(lines).encode("utf-8", "surrogatepass")  # the reader names the line of one


def _is_split(table: Any) -> TypeGuard[DatasetSplit]:
    return hasattr(table, "features") and hasattr(table, "column_names")


def _is_frame(table: Any) -> TypeGuard[Frame]:
    return hasattr(table, "columns") and hasattr(table, "to_dict")


def _class_names(feature: Any) -> Sequence[str] | None:
    """The names of a class, or of a list of classes."""
    inner = getattr(feature, "feature", feature)
    inner = inner[0] if isinstance(inner, list) else inner
    return getattr(inner, "names", None)


def _row_of_example(example: Example) -> Row:
    fields = ["words", "tags", "label", "second", "language"]
    if example.offsets is not None:
        fields += ["text", "offsets"]  # a text alone says nothing of where the words are
    row = {field: getattr(example, field) for field in fields}
    return {field: value for field, value in row.items() if value is not None}


def _rows_of_records(
    name: str,
    records: Sequence[Mapping[str, Any]],
    places: Mapping[str, str],
    classes: Mapping[str, Sequence[str] | None],
) -> list[Row]:
    rows: list[Row] = []
    for number, record in enumerate(records, 1):
        rows.append({})
        for field, column in places.items():
            value = _plain(record[column])
            if not _is_missing(value):
                where = f"{name}, row {number}, column {column!r}"
                rows[-1][field] = _value(where, field, value, classes.get(column))
    return rows


def _without_labels(row: Row) -> Row:
    return {field: value for field, value in row.items() if field not in ("tags", "label")}


def _places(name: str, have: Sequence[str], chosen: Columns) -> dict[str, str]:
    """Field to column, of those that are there."""
    listed = ", ".join(map(repr, have)) or "none"
    places: dict[str, str] = {}
    for field in chosen:
        if field not in FIELDS:
            raise DataError(f"columns names {field!r}, which is none of {', '.join(FIELDS)}")
    for field, known in FIELDS.items():
        column = chosen.get(field, next((one for one in known if one in have), None))
        if name == "transfer" and field in ("tags", "label"):
            continue
        if column is not None and column not in have:
            raise DataError(f"{name} has no column {column!r}; its columns: {listed}")
        if column is not None:
            places[field] = column
    if not {"words", "text"} & places.keys():
        raise DataError(
            f"{name} has no column of words or text; its columns: {listed}. Name one: "
            "columns={'words': ...} or columns={'text': ...}"
        )
    if "words" in places:
        places.pop("text", None)  # it says nothing of where the words stand in it
    return places


def _plain(value: Any) -> Any:
    """Without NumPy: arrays are lists, their numbers Python's."""
    return value.tolist() if hasattr(value, "tolist") else value


def _is_missing(value: Any) -> bool:
    """None, or one of the values of pandas that are not equal to themselves."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA is neither equal nor unequal
        return True


def _value(where: str, field: str, value: Any, names: Sequence[str] | None) -> Any:
    if field == "label":
        label = _name(where, value, names)
        return label if label is None or isinstance(label, str) else str(label)
    if field not in ("words", "tags"):
        return value
    items = value.split() if isinstance(value, str) else value
    if field == "words" or not isinstance(items, list | tuple):
        return items
    tags = [_name(where, _plain(item), names) for item in items]
    if any(not isinstance(tag, str) for tag in tags):
        raise DataError(
            f"{where} holds {items[:5]}, expected the names of tags; a split of datasets has them "
            "in its features, and the numbers of a frame can be mapped before"
        )
    return tags


def _name(where: str, value: Any, names: Sequence[str] | None) -> Any:
    """The name of a class where it comes as a number; None for -1, which is no class."""
    if names is None or type(value) is not int:
        return value
    if value == -1:
        return None
    if not 0 <= value < len(names):
        raise DataError(f"{where} holds the class {value}; there are {len(names)}")
    return names[value]
