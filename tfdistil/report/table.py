"""Text in rows and columns, and tables of plain facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfdistil.report import units
from tfdistil.runs.run_metrics import metric_name, set_name


@dataclass(frozen=True)
class Table:
    """Text in rows and columns; the first column names the row.

    Attributes:
        caption: what the table shows.
        head: a name per column, the first one of the row names.
        rows: as many cells per row as there are columns.
        groups: ``(title, columns)`` above the head, or nothing.
        strong: the row that matters most, or None.
        text: columns, by number, that hold text rather than numbers.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()
    strong: int | None = None
    text: tuple[int, ...] = ()

    @property
    def flat_head(self) -> tuple[str, ...]:
        """Column names that need no groups above them."""
        if not self.groups:
            return self.head
        titles = [title for title, columns in self.groups for _ in range(columns)]
        return tuple(f"{t} {h}".strip() for t, h in zip(titles, self.head, strict=True))


def facts_table(caption: str, facts: Mapping[str, Any], names: Sequence[str] = ()) -> Table | None:
    """The plain values of a mapping, those in ``names`` first; None where there are none."""
    order = [n for n in names if n in facts] + [n for n in facts if n not in names]
    rows = [
        (words(name), units.plain(facts[name]))
        for name in order
        if not isinstance(facts[name], Mapping)
    ]
    text = (1,) if any(isinstance(value, str) for value in facts.values()) else ()
    return Table(caption, ("what", "value"), tuple(rows), text=text) if rows else None


def nested_tables(facts: Mapping[str, Any]) -> list[Table]:
    """Mappings inside a mapping, one table each: set to numbers becomes a column per set."""
    tables = []
    for name, inner in facts.items():
        if not isinstance(inner, Mapping) or not inner:
            continue
        if not all(isinstance(values, Mapping) for values in inner.values()):
            table = facts_table(words(name), inner)
            tables += [table] if table else []
            continue
        keys = list(dict.fromkeys(key for values in inner.values() for key in values))
        if not keys:
            continue
        rows = tuple(
            (words(key), *(units.plain(values.get(key)) for values in inner.values()))
            for key in keys
        )
        tables.append(Table(words(name), ("", *map(set_name, inner)), rows))
    return tables


def words(name: Any) -> str:
    """A name of a fact as it is written in tables."""
    return metric_name(str(name))
