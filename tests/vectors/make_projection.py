"""Writes the conformance vectors of the token projection.

``python -m tests.vectors.make_projection``

An implementation in another language reads ``projection-*.json`` and must find the same words and
the same bytes. docs/projection.md explains the files.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.vectors.phrases import PAIRS, RULES, SHAPED, UNUSUAL, WORDS
from tfdistil.data.demo import generate
from tfdistil.text import unicode_classes
from tfdistil.text.projection import (
    ProjectionFeaturizer,
    ProjectionSpec,
    fingerprint_tokens,
    fingerprints,
)
from tfdistil.text.projection.spec import FAMILIES
from tfdistil.text.projection.ternary import MAPS
from tfdistil.text.projection.unicode_tables import LOWERCASE, NORMALIZED
from tfdistil.text.words import WordSplitter

FOLDER = Path(__file__).parent
SEED = 20
PART = 600  # utterances in a file
CLASSES = ("SPACES", "CONTROLS", "FORMATS", "MARKS", "SYMBOLS", "DIGITS", "UNSPACED")
SPLITTER = WordSplitter("unicode")

SHOWN = ProjectionSpec((("murmur", 16),))
"""Its bytes are in the utterances as they are, so that a difference can be found."""

DIGESTED = [
    ProjectionSpec(),
    ProjectionSpec((("murmur", 512), ("ngram", 512)), "paper", capitalization=True, eos=True),
    ProjectionSpec((("affix8", 100), ("affix16", 160), ("affix32", 252))),
    ProjectionSpec((("ngram", 260),), "unbalanced", normalization="none"),
    ProjectionSpec((("murmur", 4096),), lowercase=False, eos=True),
    ProjectionSpec((("affix16", 16), ("ngram", 8)), "paper", capitalization=True, shape=True),
]

_REFUSED: list[dict[str, Any]] = [
    {"spec": "tfdistil-projection-0"},
    {"families": []},
    {"families": [], "shape": True},
    {"families": [["md5", 4]]},
    {"families": [["murmur", 6]]},
    {"families": [["murmur", 4], ["murmur", 8]]},
    {"families": [["murmur", 4100]]},
    {"families": [["murmur", 4088]], "shape": True},
    {"map": "binary"},
    {"normalization": "nfkc"},
    {"capitalization": 1},
    {"shape": 1},
    {"shape": None},
    {"shape": "true"},
    {"shapes": True},
]
"""What is wrong in specs that every reader has to refuse; the rest is as in `SHOWN`."""


def digests(texts: list[list[str]], spec: ProjectionSpec) -> list[str]:
    """The first 8 hexadecimal digits of SHA-256 over the fingerprints of each text's positions."""
    featurizer = ProjectionFeaturizer(spec, 100_000)
    found = []
    for (window,) in featurizer.encode_batch([(words, None) for words in texts]):
        found.append(hashlib.sha256(window.inputs["fingerprint"].tobytes()).hexdigest()[:8])
    return found


def phrase(rng: random.Random, words: list[str]) -> str:
    """A few words with capitals, numbers and punctuation here and there."""
    parts = []
    for _ in range(2 + int(rng.random() * 6)):
        word, form = words[int(rng.random() * len(words))], rng.random()
        if form < 0.15:
            word = word.upper()
        elif form < 0.3:
            word = word[:1].upper() + word[1:]
        elif form < 0.4:
            word = f"{int(rng.random() * 10**5):,}"
        elif form < 0.45:
            word += words[int(rng.random() * len(words))]
        parts.append(word + ("", "", "", "", ",", "!", " -", "…")[int(rng.random() * 8)])
    return " ".join(parts)


def any_text(rng: random.Random) -> str:
    """Code points of all planes, the lower ones more often; no surrogate pairs."""
    limits = (0x80, 0x800, 0x3400, 0x10000, 0x20000, 0x110000)
    codes = [
        int(rng.random() * limits[int(rng.random() * len(limits))])
        for _ in range(1 + int(rng.random() * 20))
    ]
    # A low surrogate would pair up with a high one before it.
    return "".join(chr(0xFFFD if 0xDC00 <= code < 0xE000 else code) for code in codes)


