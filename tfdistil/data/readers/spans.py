"""Character spans to word tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class CharSpan(NamedTuple):
    """Code points ``start`` (inclusive) to ``end`` (exclusive) of a text carry ``label``."""

    start: int
    end: int
    label: str


class SpanTags(NamedTuple):
    """Result of `tag_words`.

    Attributes:
        tags: one IOB2 tag per word.
        off_borders: spans that start or end inside a word, or on white space.
        without_word: spans that touch no word which is still free; they are lost.
    """

    tags: list[str]
    off_borders: int
    without_word: int


def find_span_fault(spans: Sequence[CharSpan], length: int) -> str | None:
    """Why spans do not fit a text of ``length`` code points or each other, or None."""
    end = 0
    for span in sorted(spans):
        if not 0 <= span.start < span.end <= length:
            return (
                f"span {span.start}:{span.end} ({span.label}) is empty or outside the text, "
                f"which has {length} code points"
            )
        if span.start < end:
            return f"span {span.start}:{span.end} ({span.label}) overlaps the one before it"
        end = span.end
    return None


def tag_words(spans: Sequence[CharSpan], offsets: Sequence[tuple[int, int]]) -> SpanTags:
    """Give each span to the words it touches; a word two spans touch goes to the earlier one.

    Args:
        spans: spans that do not overlap, in any order.
        offsets: start and end of each word, ascending.
    """
    tags = ["O"] * len(offsets)
    if not spans:
        return SpanTags(tags, 0, 0)
    starts = {start for start, _ in offsets}
    ends = {end for _, end in offsets}
    off_borders = without_word = word = 0
    for span in sorted(spans):
        if span.start not in starts or span.end not in ends:
            off_borders += 1
        while word < len(offsets) and offsets[word][1] <= span.start:
            word += 1
        prefix = "B-"
        while word < len(offsets) and offsets[word][0] < span.end:
            tags[word] = prefix + span.label
            prefix = "I-"
            word += 1
        if prefix == "B-":
            without_word += 1
    return SpanTags(tags, off_borders, without_word)
