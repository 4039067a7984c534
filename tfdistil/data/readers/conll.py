"""CoNLL columns: one word per line, sentences separated by blank lines.

What a line is, in this order:

1. blank (white space only): the end of a sentence;
2. ``# key = value``: a comment, wherever it stands;
3. ``# `` before a sentence's first word: a comment too, unless the line is a row all the same: it
   has the columns of a row and a well-formed tag in the tag column (``# O`` in a file with spaces);
4. anything else: a row. So ``#``, ``#photography`` and the like are words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Literal

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading
from tfdistil.data.readers.tags import is_tag
from tfdistil.data.schemes import marks
from tfdistil.errors import DataError
from tfdistil.printable import shown

Cells = Callable[[str], "list[str]"]

_COMMENT = re.compile(r"# (?P<key>[^\s=:]\S*?(?: \S+)?)(?: = ?|: ?|=$)(?P<value>.*)")
_ASSIGNMENT = re.compile(r"# [^\s=]+(?: [^\s=]+)? =( |$)")
_UNSPOKEN = re.compile(r"\d+-\d+|\d+\.\d+")
"""First column of CoNLL-U rows that are no words of their own: ``1-2`` and ``1.1``."""


def read_conll(
    reading: Reading,
    *,
    word: int = 0,
    tag: int | None = -1,
    label: int | None = None,
    label_comment: str | None = None,
    separator: Literal["auto", "tab", "space"] = "auto",
    word_pattern: str | None = None,
    empty_words: Literal["error", "skip"] = "error",
) -> Iterator[Example]:
    """One example per block of rows.

    Args:
        reading: the file.
        word: column of the word, from 0; negative counts from the right, in each row anew.
        tag: column of the tag; None for text without tags.
        label: column that repeats the sentence's label in every row.
        label_comment: key of the comment that holds the sentence's label
            (``intent`` for ``# intent = play_music``).
        separator: what parts columns; ``auto`` takes tabs if the first row has one. Runs of
            spaces count as one, each tab counts.
        word_pattern: regular expression with one group, the word within its cell (``(.+)[0-9]``
            for ``word7``); None takes the whole cell.
        empty_words: what to do with rows whose word is empty; ``skip`` counts them.
    """
    if label is not None and label_comment is not None:
        raise DataError("set `label` or `label_comment`, not both", reading.path)
    pattern = None if word_pattern is None else _compile(word_pattern, reading)
    lines = reading.lines()
    tabs = separator == "tab" or (separator == "auto" and _has_tabs(lines))
    cells: Cells = _by_tab if tabs else _by_space
    width = _width(lines, cells)
    block = _Block(reading, word, tag, label, label_comment, pattern, empty_words == "skip")
    found = False
    for number, line in enumerate(lines, 1):
        if not line or line.isspace():
            if (example := block.close()) is not None:
                found = True
                yield example
        elif line[0] == "#" and _is_comment(line, cells, width, tag, reading, block.is_open):
            block.comment(line)
        else:
            block.row(cells(line), number)
    if (example := block.close()) is not None:
        found = True
        yield example
    if not found and not reading.problems:
        reading.problem("no sentence in this file", 1)


class _Block:
    """The rows of one sentence as they come in."""

    def __init__(
        self,
        reading: Reading,
        word: int,
        tag: int | None,
        label: int | None,
        label_comment: str | None,
        pattern: re.Pattern[str] | None,
        skip_empty: bool,
    ):
        self.reading = reading
        self.columns = [(name, at) for name, at in (("word", word), ("tag", tag), ("label", label))]
        self.meetings = _meetings({n: at for n, at in self.columns if at is not None}, reading)
        self.word, self.tag, self.label = word, tag, label
        self.label_comment = label_comment
        self.pattern = pattern
        self.skip_empty = skip_empty
        self.has_ids = word > 0
        self.prefixes = [f"{mark}-" for mark in marks(reading.scheme)]
        self.language = reading.language_of()
        self._clear()

    def _clear(self) -> None:
        self.words: list[str] = []
        self.tags: list[str] = []
        self.lines: list[int] = []
        self.sentence_label: str | None = None
        self.is_open = self.broken = False

    def comment(self, line: str) -> None:
        """Take the label from the comment that is configured for it."""
        if self.label_comment is not None:
            match = _COMMENT.match(line)
            if match and match["key"] == self.label_comment:
                self.sentence_label = match["value"].strip() or None

    def row(self, row: list[str], line: int) -> None:
        """Take in one row, or report what is wrong with it."""
        counts = self.reading.counts
        if self.has_ids and _UNSPOKEN.fullmatch(row[0]):
            counts["multiword_rows_skipped" if "-" in row[0] else "empty_nodes_skipped"] += 1
            return
        if "-DOCSTART-" in (row[0], row[min(self.word, len(row) - 1)]):
            counts["docstart_rows_skipped"] += 1
            return
        self.is_open = True
        try:
            word = row[self.word]
            tag = "O" if self.tag is None else self.reading.tag(row[self.tag])
            label = None if self.label is None else row[self.label]
        except IndexError:
            name, at = next(c for c in self.columns if c[1] is not None and not _within(c[1], row))
            self._fault(f"no column {at} for `{name}`: the row has {len(row)}: {shown(row)}", line)
            return
        if len(row) in self.meetings:
            self._fault(f"{self.meetings[len(row)]}: {shown(row)}", line)
            return
        if self.pattern is not None:
            match = self.pattern.fullmatch(word)
            if match is None:
                message = f"word {word!r} does not match `word_pattern` {self.pattern.pattern!r}"
                self._fault(message, line)
                return
            word = match[1] or ""
        if not word or word.isspace():
            if self.skip_empty:
                counts["empty_words_skipped"] += 1
            else:
                self._fault("the word is empty; `empty_words: skip` leaves such rows out", line)
            return
        if self.tag is not None and tag != "O" and tag[:2] not in self.prefixes:
            known = " or ".join(f"{prefix}type" for prefix in self.prefixes)
            marked = tag[:2] in ("E-", "S-")
            hint = "`scheme: iobes`" if marked else "`scheme: words` if it is the label of one word"
            self._fault(
                f"column {self.tag} holds {tag!r}, which is no {self.reading.scheme.upper()} tag "
                f"(O, {known}); set `tag` to the column that does, or {hint}; the row is "
                f"{shown(row)}",
                line,
            )
            return
        if label is not None:
            if not label or label.isspace():
                self._fault(f"the label in column {self.label} is empty", line)
            elif self.words and label != self.sentence_label:
                message = f"label {label!r} differs from {self.sentence_label!r} of the rows above"
                self._fault(message, line)
            self.sentence_label = label
        self.words.append(word)
        self.tags.append(tag)
        self.lines.append(line)

    def close(self) -> Example | None:
        """The sentence that ends here, if there is one without fault."""
        try:
            if self.broken or not self.words:
                return None
            first = self.lines[0]
            if self.label_comment is not None and self.sentence_label is None:
                message = f"no comment `# {self.label_comment} = ...` before this sentence"
                self.reading.problem(message, first)
                return None
            tags = None
            if self.tag is not None:
                tags = self.reading.tags(self.tags, self.lines)
                if tags is None:
                    return None
            return Example(
                tuple(self.words),
                tags,
                self.sentence_label,
                language=self.language,
                source=self.reading.source(first),
            )
        finally:
            self._clear()

    def _fault(self, message: str, line: int) -> None:
        self.broken = True
        self.reading.problem(message, line)


def _compile(pattern: str, reading: Reading) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise DataError(f"word_pattern {pattern!r}: {error}", reading.path) from None
    if compiled.groups != 1:
        message = f"word_pattern {pattern!r} has {compiled.groups} groups, expected 1"
        raise DataError(message, reading.path)
    return compiled


def _meetings(columns: dict[str, int], reading: Reading) -> dict[int, str]:
    """Lengths of rows in which columns counted from both ends meet, to what is wrong with these.

    A row that lacks its word would otherwise have its tag as the word.
    """
    found = {}
    for (one, left), (other, right) in combinations(columns.items(), 2):
        if left == right:
            raise DataError(f"`{one}` and `{other}` are both column {left}", reading.path)
        if left < 0 <= right or right < 0 <= left:
            hint = "; `tag: null` reads words without tags" if other == "tag" else ""
            found[abs(left - right)] = (
                f"the row lacks a cell: `{one}` (column {left}) and `{other}` (column {right}) "
                f"are the same cell{hint}; the row is"
            )
    return found


def _within(column: int, row: list[str]) -> bool:
    return -len(row) <= column < len(row)


def _by_tab(line: str) -> list[str]:
    return line.split("\t")


def _by_space(line: str) -> list[str]:
    return [cell for cell in line.split(" ") if cell]


def _has_tabs(lines: list[str]) -> bool:
    return "\t" in next((line for line in lines if not _looks_like_comment(line)), "\t")


def _width(lines: list[str], cells: Cells) -> int:
    return len(cells(next((line for line in lines if not _looks_like_comment(line)), "")))


def _looks_like_comment(line: str) -> bool:
    return not line or line.isspace() or line == "#" or line.startswith("# ")


def _is_comment(
    line: str, cells: Cells, width: int, tag: int | None, reading: Reading, within: bool
) -> bool:
    """Rules 2 to 4 of the module for a line that starts with ``#``."""
    if not line.startswith("# ") and line != "#":
        return False
    if _ASSIGNMENT.match(line):
        return True
    if within:
        return False
    row = cells(line)
    holds_tag = (
        tag is not None and _within(tag, row) and is_tag(reading.tag(row[tag]), reading.scheme)
    )
    return not (len(row) == width and holds_tag)
