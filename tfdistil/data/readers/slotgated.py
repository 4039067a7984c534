"""SlotGated: a folder with parallel files of words, tags and intents."""

from __future__ import annotations

from collections.abc import Iterator

from tfdistil.data.example import Example
from tfdistil.data.readers.base import Reading
from tfdistil.errors import DataError


def read_slotgated(
    reading: Reading, *, words: str = "seq.in", tags: str = "seq.out", label: str | None = "label"
) -> Iterator[Example]:
    """Line n of the three files belongs together; words and tags are separated by white space.

    Args:
        reading: the folder.
        words: the file of words.
        tags: the file of IOB2 tags.
        label: the file of intents, or None.
    """
    if not reading.path.is_dir():
        raise DataError(f"expected a folder with {words}, {tags} and {label}", reading.path)
    names = [words, tags] + ([] if label is None else [label])
    paths = [reading.path / name for name in names]
    columns = [reading.lines(path) for path in paths]
    shortest = min(map(len, columns))
    if any(len(column) != shortest for column in columns):
        sizes = ", ".join(f"{n} {len(c)}" for n, c in zip(names, columns, strict=True))
        short = next(p for p, c in zip(paths, columns, strict=True) if len(c) == shortest)
        reading.problem(f"the files differ in length: lines of {sizes}", shortest + 1, short)
    language = reading.language_of()
    for line, row in enumerate(zip(*columns, strict=False), 1):
        row_words, row_tags = tuple(row[0].split()), row[1].split()
        if not row_words:
            reading.problem("no words on this line", line, paths[0])
        elif len(row_words) != len(row_tags):
            message = f"{len(row_tags)} tags for {len(row_words)} words in {words}"
            reading.problem(message, line, paths[1])
        elif label is not None and not row[2].strip():
            reading.problem("no intent on this line", line, paths[2])
        elif (legal := reading.tags(row_tags, line, paths[1])) is not None:
            intent = None if label is None else row[2].strip()
            source = f"{paths[0]}:{line}"
            yield Example(row_words, legal, intent, language=language, source=source)
