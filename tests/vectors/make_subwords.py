"""Writes the conformance vectors of word pieces.

``python -m tests.vectors.make_subwords``

docs/runtime.md explains the files.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, normalizers

from tests.vectors.make_projection import any_text, lines, texts
from tfdistil.text.hashed_subwords import HashedSubwordFeaturizer
from tfdistil.text.projection.spec import ProjectionSpec
from tfdistil.text.subwords import SubwordFeaturizer
from tfdistil.text.train_tokenizer import train_wordpiece
from tfdistil.text.windows import stretches, truncate_pair
from tfdistil.text.words import WordSplitter

FOLDER = Path(__file__).parent
SEED = 18
PIECES = 2500
ALPHABET = 900

VARIANTS: dict[str, dict[str, Any]] = {
    "cased": {"lowercase": False, "strip_accents": False},
    "lowercase": {"lowercase": True, "strip_accents": False},
    "uncased": {"lowercase": True, "strip_accents": None},
    "accents": {"lowercase": False, "strip_accents": True},
    "raw": {"lowercase": False, "clean_text": False, "handle_chinese_chars": False},
}
"""How the normalizer of each differs from ``clean_text`` and ``handle_chinese_chars`` alone."""

PART = 2000  # words in a file

HASHED = ProjectionSpec((("affix16", 16), ("murmur", 16)), map="paper", capitalization=True)
"""Its padding is no zero byte."""

LONGEST = 12
"""``max_input_chars_per_word``: words of more are there."""

ODD = [
    *("", " ", "\u00ad", "\u0301", "a\u0301", "don't", "[SEP]", "[CLS][PAD]", "##a", "a##", "#"),
    *("x" * LONGEST, "x" * (LONGEST + 1), "é" * LONGEST, "e\u0301" * LONGEST, "İstanbul", "ΟΔΟΣ"),
    *("東京タワー", "ｶﾞ", "한국어", "각", "\u302e\u0301", "a\u00a0b", "a\tb", "a\u2028b", "\x00"),
    *("\ufffd", "\ud800", "a\udc00b", "👨‍👩‍👧‍👦", "🇩🇪", "١٢٣", "ﬁ", "ǅ", "ẞ"),
    *("क़", "ড়", "\U0001d15e", "\U000e0067"),
    *("a.b.c", "¿qué?", "$5", "5€", "_", "—", "a،b", "。", "`^~", "\u200bx", "x\ue000y"),
]


def tokenizer() -> Tokenizer:
    """A small vocabulary with pieces of many scripts, cased and not, with accents and without."""
    given = [text for _, text, _ in texts()]
    plain = normalizers.BertNormalizer(False, False, True, True)
    words = [*given, *map(str.lower, given)]
    words = [word.encode("utf-8", "replace").decode() for word in words]
    trained = train_wordpiece(
        [*words, *map(plain.normalize_str, words)],
        PIECES,
        lowercase=False,
        max_alphabet=ALPHABET,
    )
    tree = json.loads(trained.to_str())
    tree["model"]["max_input_chars_per_word"] = LONGEST
    return Tokenizer.from_str(json.dumps(tree))


def variant(base: Tokenizer, name: str) -> Tokenizer:
    """The tokenizer with another normalizer."""
    tree = json.loads(base.to_str())
    tree["normalizer"] = normalizer(name)
    return Tokenizer.from_str(json.dumps(tree))


def normalizer(name: str) -> dict[str, Any]:
    """Of a variant, as ``tokenizer.json`` has it."""
    usual = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
    return {**usual, "strip_accents": None, **VARIANTS[name]}


def featurizer(base: Tokenizer, name: str, max_length: int, **settings: Any) -> SubwordFeaturizer:
    """With the usual names of special tokens."""
    return SubwordFeaturizer.from_tokenizer(variant(base, name), max_length, **settings)


def words() -> list[str]:
    """All different words of the texts, with what implementations tend to disagree about."""
    rng = random.Random(SEED)
    splitter = WordSplitter("unicode")
    found = [word for _, text, _ in texts() for word, _, _ in splitter.split(text)]
    found += ["".join(any_text(rng).split()) for _ in range(300)]
    return [*dict.fromkeys([*ODD, *found])]


def pieces(base: Tokenizer) -> list[dict[str, Any]]:
    """Words with their ids under each variant."""
    given = words()
    known = [featurizer(base, name, 8).pieces(given) for name in VARIANTS]
    return [{"word": word, "ids": [[*ids[word]] for ids in known]} for word in given]


def windows(base: Tokenizer) -> list[dict[str, Any]]:
    """Texts of words, the ids of their windows and the places of the words they answer for."""
    rng = random.Random(SEED)
    given = words()
    found = []
    for count, length, overlap in (
        (0, 8, 2), (1, 6, 0), (4, 32, 7), (12, 16, 3), (30, 12, 2), (30, 12, 0), (40, 32, 7),
        (60, 10, 7), (200, 64, 15), (25, 6, 1),
    ):  # fmt: skip
        text = [given[int(rng.random() * len(given))] for _ in range(count)]
        made = featurizer(base, "uncased", length, overlap=overlap).encode(text)
        parts = [
            {
                "ids": w.inputs["input_ids"].tolist(),
                "firsts": w.tokens.take(w.starts).tolist(),
                "owned": [*w.words],
            }
            for w in made
        ]
        found.append({"words": text, "max_length": length, "overlap": overlap, "windows": parts})
    return found


def pairs(base: Tokenizer) -> list[dict[str, Any]]:
    """Two texts of words, their window, and the places of the words of the first one."""
    rng = random.Random(SEED)
    given = words()
    found = []
    sizes = (0, 0, 8), (3, 4, 32), (9, 2, 12), (2, 9, 12), (20, 20, 17), (8, 0, 6)
    for one, two, length in sizes:
        first, second = (
            [given[int(rng.random() * len(given))] for _ in range(count)] for count in (one, two)
        )
        made = featurizer(base, "uncased", length, token_types=True)
        (window,) = made.encode(first, second)
        found.append(
            {
                "first": first,
                "second": second,
                "max_length": length,
                "ids": window.inputs["input_ids"].tolist(),
                "types": window.inputs["token_type_ids"].tolist(),
                "firsts": window.tokens.take(window.starts).tolist(),
            }
        )
    return found


def hashes(base: Tokenizer) -> dict[str, Any]:
    """Texts and pairs, with the fingerprints of the positions of their windows."""
    rng = random.Random(SEED)
    given = words()
    found = []
    for one, two, length, overlap in (
        (0, None, 8, 2), (5, None, 32, 7), (12, None, 12, 3), (20, None, 10, 0),
        (0, 0, 8, 0), (3, 4, 32, 0), (6, 2, 12, 0), (2, 9, 12, 0), (9, 9, 15, 0),
    ):  # fmt: skip
        first, second = (
            None if count is None else [given[int(rng.random() * len(given))] for _ in range(count)]
            for count in (one, two)
        )
        made = HashedSubwordFeaturizer(featurizer(base, "uncased", length, overlap=overlap), HASHED)
        rows = [w.inputs["fingerprint"].tobytes().hex() for w in made.encode(first or [], second)]
        text = {"first": first} if second is None else {"first": first, "second": second}
        found.append({**text, "max_length": length, "overlap": overlap, "hex": rows})
    return {"projection": json.loads(HASHED.to_bytes()), "texts": found}


def cuts() -> list[dict[str, Any]]:
    """Pieces of words with the stretches they are cut into, and what is kept of pairs."""
    rng = random.Random(SEED)
    found: list[dict[str, Any]] = []
    for _ in range(60):
        budget = 1 + int(rng.random() * 12)
        overlap = int(rng.random() * budget)
        lengths = [1 + int(rng.random() * budget) for _ in range(int(rng.random() * 30))]
        made = [[*s.shown, *s.owned] for s in stretches(lengths, budget, overlap)]
        found.append({"lengths": lengths, "budget": budget, "overlap": overlap, "stretches": made})
    for _ in range(40):
        first, second, budget = (int(rng.random() * 12) for _ in range(3))
        kept = [*truncate_pair(first, second, budget)]
        found.append({"pair": [first, second], "budget": budget, "kept": kept})
    return found


def files() -> dict[str, str]:
    """Name to content of every file."""
    base = tokenizer()
    every = pieces(base)
    variants = {name: normalizer(name) for name in VARIANTS}
    shared = {"tokenizer": json.loads(base.to_str()), "normalizers": variants}
    return {
        "subwords-tokenizers.json": lines("tokenizers", [shared]),
        **{
            f"subwords-pieces-{1 + at // PART}.json": lines("pieces", every[at : at + PART])
            for at in range(0, len(every), PART)
        },
        "subwords-windows.json": lines("windows", windows(base)),
        "subwords-pairs.json": lines("pairs", pairs(base)),
        "subwords-hashes.json": lines("hashes", [hashes(base)]),
        "subwords-cuts.json": lines("cuts", cuts()),
    }


if __name__ == "__main__":
    for file, content in files().items():
        (FOLDER / file).write_text(content, "utf-8", newline="\n")
        print(file, len(content.encode()))
