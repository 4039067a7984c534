"""The demo corpus as files, in formats users bring."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tfdistil.data.demo.generator import LANGUAGES, Kind, Split, generate
from tfdistil.data.example import Example

SIZES: Mapping[Split, int] = MappingProxyType(
    {"train": 3000, "dev": 600, "test": 600, "transfer": 12000}
)
"""Sentences per split, over all languages."""


@dataclass(frozen=True, slots=True)
class DemoFiles:
    """Where `write_demo` put what.

    Attributes:
        intent_slots: split to a JSONL file of all languages (format ``jsonl_spans``).
        tags: split and language to a CoNLL file (format ``conll``).
        text: language to an unlabelled text file (format ``text``).
    """

    intent_slots: dict[str, Path]
    tags: dict[str, dict[str, Path]]
    text: dict[str, Path]


def write_demo(
    folder: str | Path,
    seed: int = 13,
    sizes: Mapping[Split, int] = SIZES,
    languages: Sequence[str] = LANGUAGES,
) -> DemoFiles:
    """Write the corpus: requests as JSON lines, news as CoNLL columns, transfer text as lines.

    The readers give back the words, tags, intents and languages that `generate` made (those of
    CoNLL and text files if the source names the file's language). Files are replaced atomically
    and are the same, byte for byte, for the same arguments.

    Args:
        folder: created if need be; gets ``intent_slots/SPLIT.jsonl``,
            ``ner/LANGUAGE.SPLIT.conll`` and ``transfer/LANGUAGE.txt``.
        seed: as in `generate`.
        sizes: split to number of sentences over all languages; a split left out is not written.
        languages: as in `generate`.

    Raises:
        DataError: an unknown split or language, a negative size.
    """
    folder = Path(folder)
    written = DemoFiles({}, {}, {})
    for split, size in sizes.items():
        if split == "transfer":
            for language, examples in _by_language("text", split, size, seed, languages):
                lines = [f"{example.text}\n" for example in examples]
                written.text[language] = _write(folder / "transfer" / f"{language}.txt", lines)
            continue
        requests = generate("intent_slots", split, size, seed, languages)
        path = folder / "intent_slots" / f"{split}.jsonl"
        written.intent_slots[split] = _write(path, map(_json_line, requests))
        written.tags[split] = {
            language: _write(
                folder / "ner" / f"{language}.{split}.conll", map(_conll_block, examples)
            )
            for language, examples in _by_language("tags", split, size, seed, languages)
        }
    return written


def _by_language(
    kind: Kind, split: Split, size: int, seed: int, languages: Sequence[str]
) -> list[tuple[str, list[Example]]]:
    examples = generate(kind, split, size, seed, languages)
    return [(code, examples[at :: len(languages)]) for at, code in enumerate(languages)]


def _json_line(example: Example) -> str:
    row = {
        "text": example.text,
        "words": example.words,
        "spans": _character_spans(example),
        "intent": example.label,
        "language": example.language,
    }
    return json.dumps(row, ensure_ascii=False) + "\n"


def _character_spans(example: Example) -> list[dict[str, Any]]:
    spans: list[dict[str, Any]] = []
    for tag, (start, end) in zip(example.tags or (), example.offsets or (), strict=True):
        if tag[0] == "B":
            spans.append({"start": start, "end": end, "label": tag[2:]})
        elif tag[0] == "I":
            spans[-1]["end"] = end
    return spans


def _conll_block(example: Example) -> str:
    rows = zip(example.words, example.tags or (), strict=True)
    columns = "".join(f"{word}\t{tag}\n" for word, tag in rows)
    return f"# text = {example.text}\n{columns}\n"


def _write(path: Path, parts: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(parts)
    return unfinished.replace(path)
