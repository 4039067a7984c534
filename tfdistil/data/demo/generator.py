"""Seeded sentences from the grammars, in splits that do not overlap."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Literal, get_args
from zlib import crc32

from tfdistil.data.demo.grammar import Node, Writer, compile_templates
from tfdistil.data.demo.languages import LANGUAGES, grammar
from tfdistil.data.demo.segment import segment
from tfdistil.data.example import Example
from tfdistil.errors import DataError

Kind = Literal["intent_slots", "tags", "classes", "text"]
Split = Literal["train", "dev", "test", "transfer"]

UNSEEN_VALUES = 0.5
"""How often an open-class value in dev, test and transfer comes from the held-out values."""

HELD_OUT_TEMPLATES = 0.25
"""How often a sentence in dev, test and transfer follows a held-out template."""

UNLABELLED_TEMPLATES = 0.2
"""How often a transfer sentence follows a template that no labelled split has."""

_NEW_SENTENCE_TRIES = 50

Template = tuple[Node, ...]


def generate(
    kind: Kind,
    split: Split,
    size: int,
    seed: int = 13,
    languages: Sequence[str] = LANGUAGES,
) -> list[Example]:
    """Make ``size`` sentences, the languages taking turns.

    The sentences of a language depend on the kind, split, seed and language alone: a larger size
    or another choice of languages keeps them. They are the same in every version of Python.

    A checksum of the sentence decides which splits it may occur in, so dev, test and
    train/transfer never share one, whatever the kinds, seeds and sizes; transfer may repeat
    sentences of train. Train only has the values and templates listed as seen; the others mix in
    held-out ones (`UNSEEN_VALUES`, `HELD_OUT_TEMPLATES`), so a test on them asks for more than
    memory. A sentence comes twice in a split only where 50 attempts found no new one.

    Args:
        kind: ``intent_slots`` (assistant requests with slots and intent), ``classes`` (the same
            with the intent alone), ``tags`` (news sentences with PER, LOC, ORG) or ``text``
            (requests and news in equal parts, unlabelled).
        split: ``train``, ``dev``, ``test``, or ``transfer``, which is unlabelled for every kind.
        size: number of sentences over all languages.
        seed: any integer.
        languages: codes out of `LANGUAGES`.

    Returns:
        Examples with words, text, offsets and the kind's labels.

    Raises:
        DataError: an unknown kind, split or language, no language or one twice, a negative size.
    """
    _check("kind", kind, get_args(Kind))
    _check("split", split, get_args(Split))
    for language in languages:
        _check("language", language, LANGUAGES)
    if size < 0 or (size and not languages) or len(set(languages)) < len(languages):
        raise DataError(
            f"demo corpus: {size} sentences in the languages {', '.join(languages) or 'none'}; "
            "give a size of 0 or more and at least one language, each once"
        )
    streams = [_sentences(kind, split, seed, language) for language in languages]
    tagged = split != "transfer" and kind in ("intent_slots", "tags")
    classified = split != "transfer" and kind in ("intent_slots", "classes")
    examples = []
    for row in range(size):
        at = row % len(languages)
        text, spans, intent = next(streams[at])
        words, offsets, tags = segment(text, spans)
        examples.append(
            Example(
                words=words,
                tags=tags if tagged else None,
                label=intent if classified else None,
                language=languages[at],
                text=text,
                offsets=offsets,
                source=f"demo/{kind}/{split}:{row + 1}",
            )
        )
    return examples


def _check(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise DataError(f"demo corpus: unknown {what} {value!r}; choose from {', '.join(known)}")


Sentence = tuple[str, list[tuple[int, int, str]], str | None]
"""Text, labelled spans, intent."""


def _sentences(kind: Kind, split: Split, seed: int, language: str) -> Iterator[Sentence]:
    """An endless stream of one language's sentences in one split."""
    name = f"{kind}/{split}/{language}/{seed}"
    random = Random(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))
    values = grammar(language).values
    sections = _sections(kind, language)
    shares = _shares(split)
    known: set[str] = set()
    tries = 0
    while True:
        writer = Writer(random, values, 0.0 if split == "train" else UNSEEN_VALUES)
        section = sections[writer.below(len(sections))]
        intent, templates = section[writer.below(len(section))]
        pool = templates[_pick(writer, shares)]
        for node in pool[writer.below(len(pool))]:
            node.write(writer)
        text = writer.text()
        if intent is None:
            text = text[0].upper() + text[1:]  # news are written, requests are spoken
        if not _belongs(text, split):
            continue
        tries += 1
        if text in known and tries < _NEW_SENTENCE_TRIES:
            continue
        tries = 0
        known.add(text)
        yield text, writer.spans, intent


Pools = tuple[tuple[Template, ...], tuple[Template, ...], tuple[Template, ...]]
"""Templates of every split, held-out templates, templates of unlabelled text."""


@cache
def _sections(kind: Kind, language: str) -> tuple[tuple[tuple[str | None, Pools], ...], ...]:
    """What a kind is made of: requests, news or both, each a list of (intent, templates)."""
    source = grammar(language)
    requests = compile_templates(source.requests)
    assistant = tuple(
        (intent, (compile_templates(seen), compile_templates(held_out), requests))
        for intent, (seen, held_out) in source.intents.items()
    )
    seen, held_out = map(compile_templates, source.news)
    news = ((None, (seen, held_out, compile_templates(source.reports))),)
    return {"tags": (news,), "text": (assistant, news)}.get(kind, (assistant,))


def _shares(split: Split) -> tuple[float, float]:
    """How often a sentence follows a held-out template and one of unlabelled text."""
    if split == "train":
        return 0.0, 0.0
    return HELD_OUT_TEMPLATES, UNLABELLED_TEMPLATES if split == "transfer" else 0.0


def _pick(writer: Writer, shares: tuple[float, float]) -> int:
    held_out, unlabelled = shares
    if writer.chance(held_out):
        return 1
    return 2 if writer.chance(unlabelled / (1 - held_out)) else 0


def _belongs(text: str, split: Split) -> bool:
    """Whether a sentence may occur in a split: a quarter each for dev and test, half for the rest.

    Spaces do not count, so that sentences of the same words go to the same splits.
    """
    quarter = crc32(text.replace(" ", "").encode()) & 3
    return quarter == {"dev": 0, "test": 1}.get(split, quarter | 2)