def texts() -> list[tuple[str, str, int]]:
    """Language, text, and how often it is repeated."""
    rng = random.Random(SEED)
    found = []
    for kind in ("intent_slots", "tags"):
        for example in generate(kind, "test", 500, seed=SEED):
            text = example.text if example.text is not None else " ".join(example.words)
            found.append((example.language, text, 1))
    for language, words in WORDS.items():
        found += [(language, phrase(rng, words.split()), 1) for _ in range(30)]
    found += [("und", text, 1) for text in UNUSUAL]
    found += [("und", any_text(rng), 1) for _ in range(150)]
    found += [("und", text, 1) for text in RULES]
    return [*found, ("und", "a", 10_000), ("und", "東é", 50)]


def utterances() -> list[dict[str, Any]]:
    """Texts with their words' places, the bytes of `SHOWN`, and the digests."""
    found = texts()
    places = [SPLITTER.split(text * times) for _, text, times in found]
    words = [[word for word, _, _ in text] for text in places]
    digested = zip(*(digests(words, spec) for spec in DIGESTED), strict=True)
    return [
        {
            "language": language,
            "text": text,
            "times": times,
            "words": [[start, end] for _, start, end in place],
            "hex": fingerprints(word, SHOWN).tobytes().hex(),
            "digests": digest,
        }
        for (language, text, times), place, word, digest in zip(
            found, places, words, digested, strict=True
        )
    ]


def tokens() -> list[dict[str, Any]]:
    """Single tokens with the bytes of every family and map, and others with their shape alone."""
    spec_of = {
        **{
            f"{name}/{maps}": ProjectionSpec(((name, 36),), maps)
            for name in FAMILIES
            for maps in MAPS
        },
        "cased": ProjectionSpec((("murmur", 4),), normalization="none", lowercase=False),
        "capitals": ProjectionSpec((("murmur", 4),), "paper", capitalization=True),
        "shape": ProjectionSpec((("murmur", 4),), "unbalanced", shape=True),
    }
    words = ["hello", "world", "h", "w", "Hello", "HELLO", "iPhone", "3D", "'Tis", "İstanbul"]
    words += [
        "",
        "東京",
        "नमस्ते",
        "👨‍👩‍👧",
        "cafe\u0301",
        "Å",
        "\u212b",
        "\ud800x",
        "ΟΔΟΣ",
        "12345678",
    ]
    found = []
    for word, times in [*((w, 1) for w in words), ("a", 10_000), ("é", 300)]:
        data = {n: fingerprints([word * times], s).tobytes().hex() for n, s in spec_of.items()}
        found.append({"token": word, "times": times, "special": False, "hex": data})
    for word in SHAPED:
        data = {"shape": fingerprints([word], spec_of["shape"]).tobytes().hex()}
        found.append({"token": word, "times": 1, "special": False, "hex": data})
    for token in ("<EOS>", "<null>"):
        data = {n: fingerprint_tokens([token], s).tobytes().hex() for n, s in spec_of.items()}
        found.append({"token": token, "times": 1, "special": True, "hex": data})
    return found


def windows() -> list[dict[str, Any]]:
    """Which words the windows of long texts show, and which they own."""
    found = []
    for words, length, eos, overlap in (
        (0, 8, False, 2), (8, 8, False, 2), (9, 8, False, 2), (9, 8, True, 1), (40, 12, False, 3),
        (41, 12, True, 0), (33, 32, True, 7), (100, 32, False, 8), (20, 4, False, 3),
    ):  # fmt: skip
        spec = ProjectionSpec(((("murmur"), 32),), lowercase=False, eos=eos)
        texts = [f"w{at}" for at in range(words)]
        rows = {r.tobytes(): at for at, r in enumerate(fingerprints(texts, spec))}
        made = ProjectionFeaturizer(spec, length, overlap=overlap).encode(texts)
        shown = [
            [rows[r.tobytes()] for r in w.inputs["fingerprint"] if r.tobytes() in rows]
            for w in made
        ]
        parts = [
            {"shown": [s[0], s[-1] + 1] if s else [0, 0], "owned": list(w.words)}
            for s, w in zip(shown, made, strict=True)
        ]
        given = {"words": words, "max_length": length, "eos": eos, "overlap": overlap}
        found.append({**given, "windows": parts})
    return found


