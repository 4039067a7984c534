"""docs/projection.md in plain Python: one rule, one token at a time, whole numbers, no arrays.

The oracle of the vectorised code. It shares nothing with it but the tables of Unicode.
"""

from __future__ import annotations

import unicodedata
from functools import cache

from tfdistil.text import unicode_classes
from tfdistil.text.projection.unicode_tables import LOWERCASE, NORMALIZED

A, B = 0xC6A4A7935BD1E995, 0x9E3779B97F4A7835
FULL = 2**64 - 1
VALUES = {
    "operator": {0b00: 0, 0b01: 1, 0b10: -1, 0b11: 0},
    "paper": {0b00: -1, 0b01: 0, 0b10: 0, 0b11: 1},
    "unbalanced": {0b00: 0, 0b01: 1, 0b10: -1, 0b11: 1},
}


def s(value: int) -> int:
    return value ^ (value >> 47)


def murmur(data: bytes, count: int) -> list[int]:
    h, g = len(data) * A & FULL, 0
    full = len(data) - len(data) % 8
    for at in range(0, full, 8):
        d = int.from_bytes(data[at : at + 8], "little")
        h = (h ^ (s(d * A & FULL) * A & FULL)) * A & FULL
        g ^= h
    if len(data) > full:
        h = (h ^ int.from_bytes(data[full:], "little")) * A & FULL
        g ^= h
    h = s(h) * A & FULL
    g ^= h
    h = s(h)
    g = s(g * B & FULL) * B & FULL
    codes = [h, g]
    while len(codes) < count:
        low, high = codes[-2:]
        h = s(low) * A & FULL
        g = high ^ h
        codes += [s(g * B & FULL) * B & FULL, s(h)]
    return codes[:count]


