"""Lines to shards: files of packed rows, each written whole; a new start resumes after the last.

A shard is a folder::

    ids.npy     the pieces of its rows one row after another, uint16 or int32 [pieces]
    index.npy   of each row its length, language, part and number of lines, int32 [rows, 4]
    shard.json  hashes of both, names of the languages, counts

``shards.json`` comes last and lists the shards with their hashes: a corpus is whole or not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.errors import RecipeError
from tfdistil.files import new_folder, read_json, sha256, write_json
from tfdistil.shards.packing import Marks, Packer
from tfdistil.shards.text import Line, TextCorpus
from tfdistil.text.subwords import SubwordFeaturizer

LAYOUT = 1
"""Of the files; those of another one are made again."""
SHARD = 2**26
"""Characters of text in a shard, about a minute of work; few enough files for any system."""
COUNTS = ("lines", "bytes", "words", "pieces", "unknown", "rows")
"""What is counted of each language; pieces are those of its text, without special ones."""
_BATCH = 2**18
"""Characters that the tokenizer gets at once."""


def write_shards(
    corpus: TextCorpus,
    featurizer: SubwordFeaturizer,
    folder: Path,
    progress: Callable[[int], None] = lambda done: None,
    size: int = SHARD,
) -> None:
    """Tokenize a corpus into a folder; shards that are there already are left as they are.

    Lines are tokenized as the tokenizer does with plain text, as the papers' models were, not word
    by word; with WordPiece that is the same. A piece that would be a special one to the model
    becomes the unknown one.

    Args:
        corpus: the text.
        featurizer: its tokenizer, special pieces and ``max_length`` are used.
        folder: for this corpus and this featurizer alone.
        progress: is told how many bytes of text are done.
        size: characters of text in a shard.

    Raises:
        DataError: a file that cannot be read.
        RecipeError: no line at all.
        OSError: no space.
    """
    done, shards, total = 0, [], Counter[tuple[str, str]]()
    for number, numbered in groupby(_numbered(corpus, size), itemgetter(0)):
        shard = folder / f"{number:05}"
        if not shard.exists():
            with new_folder(shard) as partial:
                _write(corpus, featurizer, (line for _, line in numbered), partial)
        facts = read_json(shard / "shard.json")
        shards.append({"name": shard.name, "sha256": sha256(shard / "shard.json")})
        for language, counts in facts["statistics"].items():
            total.update({(language, name): counts[name] for name in COUNTS})
            done += counts["bytes"]
        total["", "left_out"] += facts["left_out"]
        progress(done)
    left_out = total.pop(("", "left_out"), 0)
    if not total:
        raise RecipeError(
            f"data.corpus: no text is left of {len(corpus.files)} files; {left_out:,} lines are "
            "left out because of their language, or because dev or test has them"
        )
    statistics = {
        language: {name: total[language, name] for name in COUNTS}
        for language in sorted({language for language, _ in total})
    }
    write_json(
        folder / "shards.json",
        {
            "layout": LAYOUT,
            "vocabulary": featurizer.tokenizer.get_vocab_size(),
            "max_length": featurizer.max_length,
            "special": [featurizer.cls, featurizer.sep, featurizer.pad],
            "token_types": featurizer.token_types,
            "parts": corpus.parts.names,
            "shards": shards,
            "statistics": statistics,
            "left_out": left_out,
        },
    )


def _numbered(corpus: TextCorpus, size: int) -> Iterator[tuple[int, Line]]:
    """Each line with the number of its shard."""
    number = characters = 0
    for line in corpus.lines():
        yield number, line
        characters += len(line.text)
        if characters >= size:
            number, characters = number + 1, 0


def _write(
    corpus: TextCorpus, featurizer: SubwordFeaturizer, lines: Iterable[Line], folder: Path
) -> None:
    """One shard; what is left of a row at its end is a row."""
    marks = Marks(featurizer.cls, featurizer.sep)
    vocabulary = featurizer.tokenizer.get_vocab_size()
    dtype = np.uint16 if vocabulary <= 2**16 else np.int32
    languages: dict[str, int] = {}
    counts: dict[str, Counter[str]] = {}
    packers: dict[tuple[str, int], Packer] = {}
    ids: list[np.ndarray] = []
    index: list[tuple[int, int, int, int]] = []
    left_out = 0

    def keep(language: str, part: int, rows: Iterable[tuple[list[int], int]]) -> None:
        for row, joined in rows:
            ids.append(np.array(row, dtype))
            index.append((len(row), languages[language], part, joined))
            counts[language]["rows"] += 1

    for batch in _batches(lines):
        kept = [line for line in batch if line.part is not None]
        left_out += len(batch) - len(kept)
        for line, pieces in zip(
            kept, line_pieces(featurizer, [line.text for line in kept]), strict=True
        ):
            language = line.example.language
            languages.setdefault(language, len(languages))
            _count(counts.setdefault(language, Counter()), line, pieces, featurizer.unk)
            assert line.part is not None
            place = language, line.part
            if place not in packers:
                packers[place] = Packer(marks, featurizer.max_length, corpus.joined)
            keep(*place, packers[place].add(pieces))
    for place, packer in packers.items():
        keep(*place, packer.rest())
    np.save(folder / "ids.npy", np.concatenate([*ids, np.zeros(0, dtype)]))
    np.save(folder / "index.npy", np.array(index, np.int32).reshape(-1, 4))
    facts: dict[str, Any] = {
        "sha256": {name: sha256(folder / name) for name in ("ids.npy", "index.npy")},
        "languages": list(languages),
        "statistics": {
            language: {name: own[name] for name in COUNTS} for language, own in counts.items()
        },
        "left_out": left_out,
    }
    write_json(folder / "shard.json", facts)


def _batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Lines in batches for the tokenizer, which has threads."""
    batch: list[Line] = []
    characters = 0
    for line in lines:
        batch.append(line)
        characters += len(line.text)
        if characters >= _BATCH:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def line_pieces(featurizer: SubwordFeaturizer, texts: list[str]) -> Iterator[list[int]]:
    """The pieces of each whole line, as shards have them: no special ones, and nothing cut."""
    reserved = {featurizer.cls, featurizer.sep, featurizer.pad}
    for encoding in featurizer.tokenizer.encode_batch_fast(texts, add_special_tokens=False):
        pieces = encoding.ids
        if reserved.isdisjoint(pieces):
            yield pieces
        else:
            yield [featurizer.unk if piece in reserved else piece for piece in pieces]


def _count(counts: Counter[str], line: Line, pieces: list[int], unknown: int) -> None:
    counts["lines"] += 1
    counts["bytes"] += len(line.text.encode("utf-8", "surrogatepass"))
    counts["words"] += len(line.example.words)
    counts["pieces"] += len(pieces)
    counts["unknown"] += pieces.count(unknown)
