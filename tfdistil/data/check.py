"""What to know of the data before a training: counts, lengths, overlaps, every broken line."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from tfdistil.data.example import Example
from tfdistil.data.readers import ReadResult
from tfdistil.data.splits import overlap, sentence_key
from tfdistil.printable import one_line, shortened

Tokenize = Callable[[str], Sequence[Any]]
SAMPLE = 160
"""Characters of a text that is shown."""
NOTED = 0.01
"""The least share of words or pairs that is worth a note."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Words per text (both texts of a pair)."""

    minimum: int
    median: int
    p95: int
    maximum: int


@dataclass(frozen=True, slots=True)
class SplitReport:
    """One split in numbers.

    Attributes:
        name: ``train``, ``dev``, ``test``, ``transfer`` or ``corpus``.
        examples: number of examples.
        words: number of words.
        lengths: words per text.
        spans: spans per type, most frequent first.
        labels: examples per intent or class, most frequent first.
        languages: examples per language, most frequent first.
        duplicates: examples whose sentence occurred before in the same split; None: not counted.
        conflicts: duplicates whose tags or label differ from the first occurrence.
        fertility: sub-words per word, or None without a tokenizer.
        counts: what the readers repaired or left out.
        unknown: share of the words with a part that the tokenizer does not know, or None.
        cut: share of the pairs that are longer than a window, or None; single texts are not cut.
        sample: a text as it was read, one with a span where there is one.
    """

    name: str
    examples: int
    words: int
    lengths: Lengths
    spans: dict[str, int]
    labels: dict[str, int]
    languages: dict[str, int]
    duplicates: int | None
    conflicts: int
    fertility: float | None
    counts: dict[str, int]
    unknown: float | None = None
    cut: float | None = None
    sample: str = ""


@dataclass(frozen=True, slots=True)
class DataReport:
    """The splits, what they have in common, and what is broken.

    Attributes:
        splits: the splits that were given.
        unseen: split name to span types and labels that do not occur in train.
        unseen_is_error: whether they are an error rather than so many misses.
        overlaps: ``(split, other)`` to the number of examples of ``split`` whose sentence occurs
            in ``other``, where there are any.
        problems: every broken line.
        few: what to say of a dev set that is too small to choose weights by, or of a part of a
            corpus that is empty.
        unscored: what to say of labels that train alone has.
        drawn: what to say of the transfer sentences that a run would draw of each file.
        cut: what a run would make of train alone; None: nothing.
    """

    splits: tuple[SplitReport, ...]
    unseen: dict[str, tuple[str, ...]]
    overlaps: dict[tuple[str, str], int]
    problems: tuple[str, ...]
    unseen_is_error: bool = False
    few: str | None = None
    unscored: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    cut: str | None = None

    @property
    def ok(self) -> bool:
        """Whether no line is broken, and no label is an error because train has not got it."""
        return not self.problems and not (self.unseen and self.unseen_is_error)

    def to_text(self, max_labels: int = 40) -> str:
        """Plain text tables; each lists at most ``max_labels`` labels."""
        blocks = [_overview(self.splits)]
        for title, attribute in (
            ("span type", "spans"),
            ("label", "labels"),
            ("language", "languages"),
        ):
            table = _frequencies(title, attribute, self.splits, max_labels)
            if table:
                blocks.append(table)
        if samples := [f"  {split.name}: {split.sample}" for split in self.splits if split.sample]:
            blocks.append("a text of each, as it was read\n" + "\n".join(samples))
        notes = [*filter(None, [self.cut]), *self.drawn]
        for split in self.splits:
            notes += [f"{split.name}: {name} {n}" for name, n in split.counts.items()]
            if split.conflicts:
                notes.append(f"{split.name}: {split.conflicts} duplicates have other labels")
            if split.unknown is not None and split.unknown >= NOTED:
                notes.append(
                    f"{split.name}: {100 * split.unknown:.0f} % of the words have a part that the "
                    "teacher's tokenizer does not know; it cannot tell such words apart"
                )
            if split.cut is not None and split.cut >= NOTED:
                notes.append(
                    f"{split.name}: {100 * split.cut:.0f} % of the pairs are longer than the "
                    "teacher's max_length and lose their last words"
                )
        for name, labels in self.unseen.items():
            means = "an error" if self.unseen_is_error else "a miss in every score"
            notes.append(f"{name}: not in train, each is {means}: {', '.join(labels)}")
        for (name, other), count in self.overlaps.items():
            size = next(s.examples for s in self.splits if s.name == name)
            share = 100 * count / size
            occur = "sentence occurs" if count == 1 else "sentences occur"
            notes.append(f"{name}: {count} {occur} in {other} too ({share:.1f} %)")
        if notes:
            blocks.append("notes\n" + "\n".join(f"  {note}" for note in notes))
        warnings = [*self.unscored, *([] if self.few is None else [self.few])]
        blocks += [f"warning: {warning}" for warning in warnings]
        if self.problems:
            lines = "\n".join(f"  {problem}" for problem in self.problems)
            blocks.append(f"broken lines: {len(self.problems)}\n{lines}")
        else:
            blocks.append("no broken lines")
        return "\n\n".join(blocks) + "\n"


