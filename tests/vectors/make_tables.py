"""Writes the tables of Unicode that the Kotlin module reads as constants.

``python -m tests.vectors.make_tables``

A phone's Unicode is older or newer than Python's, so the module asks these tables instead. Those of
the tokenizers are what the library ``tokenizers`` does with each code point, asked of itself.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from textwrap import wrap

from tokenizers import normalizers, pre_tokenizers

from tfdistil.text import unicode_classes
from tfdistil.text.projection.unicode_tables import LOWERCASE, NORMALIZED

FOLDER = Path(__file__).parents[2] / "android_demo/nlp/src/main/kotlin/org/tfdistil/nlp"
CLASSES = ("SPACES", "CONTROLS", "FORMATS", "MARKS", "SYMBOLS", "DIGITS", "UNSPACED")
CODES = [*range(0xD800), *range(0xE000, 0x110000)]
HANGUL = range(0xAC00, 0xD7A4)

_JAMO_THAT_COMPOSE = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}


def tables() -> dict[str, dict[str, str]]:
    """Name of an object to its constants."""
    return {
        "UnicodeClasses": {name: _words(getattr(unicode_classes, name)) for name in CLASSES},
        "ProjectionTables": {
            "LOWERCASE": _offsets(LOWERCASE),
            "NORMALIZED": _words(NORMALIZED),
            "COMBINING": _numbered(unicodedata.combining),
            "COMPOSED": _ranges(_may_change()),
        },
        "BertTables": {
            "REMOVED": _ranges(c for c in CODES if _cleaned(c) == "aa"),
            "SPACES": _ranges(c for c in CODES if c != 0x20 and _cleaned(c) == "a a"),
            "CHINESE": _ranges(c for c in CODES if _chinese(c)),
            "LOWERCASE": _mapped(normalizers.BertNormalizer(False, False, False, True)),
            "STRIPPED": _mapped(normalizers.BertNormalizer(False, False, True, False)),
            "SEPARATORS": _ranges(c for c in CODES if len(_cut(c)) == 2),
            "PUNCTUATION": _ranges(c for c in CODES if len(_cut(c)) == 3),
        },
        "ClusterTables": {
            "EXTENDS": _ranges(c for c in CODES if _is_one(f"a{chr(c)}")),
            "PRECEDES": _ranges(c for c in CODES if _is_one(f"{chr(c)}a")),
            # Those of four bytes do not matter: with a mark they have more than five.
            "CONTROLS": _ranges(c for c in CODES if c < 0x10000 and not _is_one(f"{chr(c)}\u0301")),
        },
        "ByteLevelTables": {
            "LETTERS": _ranges(c for c in CODES if _joins("a", c)),
            "NUMBERS": _ranges(c for c in CODES if _joins("1", c)),
            "SPACES": _ranges(c for c in CODES if _joins("\t", c)),
        },
    }


def files() -> dict[str, str]:
    """Name to content of every file."""
    return {f"{name}.kt": _source(name, constants) for name, constants in tables().items()}


def _source(name: str, constants: dict[str, str]) -> str:
    parts = [
        f"    const val {constant} =\n" + " +\n".join(_literals(text))
        for constant, text in constants.items()
    ]
    return (
        "// Written by `python -m tests.vectors.make_tables`, which says what the tables are.\n\n"
        f"package org.tfdistil.nlp\n\ninternal object {name} {{\n" + "\n\n".join(parts) + "\n}\n"
    )


def _literals(text: str) -> Iterator[str]:
    lines = wrap(text, 120, break_on_hyphens=False)
    for line in lines[:-1]:
        yield f'        "{line} "'
    yield f'        "{lines[-1]}"'


def _words(text: str) -> str:
    return " ".join(text.split())


def _offsets(text: str) -> str:
    """``first-last+offset`` as ``first-last=offset``; only a number below 0 has a sign."""
    return " ".join(re.sub(r"([+-][0-9A-F]+)$", r"=\1", part) for part in text.split()).replace(
        "=+", "="
    )


def _runs(codes: Iterable[int]) -> list[tuple[int, int]]:
    """Ranges, both ends inclusive, of ascending numbers."""
    found: list[tuple[int, int]] = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1] = found[-1][0], code
        else:
            found.append((code, code))
    return found


def _span(first: int, last: int) -> str:
    return f"{first:X}" if first == last else f"{first:X}-{last:X}"


def _ranges(codes: Iterable[int]) -> str:
    return " ".join(_span(*run) for run in _runs(codes))


def _frozen() -> list[int]:
    ends = [part.split("-") for part in NORMALIZED.split()]
    return [c for pair in ends for c in range(int(pair[0], 16), int(pair[-1], 16) + 1)]


def _numbered(number: object) -> str:
    """``first-last=number`` of the code points whose composition is frozen, where it is not 0."""
    found: dict[int, list[int]] = {}
    for code in _frozen():
        if value := number(chr(code)):  # type: ignore[operator]
            found.setdefault(value, []).append(code)
    return " ".join(f"{_span(*run)}={n:X}" for n in sorted(found) for run in _runs(found[n]))


def _may_change() -> list[int]:
    """Code points that NFC changes, or may compose with what stands before them."""
    second = set(_JAMO_THAT_COMPOSE)
    for code in CODES:
        parts = unicodedata.decomposition(chr(code)).split()
        composes = unicodedata.is_normalized("NFC", chr(code))
        if len(parts) == 2 and not parts[0].startswith("<") and composes:
            second.add(int(parts[1], 16))
    changed = {code for code in _frozen() if not unicodedata.is_normalized("NFC", chr(code))}
    return sorted(changed | second & {*_frozen()})


_CLEAN = normalizers.BertNormalizer(True, False, False, False)
_SPACED = normalizers.BertNormalizer(False, True, False, False)
_BERT = pre_tokenizers.BertPreTokenizer()


def _cleaned(code: int) -> str:
    return _CLEAN.normalize_str(f"a{chr(code)}a")


def _chinese(code: int) -> bool:
    return _SPACED.normalize_str(chr(code)) != chr(code)


def _cut(code: int) -> list[object]:
    return _BERT.pre_tokenize_str(f"a{chr(code)}b")


def _shortest_rules() -> normalizers.Normalizer:
    """Turns each cluster of at most five bytes into one ``X``, and each code point of longer ones.

    In its double array every first byte is a key, so that the rule of a cluster is that of its
    first byte, and the rest of the cluster vanishes.
    """
    units = [256 << 10] + [0] * 767
    for byte in range(1, 256):
        units[256 + byte] = (256 + byte ^ 512) << 10 | 1 << 8 | byte
    trie = struct.pack("<768I", *units)
    charsmap = struct.pack("<I", len(trie)) + trie + b"X\0"
    return normalizers.Precompiled(charsmap)


_CLUSTERS = _shortest_rules()
_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False)


def _is_one(text: str) -> bool:
    return _CLUSTERS.normalize_str(text) == "X"


def _joins(before: str, code: int) -> bool:
    return len(_BYTES.pre_tokenize_str(before + chr(code))) == 1


def _mapped(normalizer: normalizers.Normalizer) -> str:
    """``first-last=codes`` of the code points that become others; ``first-last=`` of removed ones.

    Syllables of Hangul, which fall apart by a formula, are left out.
    """
    found: dict[str, list[int]] = {}
    for code in CODES:
        text = normalizer.normalize_str(chr(code))
        if text != chr(code) and code not in HANGUL:
            found.setdefault(text, []).append(code)
    entries = chain.from_iterable(
        ((run, text) for run in _runs(codes)) for text, codes in found.items()
    )
    return " ".join(
        f"{_span(*run)}={'.'.join(f'{ord(c):X}' for c in text)}" for run, text in sorted(entries)
    )


if __name__ == "__main__":
    for file, content in files().items():
        (FOLDER / file).write_text(content, "utf-8", newline="\n")
        print(file, len(content.encode()))
