"""Plain unlabelled text: one sentence per line."""

from __future__ import annotations

from collections.abc import Iterator

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading


def read_plain(reading: Reading) -> Iterator[Example]:
    """Every line that is not blank is a sentence."""
    language = reading.language_of()
    for line, text in enumerate(reading.each_line(), 1):
        words, offsets = reading.words(text)
        if words:
            yield Example(
                words, language=language, text=text, offsets=offsets, source=reading.source(line)
            )
        else:
            reading.counts["blank_lines"] += 1