def check(
    train: ReadResult,
    dev: ReadResult | None = None,
    test: ReadResult | None = None,
    transfer: ReadResult | None = None,
    tokenize: Tokenize | None = None,
    *,
    unseen_is_error: bool = False,
    unknown: Any = None,
    longest: int | None = None,
) -> DataReport:
    """Look over the splits.

    Args:
        train: what `load` gave for each split, best with ``errors="collect"``.
        dev: None where there is none, as for the next two.
        test: the test split.
        transfer: the unlabelled text.
        tokenize: a word to its sub-words, for fertility.
        unseen_is_error: whether dev and test may have no labels that train has not.
        unknown: the sub-word that stands for what the tokenizer does not know; None: there is none.
        longest: sub-words of a window, special ones included; None: pairs are not measured.
    """
    given = [
        (name, result)
        for name, result in (
            ("train", train),
            ("dev", dev),
            ("test", test),
            ("transfer", transfer),
        )
        if result is not None
    ]
    pieces = _Pieces(tokenize, unknown, longest) if tokenize is not None else None
    splits = tuple(_split(name, result, pieces) for name, result in given)
    unseen = {}
    for split in splits[1:]:
        new = {*(split.spans.keys() - splits[0].spans), *(split.labels.keys() - splits[0].labels)}
        if new and split.name != "transfer":
            unseen[split.name] = tuple(sorted(new))
    overlaps = {}
    for index, (name, result) in enumerate(given):
        for other, earlier in given[:index]:
            count = len(overlap(earlier.examples, result.examples))
            if count:
                overlaps[name, other] = count
    problems = tuple(str(problem) for _, result in given for problem in result.problems)
    return DataReport(splits, unseen, overlaps, problems, unseen_is_error)


class _Pieces:
    """Sub-words per word, each distinct word tokenized once."""

    def __init__(self, tokenize: Tokenize, unknown: Any = None, longest: int | None = None):
        self.tokenize, self.unknown, self.longest = tokenize, unknown, longest
        self.known: dict[str, tuple[int, bool]] = {}

    def of(self, word: str) -> tuple[int, bool]:
        """How many sub-words a word has, and whether one of them is the unknown one."""
        if word not in self.known:
            pieces = self.tokenize(word)
            self.known[word] = len(pieces), self.unknown is not None and self.unknown in pieces
        return self.known[word]

    def fertility(self, words: Counter[str]) -> float | None:
        total = sum(count * self.of(word)[0] for word, count in words.items())
        return total / words.total() if words else None

    def unknown_share(self, words: Counter[str]) -> float | None:
        if self.unknown is None or not words:
            return None
        return sum(count * self.of(word)[1] for word, count in words.items()) / words.total()

    def cut_share(self, examples: Sequence[Example]) -> float | None:
        """Of pairs, in windows with a sub-word at each end and one between the texts."""
        pairs = [e for e in examples if e.second is not None]
        if self.longest is None or not pairs:
            return None
        sizes = [sum(self.of(word)[0] for word in (*e.words, *(e.second or ()))) for e in pairs]
        return sum(size + 3 > self.longest for size in sizes) / len(pairs)


