"""A corpus of three small languages in files, and a tokenizer made of it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tfdistil.shards.parts import Parts
from tfdistil.shards.text import TextCorpus, TextFile
from tfdistil.text.subwords import SubwordFeaturizer
from tfdistil.text.train_tokenizer import train_wordpiece

WORDS = {
    "nl": ["de", "hond", "ziet", "een", "kat", "in", "het", "huis", "van", "oma"],
    "sl": ["pes", "vidi", "mačko", "v", "hiši", "stare", "mame", "danes"],
    "sw": ["mbwa", "anaona", "paka", "ndani", "ya", "nyumba"],
}
LINES = {"nl": 400, "sl": 120, "sw": 30}


@pytest.fixture
def texts() -> dict[str, list[str]]:
    """Lines by language; some occur twice."""
    draw = random.Random(5)
    return {
        name: [" ".join(draw.choices(words, k=draw.randint(1, 14))) for _ in range(LINES[name])]
        for name, words in WORDS.items()
    }


@pytest.fixture
def corpus(texts, tmp_path: Path) -> TextCorpus:
    """The lines in a file for each language, with two sections."""
    folder = tmp_path / "text"
    folder.mkdir()
    for name, lines in texts.items():
        (folder / f"{name}.txt").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    files = tuple(TextFile(folder / f"{name}.txt", language=name) for name in texts)
    return TextCorpus(files, Parts(0.1, 0.1, {"six": 0.5, "five": 0.3}, seed=3))


@pytest.fixture
def by_line(corpus: TextCorpus) -> TextCorpus:
    """The same with a row for each line."""
    return replace(corpus, joined=False)


@pytest.fixture(scope="session")
def make_featurizer():
    """``(max_length=16, token_types=False)`` to a featurizer of some 90 pieces."""
    tokenizer = train_wordpiece([word for words in WORDS.values() for word in words], 90)

    def make(max_length: int = 16, token_types: bool = False) -> SubwordFeaturizer:
        return SubwordFeaturizer.from_tokenizer(tokenizer, max_length, token_types=token_types)

    return make