def affix(data: bytes, count: int, bits: int) -> list[int]:
    low, high, r, q, i = len(data) * A & FULL, len(data) * B & FULL, A, B, 0
    codes: list[int] = []
    while len(codes) < count:
        for _ in range(64 // bits - (not codes)):
            r = ((r << 8 & FULL) | data[i]) * A & FULL
            q = ((q << 8 & FULL) | data[len(data) - 1 - i]) * B & FULL
            low = (low << bits & FULL) | r % 2**bits
            high = (high << bits & FULL) | q % 2**bits
            i = (i + 1) % len(data)
        codes += [low, high]
    return codes[:count]


def bit_pairs(codes: list[int], features: int) -> list[int]:
    stream = sum(code << 64 * at for at, code in enumerate(codes))
    return [stream >> 2 * at & 3 for at in range(features)]


def ngram(data: bytes, features: int) -> list[int]:
    """Signs, -1, 0 or 1."""
    characters = [b"\xfe", *(c.encode() for c in data.decode()), b"\xff"]
    sums = [0] * features
    for size in (2, 3, 4):
        for at in range(len(characters) - size + 1):
            codes = murmur(b"".join(characters[at : at + size]), -(-features // 32))
            for i, pair in enumerate(bit_pairs(codes, features)):
                sums[i] += VALUES["operator"][pair]
    return [(x > 0) - (x < 0) for x in sums]


def lowercase() -> dict[str, str]:
    mapping = {}
    for part in LOWERCASE.split():
        sign = "+" if "+" in part else "-"
        span, offset = part.rsplit(sign, 1)
        span, _, step = span.partition("/")
        codes = [int(code, 16) for code in span.split("-")]
        for code in range(codes[0], codes[-1] + 1, int(step or 1)):
            mapping[chr(code)] = chr(code + int(sign + offset, 16))
    return mapping


def normalizable() -> set[str]:
    found = set()
    for part in NORMALIZED.split():
        codes = [int(code, 16) for code in part.split("-")]
        found.update(map(chr, range(codes[0], codes[-1] + 1)))
    return found


@cache
def kind(character: str) -> str:
    for name in ("SPACES", "CONTROLS", "FORMATS", "MARKS", "SYMBOLS", "DIGITS", "UNSPACED"):
        for part in getattr(unicode_classes, name).split():
            codes = [int(code, 16) for code in part.split("-")]
            if codes[0] <= ord(character) <= codes[-1]:
                return name
    return "LETTER"


def continues(text: str, start: int, at: int) -> bool:
    """Whether the code point at ``at`` belongs to the word that begins at ``start``."""
    character, before = text[at], text[at - 1]
    after = text[at + 1 : at + 2] or "\0"
    form = {"SYMBOLS": "symbol", "UNSPACED": "unspaced"}.get(kind(text[start]), "run")

    def last() -> str:
        solid = (c for c in text[start:at][::-1] if kind(c) not in ("MARKS", "FORMATS"))
        return kind(next(solid, "\0"))

    def is_hebrew(c: str) -> bool:
        return 0x5D0 <= ord(c) <= 0x5EA

    run, spoken = form == "run", kind(after) in ("LETTER", "DIGITS")
    return (
        kind(character) in ("MARKS", "FORMATS")
        or (run and kind(character) in ("LETTER", "DIGITS"))
        or (run and spoken and character in "'\u2019\xb7\u2027\u05f3\u05f4")
        or (run and character in ".,:\u066b\u066c" and kind(after) == last() == "DIGITS")
        or (run and character == '"' and is_hebrew(before) and is_hebrew(after))
        or (form == "symbol" and kind(character) == "SYMBOLS" and before == "\u200d")
        or (form == "unspaced" and kind(character) == "UNSPACED" and before in "\u17d2\u1039")
    )


def split(text: str) -> list[list[int]]:
    """The words' places by the splitter ``unicode``."""
    words: list[list[int]] = []
    start = -1
    for at, character in enumerate(text):
        if start >= 0 and continues(text, start, at):
            words[-1][1] = at + 1
            continue
        start = -1 if kind(character) in ("SPACES", "CONTROLS", "FORMATS") else at
        if start >= 0:
            words.append([at, at + 1])
    return words


def kept_of_pair(first: int, second: int, room: int) -> list[int]:
    """How many words of two texts stay: one after the other is lost, of the longer text.

    Of equally long ones it is the shorter text's from the beginning on, or the first's.
    """
    kept = [first, second]
    while sum(kept) > room:
        longer = kept[1] > kept[0] if kept[0] != kept[1] else first > second
        kept[longer] -= 1
    return kept


LOWER = lowercase()
CAPITALS, SMALL = {*LOWER}, {*LOWER.values()}
KNOWN = normalizable()


def fingerprint(word: str, spec, special: bool = False) -> bytes:
    """The bytes of one word, or of a special token."""
    text = word or "<null>"
    if not special:
        text = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
        if spec.normalization == "nfc" and all(c in KNOWN for c in text):
            text = unicodedata.normalize("NFC", text)
    lower = "".join(LOWER.get(c, c) for c in text) if spec.lowercase and not special else text
    data = lower.encode()
    pair_of = {value: pair for pair, value in reversed(VALUES[spec.map].items())}
    pairs: list[int] = []
    for name, features in spec.families:
        count = -(-features // 32)
        if name == "ngram":
            pairs += [pair_of[sign] for sign in ngram(data, features)]
        elif name == "murmur":
            pairs += bit_pairs(murmur(data, count), features)
        else:
            pairs += bit_pairs(affix(data, count, int(name[5:])), features)
    if spec.capitalization:
        letters = [c in CAPITALS for c in text if c in CAPITALS or c in SMALL]
        flags = (bool(letters) and letters[0], bool(letters) and all(letters))
        pairs[-2:] = [pair_of[1 if flag else -1] for flag in flags]
    if spec.shape:
        pairs += [pair_of[1 if flag else -1] for flag in shape(text)]
    return bytes(
        sum(pair << 2 * at for at, pair in enumerate(pairs[i : i + 4]))
        for i in range(0, len(pairs), 4)
    )


def shape(text: str) -> list[bool]:
    """The twelve facts about a word as it is written."""

    def inside_hyphen(at: int) -> bool:
        return text[at] in "-\u2010\u2011" and at not in (0, len(text) - 1)

    places = range(len(text))
    letters = [c for c in text if c in CAPITALS or c in SMALL]
    symbols = [at for at in places if kind(text[at]) == "SYMBOLS"]
    digit = any(kind(c) == "DIGITS" for c in text)
    other = [at for at in symbols if text[at] not in "'\u2019" and not inside_hyphen(at)]
    length = len([c for c in text if kind(c) not in ("MARKS", "FORMATS")])
    return [
        letters != [] and letters[0] in CAPITALS,
        letters != [] and all(c in CAPITALS for c in letters),
        any(c in CAPITALS for c in letters[1:]) and any(c in SMALL for c in letters),
        digit,
        digit and all(kind(c) not in ("LETTER", "UNSPACED") for c in text),
        any(inside_hyphen(at) for at in places),
        "'" in text or "\u2019" in text,
        other != [],
        length <= 1,
        2 <= length <= 3,
        4 <= length <= 6,
        length >= 7,
    ]


def features(data: bytes, map_name: str) -> list[int]:
    """Ternary features of a fingerprint."""
    return [VALUES[map_name][byte >> 2 * at & 3] for byte in data for at in range(4)]
