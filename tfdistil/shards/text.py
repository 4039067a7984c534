"""The text of a corpus: lines of files in some order, each with its language and its part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from tfdistil.data.example import Example
from tfdistil.data.readers import Split, split_whitespace, stream
from tfdistil.errors import DataError
from tfdistil.files import sha256
from tfdistil.shards.parts import Parts, line_digest


@dataclass(frozen=True)
class TextFile:
    """A file of a corpus.

    Attributes:
        path: what to read.
        format: a key of `READERS`.
        language: of all its lines; None: as its rows say, else ``und``.
        options: of the format.
    """

    path: Path
    format: str | None = "text"
    language: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def examples(self, split: Split, problems: list[DataError] | None = None) -> Iterator[Example]:
        """Its lines in order, see `stream`."""
        return stream(
            self.path,
            self.format,
            language=self.language,
            split=split,
            problems=problems,
            **self.options,
        )


@dataclass(frozen=True)
class Balance:
    """Languages are drawn so that P'(more) = ratio · P'(less), see `sampling_exponent`."""

    more: str
    less: str
    ratio: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a corpus.

    Attributes:
        example: with its words and its language.
        text: as it stands in the file; of a file that has words alone, these with spaces between.
        part: the number of its part; None: it is left out.
    """

    example: Example
    text: str
    part: int | None


@dataclass(frozen=True)
class TextCorpus:
    """Text in files, read whenever it is needed and never kept.

    Attributes:
        files: in order.
        parts: which line is in which part.
        languages: lines in others are left out; None: none is.
        kept_out: `line_digest` of what must not be in it: the sentences of dev and test.
        split: how lines become words, which are counted and compared.
        balance: None: every row once in a pass.
        joined: whether a row may have several lines, see `Packer`.
    """

    files: tuple[TextFile, ...]
    parts: Parts
    languages: tuple[str, ...] | None = None
    kept_out: frozenset[bytes] = frozenset()
    split: Split = split_whitespace
    balance: Balance | None = None
    joined: bool = True

    def keeping_out(self, examples: Iterable[Example]) -> TextCorpus:
        """The same corpus without the lines that are one of these sentences, or one of a pair."""
        texts = ("".join(words) for e in examples for words in e.key() if words)
        return replace(self, kept_out=frozenset(line_digest(t, self.parts.seed) for t in texts))

    def lines(self, problems: list[DataError] | None = None) -> Iterator[Line]:
        """All lines in order, those that are left out among them.

        Args:
            problems: gets what is broken, see `TextFile.examples`; None: it is an error.

        Raises:
            DataError: a file that cannot be read as its format.
        """
        for file in self.files:
            for example in file.examples(self.split, problems):
                text = " ".join(example.words) if example.text is None else example.text
                yield Line(example, text, self._part(text, example.language))

    def _part(self, text: str, language: str) -> int | None:
        if self.languages is not None and language not in self.languages:
            return None
        digest = line_digest(text, self.parts.seed)
        return None if digest in self.kept_out else self.parts.number(digest)

    def key(self, *more: Any) -> str:
        """A digest of all that its rows depend on: content of the files, settings, and ``more``."""
        hashes = [sha256(file.path) for file in self.files]
        how = [[file.format, file.language, dict(file.options)] for file in self.files]
        out = hashlib.sha256(b"".join(sorted(self.kept_out))).hexdigest()
        settings = [hashes, how, asdict(self.parts), self.languages, out, self.joined, *more]
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


class TextPart(Sequence[Example]):
    """The lines of one set of a corpus, as examples: read from the files whenever asked for.

    Args:
        corpus: the text.
        name: ``corpus``, ``corpus.SECTION``, ``corpus_held_out`` or ``corpus_test``.
    """

    def __init__(self, corpus: TextCorpus, name: str):
        self.corpus, self.name = corpus, name
        self.numbers = corpus.parts.numbers(name)

    def __iter__(self) -> Iterator[Example]:
        if self.corpus.parts.is_empty(self.name):
            return  # not found out by reading all of the text
        for line in self.corpus.lines():
            if line.part in self.numbers:
                yield line.example

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return next(islice(self, index, None))
        return list(islice(self, index.start, index.stop, index.step))


def files_in(folder: Path) -> list[Path]:
    """The ``.txt`` files of a folder by name, or the path itself where it is none.

    Raises:
        DataError: a folder without any.
    """
    if not folder.is_dir():
        return [folder]
    found = sorted(path for path in folder.glob("*.txt") if not path.name.startswith("."))
    if not found:
        raise DataError("no .txt file in this folder; name the files one by one", folder)
    return found