def count_text(
    name: str, examples: Iterable[Example], tokenize: Tokenize | None = None
) -> SplitReport:
    """Text of any size in numbers, read once and not kept; duplicates are not looked for.

    Args:
        name: what the text is called.
        examples: its sentences.
        tokenize: as of `check`.
    """
    languages: Counter[str] = Counter()
    sizes: Counter[int] = Counter()
    words: Counter[str] = Counter()
    for example in examples:
        languages[example.language] += 1
        sizes[len(example.words)] += 1
        if tokenize is not None:
            words.update(example.words)
    return SplitReport(
        name=name,
        examples=sizes.total(),
        words=sum(size * count for size, count in sizes.items()),
        lengths=_lengths(sizes),
        spans={},
        labels={},
        languages=_ranked(languages),
        duplicates=None,
        conflicts=0,
        fertility=None if tokenize is None else _Pieces(tokenize).fertility(words),
        counts={},
    )


def _split(name: str, result: ReadResult, pieces: _Pieces | None) -> SplitReport:
    examples = result.examples
    words = Counter(word for e in examples for word in (*e.words, *(e.second or ())))
    first: dict[tuple[str, str], Example] = {}
    duplicates = conflicts = 0
    for example in examples:
        seen = first.setdefault(sentence_key(example), example)
        if seen is not example:
            duplicates += 1
            conflicts += (seen.tags, seen.label) != (example.tags, example.label)
    return SplitReport(
        name=name,
        examples=len(examples),
        words=words.total(),
        lengths=_lengths(Counter(len(e.words) + len(e.second or ()) for e in examples)),
        spans=_ranked(tag[2:] for e in examples for tag in e.tags or () if tag[0] == "B"),
        labels=_ranked(e.label for e in examples if e.label is not None),
        languages=_ranked(e.language for e in examples),
        duplicates=duplicates,
        conflicts=conflicts,
        fertility=None if pieces is None else pieces.fertility(words),
        counts=result.counts,
        unknown=None if pieces is None else pieces.unknown_share(words),
        cut=None if pieces is None else pieces.cut_share(examples),
        sample=_sample(examples),
    )


def _sample(examples: Sequence[Example]) -> str:
    with_span = (e for e in examples if any(tag != "O" for tag in e.tags or ()))
    example = next(with_span, next(iter(examples), None))
    if example is None:
        return ""
    tags = example.tags or ("O",) * len(example.words)
    words = zip(example.words, tags, strict=True)
    shown = [" ".join(word if tag == "O" else f"{word}/{tag}" for word, tag in words)]
    shown += [] if example.second is None else ["|", " ".join(example.second)]
    shown = [shortened(part, SAMPLE) for part in shown]
    return one_line(" ".join([*shown, *([] if example.label is None else ["→", example.label])]))


def _ranked(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def _lengths(sizes: Counter[int]) -> Lengths:
    """Nearest-rank percentiles of how often each size occurs; 0 of none."""
    ordered = sorted(sizes)
    below = list(accumulate(sizes[size] for size in ordered))
    ranks = (max(math.ceil(percent / 100 * sizes.total()), 1) for percent in (0, 50, 95, 100))
    return Lengths(*(ordered[bisect_left(below, rank)] if ordered else 0 for rank in ranks))


def _overview(splits: Sequence[SplitReport]) -> str:
    header = ["split", "texts", "words", "min", "median", "p95", "max", "duplicates"]
    fertility = any(split.fertility is not None for split in splits)
    rows = []
    for split in splits:
        lengths = split.lengths
        numbers = (split.examples, split.words, lengths.minimum, lengths.median, lengths.p95)
        duplicates = "-" if split.duplicates is None else split.duplicates
        row = [split.name, *map(str, (*numbers, lengths.maximum, duplicates))]
        if fertility:
            row.append("-" if split.fertility is None else f"{split.fertility:.2f}")
        rows.append(row)
    return _table([*header, "sub-words/word"] if fertility else header, rows)


def _frequencies(title: str, attribute: str, splits: Sequence[SplitReport], max_labels: int) -> str:
    columns = [getattr(split, attribute) for split in splits]
    if not any(columns):
        return ""
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [
        [name, *(str(column.get(name, 0)) for column in columns)] for name in names[:max_labels]
    ]
    if len(names) > max_labels:
        rest = [str(sum(column.get(n, 0) for n in names[max_labels:])) for column in columns]
        rows.append([f"{len(names) - max_labels} more", *rest])
    return _table([title, *(split.name for split in splits)], rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """First column left-aligned, the numbers right-aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, ["-" * width for width in widths], *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
