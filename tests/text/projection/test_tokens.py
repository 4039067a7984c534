"""Normalization and lower case: the frozen tables against the platform's Unicode."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.projection.reference import CAPITALS, KNOWN, LOWER, SMALL
from tfdistil.text.projection.tokens import encoded, lowered, normalized
from tfdistil.text.projection.unicode_tables import LOWERCASE, NORMALIZED, lowercase_map

ANY_WORD = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)


def test_lower_case_is_unicodes_simple_mapping():
    """What this Python knows may be older or newer than the table, never another mapping."""
    mapping = lowercase_map()
    assert {chr(a): chr(b) for a, b in mapping.items()} == LOWER
    assert len(mapping) == 1433
    for code in range(0x110000):
        character = chr(code)
        simple = "i" if character == "İ" else character.lower()
        mapped = chr(mapping.get(code, code))
        if unicodedata.unidata_version == "14.0.0" or (simple != character and code in mapping):
            assert mapped == simple


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ISTANBUL İ I", "istanbul i i"),
        ("ΟΔΟΣ ΣΑΣ", "οδοσ σασ"),
        ("ẞ ß ŉ ﬁ", "ß ß ŉ ﬁ"),
        ("Ǆ ǅ ǆ", "ǆ ǆ ǆ"),
        ("ᎠᏰ ᲐᲘ Ⓐ Ⅷ 𐐀", "ꭰᏸ აი ⓐ ⅷ 𐐨"),
    ],
)
def test_lower_case_by_code_point(text, expected):
    assert lowered(text) == expected
    assert "".join(lowered(c) for c in text) == expected


@given(ANY_WORD)
def test_lower_case_keeps_the_length_and_is_final(text):
    assert len(lowered(text)) == len(text)
    assert lowered(lowered(text)) == lowered(text)


def test_ascii_is_the_table_too():
    text = "".join(map(chr, range(128)))
    assert lowered(text) == "".join(LOWER.get(c, c) for c in text)


def test_capitals_are_no_small_letters():
    assert not CAPITALS & SMALL


@given(st.lists(ANY_WORD))
def test_nfc_of_known_code_points(words):
    expected = [
        unicodedata.normalize("NFC", word) if KNOWN.issuperset(word) else word for word in words
    ]
    assert normalized(words, "nfc") == expected
    assert normalized(words, "none") == words


def test_surrogates_are_replaced_one_by_one():
    for form in ("nfc", "none"):
        assert normalized(["a\ud83d\ude00", "b"], form) == ["a\ufffd\ufffd", "b"]


def test_composition_of_the_table_is_that_of_unicode_3_2():
    """No later version changed it, apart from five ideographs that version 4 corrected."""
    corrected = {0x2F868, 0x2F874, 0x2F91F, 0x2F95F, 0x2F9BF}
    old = unicodedata.ucd_3_2_0
    for character in KNOWN - {*map(chr, corrected)}:
        assert old.category(character) != "Cn"
        for form in ("NFC", "NFD"):
            assert unicodedata.normalize(form, character) == old.normalize(form, character)


@pytest.mark.parametrize("table", [LOWERCASE, NORMALIZED], ids=["LOWERCASE", "NORMALIZED"])
def test_tables_are_sorted(table):
    firsts = [int(part.split("+")[0].split("-")[0], 16) for part in table.split()]
    assert firsts == sorted(firsts)
    assert len({*firsts}) == len(firsts)


@given(st.lists(ANY_WORD))
def test_bytes_are_utf_8(words):
    strings = encoded(words, lowercase=False)
    found = [
        strings.data[start : start + length].tobytes()
        for start, length in zip(strings.starts, strings.lengths, strict=True)
    ]
    assert found == [word.encode() for word in words]
    words_at = strings.words()
    for start, word in zip(strings.starts, found, strict=True):
        at_start = strings.data[start : start + 8].tobytes()
        assert at_start.startswith(word[:8])
        assert int(words_at[start]) == int.from_bytes(at_start, "little")