def pairs() -> list[dict[str, Any]]:
    """The words that are kept of two texts, and all positions of their window."""
    found = []
    for one, two, length in PAIRS:
        for eos in (False, True) if length > 4 else (False,):
            words, second = one.split(), two.split()
            (made,) = ProjectionFeaturizer(replace(SHOWN, eos=eos), length).encode(words, second)
            rows = made.inputs["fingerprint"]
            kept = len(made.tokens)
            found.append(
                {
                    "first": words,
                    "second": second,
                    "max_length": length,
                    "eos": eos,
                    "kept": [kept, len(rows) - kept - 1 - eos],
                    "hex": rows.tobytes().hex(),
                }
            )
    return found


def whitespace() -> list[dict[str, Any]]:
    """Texts with their words' places by the splitter ``whitespace``."""
    spaces, others = unicode_classes.SPACES, "7-8 E-1B 7F-84 86 180E 200B-200F 2060 FEFF"
    between = [
        f"a{chr(code)}b{chr(code)}{chr(code)} "
        for first, last in _ranges(f"{spaces} {others}")
        for code in range(first, last + 1)
    ]
    splitter = WordSplitter("whitespace")
    return [
        {"text": text, "words": [[start, end] for _, start, end in splitter.split(text)]}
        for text in (*UNUSUAL, *RULES, "".join(between))
    ]


BROKEN = [
    "61ff62",
    "e69d",
    "e69d61",
    "c0af",
    "eda080",
    "f0908d",
    "f09080f0",
    "f4908080",
    "80",
    "c3",
]


def files() -> dict[str, str]:
    """Name to content of every file."""
    every = utterances()
    specs = {
        "shown": SHOWN.to_json(),
        "digested": [spec.to_json() for spec in DIGESTED],
        "refused": [SHOWN.to_json() | change for change in _REFUSED],
    }
    return {
        "projection-specs.json": lines("specs", [specs]),
        **{
            f"projection-utterances-{1 + at // PART}.json": lines(
                "utterances", every[at : at + PART]
            )
            for at in range(0, len(every), PART)
        },
        "projection-tokens.json": lines("tokens", tokens()),
        "projection-windows.json": lines("windows", windows()),
        "projection-pairs.json": lines("pairs", pairs()),
        "projection-whitespace.json": lines("whitespace", whitespace()),
        "projection-bytes.json": lines(
            "bytes",
            [{"hex": b, "text": bytes.fromhex(b).decode("utf-8", "replace")} for b in BROKEN],
        ),
        "projection-tables.json": lines(
            "tables",
            [
                {name: _ranges(getattr(unicode_classes, name)) for name in CLASSES},
                {"LOWERCASE": " ".join(LOWERCASE.split()), "NORMALIZED": _ranges(NORMALIZED)},
                {name: list(values) for name, values in MAPS.items()},
            ],
        ),
    }


def _ranges(text: str) -> list[list[int]]:
    pairs = [part.split("-") for part in text.split()]
    return [[int(pair[0], 16), int(pair[-1], 16)] for pair in pairs]


def lines(name: str, items: list[Any]) -> str:
    """JSON with one item a line, in UTF-8; lone surrogates, which it has none for, are escaped."""
    rows = [json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in items]
    text = f'{{"{name}":[\n' + ",\n".join(rows) + "\n]}\n"
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


if __name__ == "__main__":
    for file, content in files().items():
        (FOLDER / file).write_text(content, "utf-8", newline="\n")
        print(file, len(content.encode()))
