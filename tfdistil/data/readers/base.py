"""What all readers share: the result, the state of one reading, and the entry of the registry."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tfdistil.data.example import Example
from tfdistil.data.readers import files
from tfdistil.data.readers.tags import find_faults, repair_iob2
from tfdistil.data.schemes import Scheme, to_iob2
from tfdistil.errors import DataError
from tfdistil.options import wrong_option
from tfdistil.printable import shortened

Split = Callable[[str], "list[tuple[str, int, int]]"]
"""A text to its words with their start and end in code points."""

LONGEST_PROBLEM = 600
"""Characters; a thousand of them may be listed."""

_WORD = re.compile(r"\S+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def split_whitespace(text: str) -> list[tuple[str, int, int]]:
    """The default splitter: words are what stands between white space."""
    return [(match[0], match.start(), match.end()) for match in _WORD.finditer(text)]


def absent(row: Mapping[str, Any], name: str) -> str:
    """What to say of a row that has not got a field, or has null in it."""
    if name in row:
        return f"field {name!r} is null"
    return f"no field {name!r}; fields of this row: {', '.join(map(repr, row)) or 'none'}"


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What came out of one or more files.

    Attributes:
        examples: the examples in file order.
        counts: what was changed or left out on the way, by name (``repaired_tags``, ...);
            only what happened at least once.
        problems: the broken lines; empty unless they were collected instead of raised.
        files: every file that was read, in order.
    """

    examples: tuple[Example, ...]
    counts: dict[str, int] = field(default_factory=dict)
    problems: tuple[DataError, ...] = ()
    files: tuple[Path, ...] = ()


class Reading:
    """One pass over one file: what a format's reader gets to see of the caller's wishes.

    Args:
        path: the file or folder.
        language: BCP 47 code of all examples; None leaves it to the rows, then ``und``.
        split: splits texts that come without words.
        repair: ``iob2`` to apply `repair_iob2` to tags.
        scheme: of the tags in the file, see `tfdistil.data.schemes`.
        collect: keep problems instead of raising the first one.
        max_problems: how many problems are kept; the others are only counted.

    Raises:
        DataError: a repair where nothing can be repaired.
    """

    def __init__(
        self,
        path: Path,
        *,
        language: str | None = None,
        split: Split = split_whitespace,
        repair: Literal["iob2"] | None = None,
        scheme: Scheme = "iob2",
        collect: bool = False,
        max_problems: int = 1000,
    ):
        if scheme == "words" and repair is not None:
            raise DataError(
                f"repair: {repair} is for spans of several words, of which scheme: words has none; "
                "leave one of the two out",
                path,
            )
        self.path = path
        self.language = language
        self.split = split
        self.repair = repair
        self.scheme = scheme
        self.collect = collect
        self.max_problems = max_problems
        self.counts: Counter[str] = Counter()
        self.problems: list[DataError] = []
        self.files: list[Path] = []

    def problem(self, message: str, line: int | None = None, path: Path | None = None) -> None:
        """Report a broken line: raises, or notes it so that the reader can go on after it.

        Raises:
            DataError: unless problems are collected.
        """
        error = DataError(shortened(message, LONGEST_PROBLEM), path or self.path, line)
        if not self.collect:
            raise error
        if len(self.problems) < self.max_problems:
            self.problems.append(error)
        else:
            self.counts["problems_not_listed"] += 1

    def text(self, path: Path | None = None) -> str:
        """The whole file; see `files.read_text`."""
        self.files.append(path or self.path)
        return files.read_text(self.files[-1], self.problem)

    def lines(self, path: Path | None = None) -> list[str]:
        """The file's lines; see `files.read_lines`."""
        self.files.append(path or self.path)
        return files.read_lines(self.files[-1], self.problem)

    def each_line(self) -> Iterator[str]:
        """The file's lines, read as they are asked for; see `files.each_line`."""
        self.files.append(self.path)
        return files.each_line(self.path, self.problem)

    def source(self, line: int) -> str:
        """``path:line`` for `Example.source`."""
        return f"{self.path}:{line}"

    def language_of(self, row: str | None = None) -> str:
        """The caller's language, else the row's own, else ``und``."""
        return self.language or row or "und"

    def words(self, text: str) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
        """Words and offsets of a text."""
        words, starts, ends = tuple(zip(*self.split(text), strict=True)) or ((), (), ())
        return words, tuple(zip(starts, ends, strict=True))

    def tag(self, cell: str) -> str:
        """What a file says of a word as a tag: in the scheme ``words`` it is a type alone."""
        return f"B-{cell}" if self.scheme == "words" and cell != "O" else cell

    def tags(
        self, tags: Sequence[str], lines: Sequence[int] | int, path: Path | None = None
    ) -> tuple[str, ...] | None:
        """Tags of the file's scheme in strict IOB2, after the repair if one was asked for.

        Args:
            tags: one tag per word.
            lines: the line of each tag, or of all of them.
            path: the file they are in, where it is not the reading's own.

        Returns:
            The tags, or None if problems were noted, one for each break.
        """
        scheme: str = self.scheme
        if self.repair is not None:
            tags, repaired = repair_iob2(tags if scheme == "iob2" else to_iob2(tags))
            scheme = "iob2"
            if repaired:
                self.counts["repaired_tags"] += repaired
        legal = True
        for index, message in find_faults(tags, scheme):
            legal = False
            line = lines if isinstance(lines, int) else lines[index]
            self.problem(f"{message} (word {index + 1} of the sentence)", line, path)
        if not legal:
            return None
        return tuple(tags if scheme == "iob2" else to_iob2(tags))

    def string(self, row: dict[str, Any], name: str, line: int) -> str | None:
        """A text field of a row, or None if a problem was noted (missing, or no valid text)."""
        value = row.get(name)
        if value is None:
            self.problem(absent(row, name), line)
        elif not isinstance(value, str):
            self.problem(f"field {name!r} is {type(value).__name__}, expected a string", line)
        elif not value.isascii() and _SURROGATE.search(value):
            self.problem(f"field {name!r} holds half a surrogate pair, which is no text", line)
        else:
            return value
        return None


@dataclass(frozen=True, slots=True)
class Reader:
    """An entry of the registry.

    Attributes:
        name: the word for ``format:``.
        summary: one line for messages and docs.
        function: ``function(reading, **options)`` yields examples; its keyword-only parameters are
            the format's options.
    """

    name: str
    summary: str
    function: Callable[..., Iterator[Example]]

    def options(self) -> dict[str, Any]:
        """Option name to default."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}

    def check_options(self, options: dict[str, Any], path: Path) -> None:
        """Names and types of options as they come from a recipe.

        Raises:
            DataError: an option the format does not have, or of the wrong type.
        """
        known = self.options()
        for name in options:
            if name not in known:
                have = ", ".join(known) or "none"
                raise DataError(
                    f"format {self.name!r} has no option {name!r}; its options: {have}", path
                )
        if (wrong := wrong_option(self.function, options)) is not None:
            raise DataError(f"format {self.name!r}: {wrong}", path)
